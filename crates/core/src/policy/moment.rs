//! The outside input of one decision.

use std::time::Duration;

/// The time, the wall clock and one random number: everything that a decision takes from outside.
///
/// Decisions are functions of their arguments, so the same `Moment` gives the same decision, in a test, in a fuzzer
/// and in a replayed incident.
///
/// ```
/// use http_retry::policy::Moment;
/// use std::time::Duration;
///
/// let moment = Moment::new(Duration::from_secs(7)).with_random(u64::MAX);
/// assert_eq!(moment.now, Duration::from_secs(7));
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Moment {
    /// Monotonic time since the runtime's epoch, whatever that epoch is; the same as for
    /// [`RetryPolicy::session`](super::RetryPolicy::session).
    pub now: Duration,
    /// Wall-clock time since 1970-01-01T00:00:00Z; only read to measure a date or a Unix time.
    pub wall: Duration,
    /// A uniformly distributed random number: 0 gives the shortest own delay, `u64::MAX` the longest. The spread on top
    /// of a server's wait uses a second number that is derived from it.
    pub random: u64,
}

impl Moment {
    /// Creates a moment at `now`, with the wall clock at 1970 and the random number at 0, which gives the shortest own
    /// delays. If a response may name a date or a Unix time and has no `date` of its own,
    /// [`with_wall`](Self::with_wall) gives the time to measure by.
    #[must_use]
    pub fn new(now: Duration) -> Self {
        Self {
            now,
            ..Self::default()
        }
    }

    /// Returns this moment with the wall clock at `wall` since 1970-01-01T00:00:00Z.
    #[must_use]
    #[inline]
    pub fn with_wall(self, wall: Duration) -> Self {
        Self { wall, ..self }
    }

    /// Returns this moment with the random number `random`.
    #[must_use]
    #[inline]
    pub fn with_random(self, random: u64) -> Self {
        Self { random, ..self }
    }
}

/// Returns a number from 0 to `span`, both included, uniform in `random`: 0 gives 0, `u64::MAX` gives `span` for every
/// span up to `u64::MAX`, and all but the last part in 2^64 of it beyond.
pub(crate) fn uniform(random: u64, span: u128) -> u128 {
    let random = u128::from(random);
    let wide = span.saturating_add(1);
    // `random * wide / 2^64`, in two halves that each fit into 128 bits.
    let low = random.saturating_mul(wide & u128::from(u64::MAX)) >> 64;
    random.saturating_mul(wide >> 64).saturating_add(low)
}

/// Returns a second random number derived from the first, independent of it for every practical purpose.
///
/// # Source
///
/// The finaliser of SplitMix64: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
#[must_use]
pub fn splitmix64(random: u64) -> u64 {
    let a = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let b = (a ^ (a >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let c = (b ^ (b >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    c ^ (c >> 31)
}

/// Returns a duration of this many nanoseconds, or the longest one if they do not fit.
pub(crate) fn nanos(nanos: u128) -> Duration {
    const SECOND: u128 = 1_000_000_000;
    // The common case; a division of 128 bits takes several times as long.
    if let Ok(nanos) = u64::try_from(nanos) {
        return Duration::from_nanos(nanos);
    }
    let fraction = u32::try_from(nanos % SECOND).unwrap_or_default();
    u64::try_from(nanos / SECOND).map_or(Duration::MAX, |seconds| Duration::new(seconds, fraction))
}

/// Returns the whole milliseconds of a duration; more than a `u64` holds count as the most.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_span_are_reached() {
        for span in [0, 1, 999, u128::from(u64::MAX)] {
            assert_eq!(uniform(0, span), 0);
            assert_eq!(uniform(u64::MAX, span), span);
        }
    }

    #[test]
    fn a_span_wider_than_the_random_number_is_used_almost_whole() {
        let span = Duration::MAX.as_nanos();
        let most = uniform(u64::MAX, span);
        assert!(most <= span && span - most <= span >> 63);
    }

    #[test]
    fn half_of_the_draws_lie_in_half_of_the_span() {
        assert_eq!(uniform(1 << 63, 1999), 1000);
    }

    #[test]
    fn durations_saturate() {
        assert_eq!(nanos(1_500_000_000), Duration::from_millis(1500));
        assert_eq!(nanos(u128::MAX), Duration::MAX);
        assert_eq!(nanos(Duration::MAX.as_nanos()), Duration::MAX);
    }

    #[test]
    fn splitmix64_gives_the_numbers_of_its_authors() {
        assert_eq!(splitmix64(0), 0xe220_a839_7b1d_cdaf);
        assert_eq!(splitmix64(0x9e37_79b9_7f4a_7c15), 0x6e78_9e6a_a1b9_65f4);
    }
}
