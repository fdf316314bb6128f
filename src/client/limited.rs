//! The time limit of a first attempt that an adapter makes in place.

#[cfg(all(feature = "tower", feature = "hyper"))]
use super::connection::ConnectionUsed;
use crate::runtime::{Runtime, Sleep};
use std::task::Context;
use std::time::Duration;

/// What there is of an attempt only where it may be cut.
#[derive(Default)]
pub(crate) struct Limited {
    timer: Timer,
    #[cfg(all(feature = "tower", feature = "hyper"))]
    pub(crate) connection: Option<Box<ConnectionUsed>>,
}

#[derive(Default)]
enum Timer {
    /// The attempt was not waited for yet.
    #[default]
    Off,
    Runs(Sleep),
    /// It has run out.
    Over,
}

impl Limited {
    /// Whether an attempt runs out of time in this poll, in which it did not end. It does so once.
    pub(super) fn is_over(
        &mut self,
        until: Duration,
        runtime: &dyn Runtime,
        cx: &mut Context<'_>,
    ) -> bool {
        if let Timer::Off = self.timer {
            let left = until.saturating_sub(runtime.now());
            self.timer = Timer::Runs(runtime.sleep(left));
        }
        let over = match &mut self.timer {
            Timer::Runs(timer) => timer.as_mut().poll(cx).is_ready(),
            Timer::Off | Timer::Over => false,
        };
        if over {
            self.timer = Timer::Over;
        }
        over
    }
}
