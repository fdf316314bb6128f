//! Letting waiters go one after another: in order, spread out, and faster and faster.

use crate::policy::{nanos, second, uniform};
use std::time::Duration;

/// The part of what was asked for over which waiters are spread at least: one in five.
const SPREAD_PART: u32 = 5;
/// The longest spread that is taken from what was asked for.
const MAX_SPREAD: Duration = Duration::from_secs(10);
/// The longest spread that is taken from a rate, which may come from a time when little was wanted.
const MAX_BY_RATE: Duration = Duration::from_secs(60);
/// How much later the others go than the first, where it goes ahead of them.
pub(super) const HEAD_START: Duration = Duration::from_millis(100);

/// When each of a row of waiters may go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Release {
    from: Duration,
    span: Duration,
    /// How many were waiting when it began.
    waiters: u64,
    random: u64,
    head_start: bool,
    /// How many have gone.
    gone: u64,
}

impl Release {
    pub(super) fn new(from: Duration, span: Duration, waiters: usize, random: u64) -> Self {
        Self {
            from,
            span,
            waiters: u64::try_from(waiters).unwrap_or(u64::MAX).max(1),
            random,
            head_start: false,
            gone: 0,
        }
    }

    pub(super) fn with_head_start(self, head_start: bool) -> Self {
        Self { head_start, ..self }
    }

    pub(super) fn one_goes(&mut self) {
        self.gone = self.gone.saturating_add(1);
    }

    /// When the one with so many others before it may go.
    pub(super) fn due(&self, rank: usize) -> Duration {
        let rank = u64::try_from(rank).unwrap_or(u64::MAX);
        self.slot(self.gone.saturating_add(rank))
    }

    /// The i-th n-th of the span, n being the waiters; after n of them the same in half the time, and again.
    fn slot(&self, index: u64) -> Duration {
        let round = index.checked_div(self.waiters).unwrap_or_default();
        let place = index.checked_rem(self.waiters).unwrap_or_default();
        let span = self.span.as_nanos();
        let halved = u32::try_from(round)
            .ok()
            .and_then(|round| span.checked_shr(round))
            .unwrap_or_default();
        let before = span.saturating_sub(halved).saturating_mul(2);
        let part = |place: u64| {
            let whole = halved.saturating_mul(u128::from(place));
            whole
                .checked_div(u128::from(self.waiters))
                .unwrap_or_default()
        };
        let (start, end) = (part(place), part(place.saturating_add(1)));
        let random = second(self.random ^ second(index));
        let within = uniform(random, end.saturating_sub(start).saturating_sub(1));
        let after = before.saturating_add(start).saturating_add(within);
        let due = self.from.saturating_add(nanos(after));
        match self.head_start && index > 0 {
            true => due.saturating_add(HEAD_START),
            false => due,
        }
    }
}

/// How long it takes to let so many go: a part of what the server asked for, or as long as so many recent successes
/// took.
pub(super) fn span(asked: Duration, waiters: usize, each: Option<Duration>) -> Duration {
    let waiters = u32::try_from(waiters).unwrap_or(u32::MAX);
    let by_rate = each.map_or(Duration::ZERO, |each| each.saturating_mul(waiters));
    let asked = asked.checked_div(SPREAD_PART).unwrap_or_default();
    asked.min(MAX_SPREAD).max(by_rate.min(MAX_BY_RATE))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn each_goes_in_its_own_part_of_the_span() {
        for waiters in [1, 7, 200, 10_000_u32] {
            let n = usize::try_from(waiters).unwrap();
            let release = Release::new(SECOND * 30, SECOND * 6, n, 7);
            for index in 0..waiters {
                let after = release.due(usize::try_from(index).unwrap()) - SECOND * 30;
                let (start, end) = (
                    SECOND * 6 * index / waiters,
                    SECOND * 6 * (index + 1) / waiters,
                );
                assert!(
                    start <= after && after < end.max(start + Duration::from_nanos(1)),
                    "{after:?}"
                );
            }
        }
    }

    #[test]
    fn the_rate_doubles_after_all_who_waited_and_again() {
        let release = Release::new(Duration::ZERO, SECOND * 8, 4, u64::MAX);
        let rounds = [0, 8_000, 12_000, 14_000, 15_000].map(Duration::from_millis);
        for (round, ends) in rounds.windows(2).enumerate() {
            assert!(release.due(4 * round) >= ends[0]);
            assert!(release.due(4 * round + 3) < ends[1]);
        }
        assert!(release.due(1_000_000) <= SECOND * 16);
        assert!(release.due(usize::MAX) <= SECOND * 16);
    }

    #[test]
    fn slots_never_run_backwards() {
        for random in 0..50 {
            let release =
                Release::new(SECOND, SECOND * 2, 3, random).with_head_start(random % 2 == 0);
            let slots: Vec<_> = (0..100).map(|rank| release.due(rank)).collect();
            assert!(slots.is_sorted() && slots[0] >= SECOND);
        }
    }

    #[test]
    fn the_head_goes_a_tenth_of_a_second_before_the_others() {
        let release = Release::new(Duration::ZERO, SECOND / 100, 100, 3).with_head_start(true);
        assert!(release.due(0) < SECOND / 10_000);
        assert!(release.due(1) >= HEAD_START);
    }

    #[test]
    fn the_span_is_a_fifth_of_what_was_asked_or_what_the_rate_needs() {
        assert_eq!(span(SECOND * 30, 10_000, None), SECOND * 6);
        assert_eq!(span(SECOND * 600, 10, None), SECOND * 10);
        assert_eq!(span(SECOND * 10, 200, Some(SECOND / 50)), SECOND * 4);
        assert_eq!(span(SECOND * 10, 20, Some(SECOND / 50)), SECOND * 2);
        assert_eq!(span(SECOND, 10_000, Some(SECOND)), SECOND * 60);
        assert_eq!(
            span(Duration::MAX, usize::MAX, Some(Duration::MAX)),
            SECOND * 60
        );
    }
}
