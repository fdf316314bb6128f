//! The mark of the attempt that a thread polls, and what is reported of that attempt.

use std::cell::Cell;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU8, Ordering};

/// The identity of a layer, unique while the layer is in use.
pub(crate) type LayerId = NonZeroUsize;

const REDIRECTED: u8 = 1;
const SENT: u8 = 2;
const FOLLOWS_NONE: u8 = 4;

thread_local! {
    static POLLED: Cell<PolledAttempt> = const { Cell::new(PolledAttempt { outermost: None, flags: 0 }) };
}

/// The attempt that this thread polls.
#[derive(Debug, Clone, Copy)]
struct PolledAttempt {
    /// The outermost layer whose attempt it is.
    outermost: Option<LayerId>,
    /// The deeds of the innermost attempt in this poll.
    flags: u8,
}

/// Records in every attempt that this thread polls that a layer below sends another request.
pub(crate) fn sent() {
    report(SENT);
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
    /// Makes this the attempt that the thread polls, until the guard is dropped.
    #[inline]
    pub(crate) fn polled(&self, layer: LayerId) -> PollGuard<'_> {
        let before = POLLED.get();
        POLLED.set(PolledAttempt {
            outermost: before.outermost.or(Some(layer)),
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
        // The outer attempt has done everything that an inner one has.
        POLLED.set(PolledAttempt {
            flags: self.before.flags | flags,
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
        let outer = around.polled(LAYER);
        let inner = within.polled(LAYER);
        sent();
        drop(inner);
        drop(later.polled(LAYER));
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
        drop(attempt.polled(LAYER));
        sent();
        assert!(!attempt.has_sent() && outermost().is_none());
    }

    #[test]
    fn the_mark_ends_with_the_poll_even_by_a_panic() {
        let attempt = AttemptFlags::default();
        let polled = std::panic::catch_unwind(|| {
            let _guard = attempt.polled(LAYER);
            assert!(outermost().is_some());
            std::panic::resume_unwind(Box::new(()));
        });
        assert!(polled.is_err() && outermost().is_none());
    }
}
