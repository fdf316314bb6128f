//! A clock on which waits take no time and limits are reached only when a test says so.

use super::super::stacks::clock::Clock as Still;
use http_retry::policy::Moment;
use http_retry::runtime::{Runtime, Sleep};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A wait is of whole seconds, three at least; the documents of these tests say so. Anything else is a limit: of reading,
/// of an attempt, or what a deadline of odd length has left.
const SHORTEST_WAIT: Duration = Duration::from_secs(3);

/// A clock that a wait moves forward and a limit does not.
#[derive(Debug, Clone)]
pub(super) struct Clock(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    clock: Still,
    waits: Mutex<Vec<Duration>>,
    limits: Mutex<Vec<Duration>>,
    /// A wait need not be of whole seconds.
    any_length: bool,
}

impl Clock {
    pub(super) fn new() -> Self {
        Self(Arc::new(Inner {
            clock: Still::new(),
            waits: Mutex::default(),
            limits: Mutex::default(),
            any_length: false,
        }))
    }

    /// A clock whose waits have any length from three seconds on, as those that a server asks for: there are no deadlines.
    pub(super) fn of_any_length() -> Self {
        let Self(inner) = Self::new();
        let mut inner = Arc::into_inner(inner).unwrap();
        inner.any_length = true;
        Self(Arc::new(inner))
    }

    pub(super) fn advance(&self, by: Duration) {
        self.0.clock.advance(by);
    }

    /// The waits that there were, in order.
    pub(super) fn waits(&self) -> Vec<Duration> {
        self.0.waits.lock().unwrap().clone()
    }

    /// The limits that were set, in order.
    pub(super) fn limits(&self) -> Vec<Duration> {
        self.0.limits.lock().unwrap().clone()
    }

    /// How many sleeps there are, neither over nor dropped.
    pub(super) fn alive(&self) -> usize {
        self.0.clock.alive()
    }
}

impl Runtime for Clock {
    fn now(&self) -> Duration {
        self.0.clock.now()
    }

    fn moment(&self) -> Moment {
        self.0.clock.moment()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        let is_wait = duration.is_zero()
            || duration >= SHORTEST_WAIT && (self.0.any_length || duration.subsec_nanos() == 0);
        let of_clock = self.0.clock.sleep(duration);
        if !is_wait {
            self.0.limits.lock().unwrap().push(duration);
            return of_clock;
        }
        let clock = self.clone();
        Box::pin(async move {
            clock.0.waits.lock().unwrap().push(duration);
            clock.advance(duration);
            of_clock.await;
        })
    }
}
