//! The clock, sleep and randomness of a program, behind one trait.

mod thread;

pub use thread::{Clock, block_on, thread_sleep};

use crate::policy::Moment;
use std::future::{Future, poll_fn};
use std::hash::{BuildHasher, RandomState};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::{Duration, Instant};

/// The future returned by [`Runtime::sleep`].
///
/// # Cancel safety
///
/// Dropping it leaves nothing behind: no task and no timer.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The clock, sleep and randomness that a client runs on.
///
/// Use `TokioRuntime` on tokio and `http_retry_testing::ManualRuntime` in tests; implement the trait for any other executor.
///
/// ```
/// use http_retry::policy::Moment;
/// use http_retry::runtime::{Runtime, Sleep};
/// use std::time::Duration;
///
/// /// Time stands still, and every wait is over at once.
/// struct Frozen;
///
/// impl Runtime for Frozen {
///     fn now(&self) -> Duration {
///         Duration::ZERO
///     }
///     fn moment(&self) -> Moment {
///         Moment::new(self.now())
///     }
///     fn sleep(&self, _: Duration) -> Sleep {
///         Box::pin(std::future::ready(()))
///     }
/// }
/// ```
pub trait Runtime: Send + Sync + 'static {
    /// Returns the monotonic time since an epoch of the runtime's choice. All clients that share a budget or a gate
    /// need the same epoch. If the clock steps back, budgets neither lose nor gain tokens, and a wait may take longer.
    fn now(&self) -> Duration;

    /// Returns the same time with the wall clock and a fresh random number. The wall clock is used only to read a date
    /// in a response; the random number spreads delays and, in a fleet, gives the process a new ID.
    fn moment(&self) -> Moment;

    /// Returns a future that completes after `duration`, counted from now or from its first poll, as the runtime
    /// chooses. `Duration::ZERO` must complete at the first poll or soon after, and `Duration::MAX` must not panic: it
    /// never completes.
    fn sleep(&self, duration: Duration) -> Sleep;

    /// Returns the runtime for a call that blocks its thread, in place of this one. Default `None`: this one serves there
    /// too.
    ///
    /// Return one, on the same clock and with [`thread_sleep`], if a [`sleep`](Self::sleep) completes only below an
    /// executor of its own, such as tokio's.
    fn for_blocking_calls(&self) -> Option<Arc<dyn Runtime>> {
        None
    }

    /// Returns 128 bits for an idempotency key that no other call returns, in this process or any other.
    ///
    /// A server treats two requests with one key as one and never processes the second, so an implementation with
    /// predictable keys for tests must still return each key only once. The default hashes a count and
    /// [`Runtime::moment`] with two keys of std's hash maps, which are random in each process and stay secret;
    /// `TokioRuntime` asks the operating system.
    fn key_entropy(&self) -> u128 {
        hashed_key(self.moment())
    }
}

/// Returns the epoch of the runtimes that use the system's monotonic clock. It is the same throughout a process: an
/// hour before the first call.
///
/// ```
/// use http_retry_core::runtime::epoch;
/// use std::time::Instant;
///
/// let now = Instant::now();
/// assert_eq!(epoch(now), epoch(Instant::now()));
/// assert!(epoch(now) <= now);
/// ```
#[must_use]
pub fn epoch(now: Instant) -> Instant {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    // A little in the past, so that a paused clock that started earlier does not read as zero.
    let hour = Duration::from_secs(3_600);
    *EPOCH.get_or_init(|| now.checked_sub(hour).unwrap_or(now))
}

/// Returns 128 bits that no other call returns: the default of [`Runtime::key_entropy`]. If std's hash keys are not
/// random, as on bare wasm, the moment keeps processes apart.
#[must_use]
pub fn hashed_key(at: Moment) -> u128 {
    static KEYS_MADE: AtomicU64 = AtomicU64::new(0);
    // The count keeps two calls apart if the clock stands still and the random number repeats.
    let count = KEYS_MADE.fetch_add(1, Ordering::Relaxed);
    // `RandomState::new` returns other keys each time, so the two halves differ.
    let half = || u128::from(RandomState::new().hash_one((count, at.now, at.wall, at.random)));
    half() << 64 | half()
}

impl<R: Runtime + ?Sized> Runtime for Arc<R> {
    fn now(&self) -> Duration {
        (**self).now()
    }

    fn moment(&self) -> Moment {
        (**self).moment()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        (**self).sleep(duration)
    }

    fn for_blocking_calls(&self) -> Option<Arc<dyn Runtime>> {
        (**self).for_blocking_calls()
    }

    fn key_entropy(&self) -> u128 {
        (**self).key_entropy()
    }
}

/// Waits for a future for at most the length of a sleep. Returns `None` if the sleep completes first.
///
/// ```
/// use http_retry::runtime::within;
///
/// # futures_util::FutureExt::now_or_never(async {
/// let at_once = || Box::pin(std::future::ready(()));
/// assert_eq!(within(at_once(), std::future::ready(1)).await, Some(1));
/// assert_eq!(within(at_once(), std::future::pending::<u8>()).await, None);
/// # }).unwrap();
/// ```
///
/// # Cancel safety
///
/// If dropped, or once the sleep completes, it drops the future.
pub async fn within<F: Future>(limit: Sleep, future: F) -> Option<F::Output> {
    let (mut future, mut limit) = (pin!(future), limit);
    // The future is polled first: a result that is ready together with the limit is not lost.
    poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => limit.as_mut().poll(cx).map(|()| None),
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::hashed_key;
    use crate::policy::Moment;
    use std::collections::BTreeSet;
    use std::time::Duration;

    #[test]
    fn keys_differ_even_at_the_same_moment() {
        let at = Moment::new(Duration::ZERO);
        let different: BTreeSet<u128> = (0..1_000).map(|_| hashed_key(at)).collect();
        assert_eq!(different.len(), 1_000);
        assert!(
            different
                .iter()
                .all(|key| key >> 64 != key & u128::from(u64::MAX))
        );
    }
}
