//! The time that a body may bring nothing while it is read.

use super::exclusive::Exclusive;
use http_retry_core::runtime::{Runtime, Sleep};
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// A timer that runs from the first read that finds nothing. One timer serves many reads: it is only set anew if it
/// fires too early.
pub(super) struct IdleTimer {
    limit: Duration,
    timer: Option<Exclusive<Sleep>>,
    /// The time at which the reader began to wait.
    since: Option<Duration>,
    /// `true` if the timer was set for an earlier silence.
    is_stale: bool,
    /// `true` if the limit has passed, and the body gets one more poll.
    is_last_poll: bool,
}

/// The wait for one more poll of the body. If the program was busy, the missing bytes may already be in a socket; a
/// timer fires only after the runtime has polled its sockets.
const LAST_POLL_DELAY: Duration = Duration::from_millis(1);

/// The wait for the end of the response and its trailers, after the last byte. A body dropped before them costs its
/// connection, or resets its stream.
const MAX_END_WAIT: Duration = Duration::from_secs(1);

impl IdleTimer {
    pub(super) fn new(limit: Duration) -> Self {
        Self {
            limit,
            timer: None,
            since: None,
            is_stale: false,
            is_last_poll: false,
        }
    }

    /// Ends a silence: the body has brought something.
    pub(super) fn reset(&mut self) {
        self.since = None;
        self.is_stale = true;
        self.is_last_poll = false;
    }

    /// Shortens the limit, since only the end is still to come.
    pub(super) fn expect_end(&mut self) {
        self.limit = self.limit.min(MAX_END_WAIT);
        // The timer at hand was set for the longer limit.
        self.timer = None;
    }

    /// Returns `Ready` if the body has brought nothing for too long.
    pub(super) fn poll(&mut self, runtime: &dyn Runtime, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let since = *self.since.get_or_insert_with(|| runtime.now());
            let timer = match &mut self.timer {
                Some(timer) => timer,
                None => {
                    self.is_stale = false;
                    let timer = Exclusive::new(runtime.sleep(self.limit));
                    self.timer.insert(timer)
                }
            };
            ready!(timer.get().as_mut().poll(cx));
            self.timer = None;
            // A timer set for an earlier silence fires before this one has lasted long enough.
            let left = if std::mem::take(&mut self.is_stale) {
                since
                    .saturating_add(self.limit)
                    .saturating_sub(runtime.now())
            } else {
                Duration::ZERO
            };
            let more = match (left.is_zero(), self.is_last_poll) {
                (false, _) => left,
                // The caller polls the body before this timer, so the wait gives it one more chance.
                (true, false) => {
                    self.is_last_poll = true;
                    LAST_POLL_DELAY
                }
                (true, true) => {
                    self.reset();
                    return Poll::Ready(());
                }
            };
            self.timer = Some(Exclusive::new(runtime.sleep(more)));
        }
    }
}
