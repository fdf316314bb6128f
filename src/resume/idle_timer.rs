//! The time that a body may bring nothing while somebody reads it.

use super::exclusive::Exclusive;
use crate::runtime::{Runtime, Sleep};
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// Measures from the first read that finds nothing. One timer serves many reads: it is only set anew where it ends too
/// early.
pub(super) struct IdleTimer {
    limit: Duration,
    timer: Option<Exclusive<Sleep>>,
    /// Since when the reader waits.
    since: Option<Duration>,
    /// The timer was set for an earlier silence.
    is_stale: bool,
    /// The limit has passed, and the body gets time for a last word.
    is_last_look: bool,
}

/// A program that was busy elsewhere may have what it waits for in a socket that nobody has looked at; a timer ends only
/// after sockets were looked at.
const LAST_LOOK: Duration = Duration::from_millis(1);

/// The wait for the end of the response and its trailers, after the last byte. A body dropped before them costs its
/// connection, or resets its stream.
const END: Duration = Duration::from_secs(1);

impl IdleTimer {
    pub(super) fn new(limit: Duration) -> Self {
        Self {
            limit,
            timer: None,
            since: None,
            is_stale: false,
            is_last_look: false,
        }
    }

    /// The body has said something.
    pub(super) fn reset(&mut self) {
        self.since = None;
        self.is_stale = true;
        self.is_last_look = false;
    }

    /// Only the end is still to come.
    pub(super) fn has_all(&mut self) {
        self.limit = self.limit.min(END);
        self.timer = None;
    }

    /// Ready once the body has said nothing for too long.
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
            let left = if std::mem::take(&mut self.is_stale) {
                since
                    .saturating_add(self.limit)
                    .saturating_sub(runtime.now())
            } else {
                Duration::ZERO
            };
            let more = match (left.is_zero(), self.is_last_look) {
                (false, _) => left,
                (true, false) => {
                    self.is_last_look = true;
                    LAST_LOOK
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
