//! The default clock of a fleet, until an adapter joins it, and random numbers derived from those of a clock.

use http_retry_core::policy::Moment;
use http_retry_core::runtime::{Runtime, Sleep, epoch};
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The clock and timer of tokio, with the epoch of `TokioRuntime`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TokioClock;

#[expect(
    clippy::disallowed_methods,
    reason = "this is where time and randomness come from"
)]
impl Runtime for TokioClock {
    fn now(&self) -> Duration {
        let now = tokio::time::Instant::now().into_std();
        now.saturating_duration_since(epoch(now))
    }

    fn moment(&self) -> Moment {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH);
        Moment::new(self.now())
            .with_wall(wall.unwrap_or_default())
            .with_random(RandomState::new().hash_one(0))
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        Box::pin(tokio::time::sleep(duration))
    }
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
