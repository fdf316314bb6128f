//! A clock that the gate's tests move.

use crate::policy::{Moment, splitmix64};
use crate::runtime::{Runtime, Sleep};
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

/// Clones share the time. Nothing wakes a wait: the tests poll.
#[derive(Clone)]
pub(super) struct Clock {
    now: Arc<Mutex<Duration>>,
    draws: Arc<Mutex<u64>>,
    jumps: bool,
}

impl Clock {
    /// A clock at zero that only [`Clock::advance`] moves.
    pub(super) fn paused() -> Self {
        Self {
            now: Arc::default(),
            draws: Arc::default(),
            jumps: false,
        }
    }

    /// A clock at zero that each wait moves to its end.
    pub(super) fn jumping() -> Self {
        Self {
            jumps: true,
            ..Self::paused()
        }
    }

    pub(super) fn advance(&self, by: Duration) {
        *self.now.lock().unwrap() += by;
    }
}

impl Runtime for Clock {
    fn now(&self) -> Duration {
        *self.now.lock().unwrap()
    }

    fn moment(&self) -> Moment {
        let mut draws = self.draws.lock().unwrap();
        *draws += 1;
        Moment::new(self.now()).with_random(splitmix64(*draws))
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        let clock = self.clone();
        let until = self.now().saturating_add(duration);
        Box::pin(poll_fn(move |_| {
            let mut now = clock.now.lock().unwrap();
            if clock.jumps {
                *now = until.max(*now);
            }
            if *now < until {
                return Poll::Pending;
            }
            Poll::Ready(())
        }))
    }
}
