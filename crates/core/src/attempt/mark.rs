//! The mark of the attempt that a thread polls, and what is reported of that attempt.

use super::asked::AskedAttempt;
use std::cell::{Cell, RefCell};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU8, Ordering};

/// The identity of a layer, unique while the layer is in use.
pub(crate) type LayerId = NonZeroUsize;

const REDIRECTED: u8 = 1;
const SENT: u8 = 2;
const FOLLOWS_NONE: u8 = 4;
const ASKED: u8 = 8;

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

/// Asks the attempt that this thread polls. Returns `None` outside of an attempt.
pub(super) fn ask() -> Option<AskedAttempt> {
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

/// The deeds of an attempt, as its client and the layers below report them while it is polled.
///
/// The mark of the attempt under way is a thread-local, so it costs no allocation and works even if a request's
/// extensions are private. An attempt that continues in another task loses it.
#[derive(Debug, Default)]
pub(crate) struct AttemptFlags(AtomicU8);

impl AttemptFlags {
    /// Makes this the attempt that the thread polls, until the guard is dropped. An attempt of no layer is not a reason
    /// for others to stand aside.
    #[inline]
    pub(crate) fn polled(&self, layer: Option<LayerId>) -> PollGuard<'_> {
        let before = POLLED.get();
        POLLED.set(PolledAttempt {
            outermost: before.outermost.or(layer),
            replies: true,
            // What an earlier inner attempt has done is not done by this one.
            flags: 0,
        });
        PollGuard {
            attempt: self,
            before,
        }
    }

    /// Records that the client followed a redirect.
    pub(crate) fn redirect(&self) {
        self.0.fetch_or(REDIRECTED, Ordering::Relaxed);
    }

    /// Returns `true` if the client followed a redirect.
    #[must_use]
    pub(crate) fn is_redirected(&self) -> bool {
        self.has(REDIRECTED)
    }

    /// Returns `true` if the client has told that it follows no redirects, and followed none.
    #[must_use]
    pub(crate) fn follows_none(&self) -> bool {
        self.has(FOLLOWS_NONE) && !self.is_redirected()
    }

    /// Returns `true` if a layer below has sent more than one request.
    #[must_use]
    pub(crate) fn has_sent(&self) -> bool {
        self.has(SENT)
    }

    /// Returns `true` if a layer below has asked something since [`take_asked`](Self::take_asked).
    #[inline(always)]
    pub(crate) fn is_asked(&self) -> bool {
        self.has(ASKED)
    }

    /// Forgets that a layer below has asked something. Returns `true` if one had.
    pub(crate) fn take_asked(&self) -> bool {
        self.0.fetch_and(!ASKED, Ordering::Relaxed) & ASKED != 0
    }

    #[inline]
    fn has(&self, flag: u8) -> bool {
        self.0.load(Ordering::Relaxed) & flag != 0
    }
}

/// A guard that restores the mark of the outer attempt when it is dropped.
#[derive(Debug)]
pub(crate) struct PollGuard<'a> {
    attempt: &'a AttemptFlags,
    before: PolledAttempt,
}

impl Drop for PollGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        let flags = POLLED.get().flags;
        if flags != 0 {
            self.attempt.0.fetch_or(flags, Ordering::Relaxed);
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
    use super::*;

    const LAYER: LayerId = LayerId::MIN;

    #[test]
    fn every_attempt_around_a_request_is_told_of_it() {
        let attempts = [(); 3].map(|()| AttemptFlags::default());
        let [around, within, later] = &attempts;
        let outer = around.polled(Some(LAYER));
        let inner = within.polled(Some(LAYER));
        sent();
        drop(inner);
        drop(later.polled(Some(LAYER)));
        drop(outer);
        assert_eq!(
            attempts.each_ref().map(AttemptFlags::has_sent),
            [true, true, false]
        );
        assert!(!around.is_redirected());
    }

    #[test]
    fn outside_of_an_attempt_nobody_is_told() {
        sent();
        let attempt = AttemptFlags::default();
        drop(attempt.polled(Some(LAYER)));
        sent();
        assert!(!attempt.has_sent() && outermost().is_none());
    }

    #[test]
    fn a_question_is_for_the_innermost_attempt() {
        assert!(ask().is_none());
        let attempts = [(); 2].map(|()| AttemptFlags::default());
        let [around, within] = &attempts;
        let outer = around.polled(Some(LAYER));
        let inner = within.polled(None);
        let asked = ask().unwrap();
        drop(inner);
        assert!(within.take_asked() && !within.take_asked());
        for question in take_questions() {
            question.reply(Default::default());
        }
        assert!(asked.handle().is_some());
        drop(outer);
        assert!(!around.take_asked());
    }

    #[test]
    fn the_mark_ends_with_the_poll_even_by_a_panic() {
        let attempt = AttemptFlags::default();
        let polled = std::panic::catch_unwind(|| {
            let _guard = attempt.polled(Some(LAYER));
            assert!(outermost().is_some());
            std::panic::resume_unwind(Box::new(()));
        });
        assert!(polled.is_err() && outermost().is_none());
    }
}
