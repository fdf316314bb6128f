//! tokio's clock and timers.
#![expect(
    clippy::disallowed_methods,
    reason = "this is where time and randomness come from"
)]

use super::{Runtime, Sleep, system_key};
use crate::policy::Moment;
use http_retry_core::runtime::{epoch, hashed_key, thread_sleep};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The clock and the timer of tokio, the system's wall clock, and the thread's random generator.
///
/// Under `tokio::time::pause` it follows the paused clock.
///
/// # Panics
///
/// Like `tokio::time::sleep`, a wait panics outside a tokio runtime with its timer enabled.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::exhaustive_structs, reason = "its name is its constructor")]
pub struct TokioRuntime;

impl Runtime for TokioRuntime {
    fn now(&self) -> Duration {
        clock()
    }

    fn moment(&self) -> Moment {
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Moment::new(self.now())
            .with_wall(wall)
            .with_random(rand::random())
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        Box::pin(tokio::time::sleep(duration))
    }

    fn for_blocking_calls(&self) -> Option<Arc<dyn Runtime>> {
        Some(Arc::new(OffTokio))
    }

    fn key_entropy(&self) -> u128 {
        system_key().unwrap_or_else(|| hashed_key(self.moment()))
    }
}

/// The runtime of an adapter that is given none.
pub(crate) use TokioRuntime as DefaultRuntime;

/// The same for a thread that blocks, whether tokio runs or not.
struct OffTokio;

impl Runtime for OffTokio {
    fn now(&self) -> Duration {
        clock()
    }

    fn moment(&self) -> Moment {
        TokioRuntime.moment()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        thread_sleep(clock, duration)
    }

    fn key_entropy(&self) -> u128 {
        TokioRuntime.key_entropy()
    }
}

/// Returns the time on tokio's clock, which is the system's outside of tokio.
pub(crate) fn clock() -> Duration {
    let now = tokio::time::Instant::now().into_std();
    now.saturating_duration_since(epoch(now))
}

pub(crate) use tokio::time::error::Elapsed;

/// In the browser, whose own types are not `Send`, every type is `MaybeSend`.
pub(crate) use std::marker::Send as MaybeSend;

/// A boxed future, which is `Send` but in the browser.
#[cfg(feature = "reqwest")]
pub(crate) type BoxFuture<'a, T> =
    std::pin::Pin<Box<dyn std::future::Future<Output = T> + Send + 'a>>;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn key_entropy_never_repeats() {
        let keys = (0..1_000).map(|_| TokioRuntime.key_entropy());
        assert_eq!(keys.collect::<BTreeSet<_>>().len(), 1_000);
    }
}
