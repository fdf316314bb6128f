//! Random numbers derived from one another, and spread over a range.

use std::time::Duration;

/// Derives a second random number, which is independent of the first for every practical purpose.
///
/// # Source
///
/// The finaliser of SplitMix64: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
pub(crate) fn splitmix64(random: u64) -> u64 {
    let a = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let b = (a ^ (a >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let c = (b ^ (b >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    c ^ (c >> 31)
}

/// Returns the interval plus or minus up to a fifth, so that processes that failed together do not return together.
pub(super) fn spread(interval: Duration, random: u64) -> Duration {
    let fifth = interval / 5;
    let least = interval.saturating_sub(fifth);
    least.saturating_add(part(fifth.saturating_mul(2), random))
}

/// Returns a random part of the time, from zero to the whole.
pub(super) fn part(whole: Duration, random: u64) -> Duration {
    let nanos = whole.as_nanos().saturating_mul(u128::from(random)) >> 64;
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}
