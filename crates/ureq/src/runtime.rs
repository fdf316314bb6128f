//! The system's clock, and waits that block the thread.
#![expect(
    clippy::disallowed_methods,
    reason = "this is where time and randomness come from"
)]

use http_retry_core::policy::Moment;
use http_retry_core::runtime::{Runtime, Sleep, epoch, thread_sleep};
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The system's clocks; its waits end only below [`block_on`](http_retry_core::runtime::block_on) on [`clock`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct ThreadRuntime;

impl Runtime for ThreadRuntime {
    fn now(&self) -> Duration {
        clock()
    }

    fn moment(&self) -> Moment {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH);
        let wall = wall.unwrap_or_default();
        let now = self.now();
        Moment::new(now)
            .with_wall(wall)
            .with_random(RandomState::new().hash_one((now, wall)))
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        thread_sleep(clock, duration)
    }
}

/// Returns the time on the system's monotonic clock.
pub(crate) fn clock() -> Duration {
    let now = Instant::now();
    now.saturating_duration_since(epoch(now))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_numbers_differ() {
        assert_ne!(ThreadRuntime.moment().random, ThreadRuntime.moment().random);
    }
}
