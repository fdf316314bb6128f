//! Simulated time: a clock that jumps, and the runtime of the retry layers on it.
#![allow(
    clippy::disallowed_methods,
    reason = "this is where the time of a world comes from"
)]

use super::chance::{Use, draw, next_jitter};
use http_retry::policy::Moment;
use http_retry::runtime::{Runtime, Sleep};
use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// 2026-01-01T00:00:00Z, in seconds since 1970.
const BEGINNING: Duration = Duration::from_secs(1_767_225_600);

/// Runs a story in simulated time: every wait is over at once, in the right order. `wall` is the time since 1970 at
/// which it begins, for headers with dates.
///
/// # Errors
///
/// The operating system's, if there cannot be a runtime.
pub fn simulate<T, F: Future<Output = T>>(
    seed: u64,
    wall: Duration,
    story: impl FnOnce(LabRuntime) -> F,
) -> io::Result<T> {
    run_paused(async {
        let runtime = LabRuntime {
            wall,
            ..LabRuntime::new(Clock::new(), seed)
        };
        story(runtime).await
    })
}

/// Runs something on a clock of its own, which jumps to the next timer.
pub(crate) fn run_paused<T>(story: impl Future<Output = T>) -> io::Result<T> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_time().start_paused(true).build()?;
    Ok(runtime.block_on(story))
}

/// Waits on the clock of the world.
pub(crate) async fn pause(duration: Duration) {
    sleep(duration).await;
}

/// Time since the world began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock(Instant);

impl Clock {
    pub(crate) fn new() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn now(self) -> Duration {
        self.0.elapsed()
    }

    /// Waits until so much time has passed since the beginning.
    pub(crate) async fn until(self, then: Duration) {
        tokio::time::sleep_until(self.0 + then).await;
    }
}

/// The runtime of retry layers in a world: a clock that jumps, and random numbers that depend on the seed and the call.
#[derive(Debug, Clone)]
pub struct LabRuntime {
    clock: Clock,
    seed: u64,
    /// The count of numbers drawn outside of calls; all clients of a world share it.
    drawn: Arc<AtomicU64>,
    /// The beginning, since 1970.
    wall: Duration,
}

impl LabRuntime {
    pub(crate) fn new(clock: Clock, seed: u64) -> Self {
        Self {
            clock,
            seed,
            drawn: Arc::default(),
            wall: BEGINNING,
        }
    }
}

impl Runtime for LabRuntime {
    fn now(&self) -> Duration {
        self.clock.now()
    }

    fn moment(&self) -> Moment {
        let now = self.now();
        let random = match next_jitter() {
            Some((call, time)) => draw(self.seed, Use::Jitter, call, time),
            None => {
                let time = self.drawn.fetch_add(1, Ordering::Relaxed);
                draw(self.seed, Use::Task, 0, time)
            }
        };
        Moment::new(now)
            .with_wall(self.wall.saturating_add(now))
            .with_random(random)
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        Box::pin(sleep(duration))
    }
}
