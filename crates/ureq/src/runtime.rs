//! The system's clock, and waits that block the thread.
#![expect(
    clippy::disallowed_methods,
    reason = "this is where time and randomness come from"
)]

use http_retry_core::policy::Moment;
use http_retry_core::runtime::{Runtime, Sleep, epoch};
use std::cell::Cell;
use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The system's clocks; its waits end only below [`block_on`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct ThreadRuntime;

impl Runtime for ThreadRuntime {
    fn now(&self) -> Duration {
        let now = Instant::now();
        now.saturating_duration_since(epoch(now))
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
        Box::pin(Timer {
            until: Instant::now().checked_add(duration),
        })
    }
}

/// A wait until a time; `None` never comes.
struct Timer {
    until: Option<Instant>,
}

thread_local! {
    /// The end of the first wait that was polled, for the thread that polls it.
    static NEXT: Cell<Option<Instant>> = const { Cell::new(None) };
}

impl Future for Timer {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let Some(until) = self.until else {
            return Poll::Pending;
        };
        if until <= Instant::now() {
            return Poll::Ready(());
        }
        let next = NEXT.get().map_or(until, |next| next.min(until));
        NEXT.set(Some(next));
        Poll::Pending
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Blocks the thread until a future completes: it sleeps until the future is woken or the next wait is over.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        NEXT.set(None);
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        match NEXT.take() {
            Some(until) => thread::park_timeout(until.saturating_duration_since(Instant::now())),
            None => thread::park(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_wait_lasts_as_long_as_it_was_asked_to() {
        let before = ThreadRuntime.now();
        block_on(ThreadRuntime.sleep(Duration::from_millis(3)));
        assert!(ThreadRuntime.now() - before >= Duration::from_millis(3));
    }

    #[test]
    fn a_wake_ends_a_park_before_the_wait_is_over() {
        let (send, receive) = mpsc::channel::<Waker>();
        thread::spawn(move || receive.recv().unwrap().wake());
        let mut hour = ThreadRuntime.sleep(Duration::from_secs(3_600));
        let mut polled = 0;
        block_on(std::future::poll_fn(|cx| {
            assert!(hour.as_mut().poll(cx).is_pending());
            polled += 1;
            if polled == 1 {
                send.send(cx.waker().clone()).unwrap();
                return Poll::Pending;
            }
            Poll::Ready(())
        }));
        assert_eq!(polled, 2);
    }

    #[test]
    fn the_longest_wait_does_not_panic() {
        drop(ThreadRuntime.sleep(Duration::MAX));
    }

    #[test]
    fn random_numbers_differ() {
        assert_ne!(ThreadRuntime.moment().random, ThreadRuntime.moment().random);
    }
}
