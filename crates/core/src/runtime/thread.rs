//! Waits that block the thread, for calls without async.

use super::Sleep;
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

/// A clock: the time since an epoch, as [`Runtime::now`](super::Runtime::now) returns it.
pub type Clock = fn() -> Duration;

/// Returns a future that completes after `duration` on this clock, if it is polled by [`block_on`] with the same clock.
/// `Duration::MAX` never completes.
#[must_use]
pub fn thread_sleep(clock: Clock, duration: Duration) -> Sleep {
    let until = clock().checked_add(duration);
    Box::pin(poll_fn(move |_| match until {
        Some(until) if until <= clock() => Poll::Ready(()),
        Some(until) => {
            let next = NEXT.get().map_or(until, |next| next.min(until));
            NEXT.set(Some(next));
            Poll::Pending
        }
        None => Poll::Pending,
    }))
}

/// Blocks the thread until a future completes. It sleeps until the future is woken or the next [`thread_sleep`] in it
/// is over.
///
/// ```
/// use http_retry_core::runtime::{block_on, thread_sleep};
/// use std::time::Duration;
///
/// // Time stands still, and no wait is longer than this.
/// let clock = || Duration::ZERO;
/// assert_eq!(block_on(clock, async { thread_sleep(clock, Duration::ZERO).await }), ());
/// ```
pub fn block_on<F: Future>(clock: Clock, future: F) -> F::Output {
    // A call within the future may block too, on waits of its own.
    let outer = NEXT.take();
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let output = loop {
        NEXT.set(None);
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            break output;
        }
        match NEXT.take() {
            Some(until) => thread::park_timeout(until.saturating_sub(clock())),
            None => thread::park(),
        }
    };
    NEXT.set(outer);
    output
}

thread_local! {
    /// The end of the first wait that was polled, for the thread that polls it.
    static NEXT: Cell<Option<Duration>> = const { Cell::new(None) };
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test has a clock")]
mod tests {
    use super::super::epoch;
    use super::*;
    use std::sync::mpsc;
    use std::time::Instant;

    fn clock() -> Duration {
        let now = Instant::now();
        now.saturating_duration_since(epoch(now))
    }

    #[test]
    fn a_wait_lasts_as_long_as_it_was_asked_to() {
        let before = clock();
        block_on(clock, thread_sleep(clock, Duration::from_millis(3)));
        assert!(clock() - before >= Duration::from_millis(3));
    }

    #[test]
    fn a_wake_ends_a_park_before_the_wait_is_over() {
        let (send, receive) = mpsc::channel::<Waker>();
        thread::spawn(move || receive.recv().unwrap().wake());
        let mut hour = thread_sleep(clock, Duration::from_secs(3_600));
        let mut polled = 0;
        let woken = poll_fn(|cx| {
            assert!(hour.as_mut().poll(cx).is_pending());
            polled += 1;
            if polled == 1 {
                send.send(cx.waker().clone()).unwrap();
                return Poll::Pending;
            }
            Poll::Ready(())
        });
        block_on(clock, woken);
        assert_eq!(polled, 2);
    }

    #[test]
    fn a_call_that_blocks_within_a_wait_leaves_the_wait_alone() {
        let mut wait = thread_sleep(clock, Duration::from_millis(3));
        let both = poll_fn(|cx| {
            let polled = wait.as_mut().poll(cx);
            block_on(clock, async {});
            polled
        });
        block_on(clock, both);
    }

    #[test]
    fn the_longest_wait_does_not_panic() {
        drop(thread_sleep(clock, Duration::MAX));
    }
}
