//! The mark of the attempt that a thread polls, and what is reported of that attempt.

use super::AttemptHandle;
use std::cell::{Cell, RefCell};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};

/// The identity of a layer, unique while the layer is in use.
pub(crate) type LayerId = NonZeroUsize;

/// The client followed a redirect.
pub(crate) const REDIRECTED: u8 = 1;
/// A layer below has sent another request.
pub(crate) const SENT: u8 = 2;
/// The client follows no redirects.
pub(crate) const FOLLOWS_NONE: u8 = 4;
/// A layer below has asked something.
pub(crate) const ASKED: u8 = 8;

thread_local! {
    static POLLED: Cell<PolledAttempt> = const {
        Cell::new(PolledAttempt { outermost: None, replies: false, flags: 0 })
    };
    /// The questions of the poll under way.
    static QUESTIONS: RefCell<Vec<AskedAttempt>> = const { RefCell::new(Vec::new()) };
}

/// The attempt that this thread polls.
#[derive(Debug, Clone, Copy)]
struct PolledAttempt {
    /// The outermost layer whose attempt it is.
    outermost: Option<LayerId>,
    /// `true` if it replies to layers below.
    replies: bool,
    /// The deeds of the innermost attempt in this poll.
    flags: u8,
}

/// Records in every attempt that this thread polls that a layer below sends another request.
pub(crate) fn sent() {
    report(SENT);
}

/// The place of the reply to [`ask_attempt`]: empty until the attempt has replied. Only the first reply counts.
pub type AskedAttempt = Arc<OnceLock<AttemptHandle>>;

/// Asks the attempt under way for a handle to it, or returns `None` outside of an attempt.
///
/// Call it where [`sent`](crate::attempt::sent) may be called. The innermost attempt replies once the poll, or the
/// call, in which it was asked returns: the retry layer is at work until then. A layer that stands aside inside of
/// another one, or whose request has its retries off, leaves the reply to the one around it.
///
/// ```
/// use http_retry_core::hedging::ask_attempt;
///
/// assert!(ask_attempt().is_none(), "no retry layer is at work here");
/// ```
#[must_use]
pub fn ask_attempt() -> Option<AskedAttempt> {
    let polled = POLLED.get();
    if !polled.replies {
        return None;
    }
    let question = AskedAttempt::default();
    QUESTIONS.with_borrow_mut(|questions| questions.push(question.clone()));
    POLLED.set(PolledAttempt {
        flags: polled.flags | ASKED,
        ..polled
    });
    Some(question)
}

/// Returns the questions that were asked since the last call, which belong to the innermost attempt.
pub(crate) fn take_questions() -> Vec<AskedAttempt> {
    QUESTIONS.take()
}

/// Records a flag. Returns the outermost layer whose attempt this thread polls, or `None` outside of an attempt.
fn report(flag: u8) -> Option<LayerId> {
    let polled = POLLED.get();
    if polled.outermost.is_some() {
        POLLED.set(PolledAttempt {
            flags: polled.flags | flag,
            ..polled
        });
    }
    polled.outermost
}

/// Records that a client follows a redirect in every attempt that this thread polls. Returns the outermost layer of
/// them, or `None` if there is no attempt.
#[must_use]
pub(crate) fn follows_redirect() -> Option<LayerId> {
    report(REDIRECTED)
}

/// Records that the client of every attempt that this thread polls follows no redirects.
pub fn follows_no_redirects() {
    report(FOLLOWS_NONE);
}

/// Returns the outermost layer whose attempt this thread polls, or `None` outside of an attempt.
#[must_use]
#[inline]
pub(crate) fn outermost() -> Option<LayerId> {
    POLLED.get().outermost
}

/// Makes an attempt the one that the thread polls, until the guard is dropped. Its `flags` get its deeds, as its client
/// and the layers below report them meanwhile. An attempt of no layer is not a reason for others to stand aside.
///
/// The mark of the attempt under way is a thread-local, so it costs no allocation and works even if a request's
/// extensions are private. An attempt that continues in another task loses it.
#[inline]
pub(crate) fn polled(flags: &AtomicU8, layer: Option<LayerId>) -> PollGuard<'_> {
    let before = POLLED.get();
    POLLED.set(PolledAttempt {
        outermost: before.outermost.or(layer),
        replies: true,
        // What an earlier inner attempt has done is not done by this one.
        flags: 0,
    });
    PollGuard { flags, before }
}

/// A guard that restores the mark of the outer attempt when it is dropped.
#[derive(Debug)]
pub(crate) struct PollGuard<'a> {
    flags: &'a AtomicU8,
    before: PolledAttempt,
}

impl Drop for PollGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        let flags = POLLED.get().flags;
        if flags != 0 {
            self.flags.fetch_or(flags, Ordering::Relaxed);
        }
        // The outer attempt has done everything that an inner one has. A question is for the innermost alone.
        POLLED.set(PolledAttempt {
            flags: self.before.flags | (flags & !ASKED),
            ..self.before
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::handle;
    use super::*;

    const LAYER: LayerId = LayerId::MIN;

    fn has(attempt: &AtomicU8, flag: u8) -> bool {
        attempt.load(Ordering::Relaxed) & flag != 0
    }

    #[test]
    fn every_attempt_around_a_request_is_told_of_it() {
        let attempts = [(); 3].map(|()| AtomicU8::default());
        let [around, within, later] = &attempts;
        let outer = polled(around, Some(LAYER));
        let inner = polled(within, Some(LAYER));
        sent();
        drop(inner);
        drop(polled(later, Some(LAYER)));
        drop(outer);
        let has_sent = attempts.each_ref().map(|attempt| has(attempt, SENT));
        assert_eq!(has_sent, [true, true, false]);
        assert!(!has(around, REDIRECTED));
    }

    #[test]
    fn outside_of_an_attempt_nobody_is_told() {
        sent();
        let attempt = AtomicU8::default();
        drop(polled(&attempt, Some(LAYER)));
        sent();
        assert!(!has(&attempt, SENT) && outermost().is_none());
    }

    #[test]
    fn a_question_is_for_the_innermost_attempt() {
        assert!(ask_attempt().is_none());
        let attempts = [(); 2].map(|()| AtomicU8::default());
        let [around, within] = &attempts;
        let outer = polled(around, Some(LAYER));
        let inner = polled(within, None);
        let asked = ask_attempt().unwrap();
        drop(inner);
        assert!(has(within, ASKED));
        for question in take_questions() {
            question.set(handle()).unwrap();
        }
        assert!(asked.get().is_some());
        drop(outer);
        assert!(!has(around, ASKED));
    }

    #[test]
    fn the_mark_ends_with_the_poll_even_by_a_panic() {
        let attempt = AtomicU8::default();
        let polled = std::panic::catch_unwind(|| {
            let _guard = polled(&attempt, Some(LAYER));
            assert!(outermost().is_some());
            std::panic::resume_unwind(Box::new(()));
        });
        assert!(polled.is_err() && outermost().is_none());
    }
}
