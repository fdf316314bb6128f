//! Retry layers notice each other, and what their clients do: a mark that is set while an attempt is polled.
//!
//! The mark is a thread-local, so it costs no allocation and works where a request's extensions are private. An attempt
//! that goes on in another task loses it; there only an extension of the request can tell of a layer further out, and of
//! a redirect only that some attempt has lost one ([`elsewhere`]).

use std::cell::Cell;
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// A layer, told apart from all others while it is in use.
pub(crate) type LayerId = NonZeroUsize;

thread_local! {
    static POLLED: Cell<Polled> = const { Cell::new(Polled { outermost: None, redirected: false }) };
}

/// What this thread polls.
#[derive(Debug, Clone, Copy)]
struct Polled {
    /// The layer furthest out whose attempt it is.
    outermost: Option<LayerId>,
    /// The attempt furthest in has followed a redirect in this poll.
    redirected: bool,
}

/// Whether the current poll is part of an attempt of a retry layer further out.
pub(crate) fn is_inside() -> bool {
    POLLED.get().outermost.is_some()
}

/// Tells every attempt that is polled here, and all others where none is, that a client follows a redirect; with the path
/// that it was asked for first.
#[cfg_attr(
    not(any(feature = "reqwest", test)),
    expect(dead_code, reason = "no other client follows redirects")
)]
pub(crate) fn follows_redirect(path: Option<&str>) {
    let polled = POLLED.get();
    POLLED.set(Polled {
        redirected: polled.outermost.is_some(),
        ..polled
    });
    note(path, polled.outermost);
}

/// One attempt of a layer: what sets the mark, and what was seen of redirects by it.
#[derive(Debug)]
pub(crate) struct AttemptMark {
    /// A layer that repeats nothing by itself leaves the mark as it is.
    repeats: bool,
    redirected: AtomicBool,
    /// How many redirects there were in the whole process when the attempt began.
    before: u32,
}

impl AttemptMark {
    pub(crate) fn new(repeats: bool) -> Self {
        Self {
            repeats,
            redirected: AtomicBool::new(false),
            before: count(),
        }
    }

    pub(crate) fn repeats(&self) -> bool {
        self.repeats
    }

    /// A part of the attempt, which this layer makes, is polled until the guard is dropped.
    #[inline]
    pub(crate) fn polled(&self, layer: LayerId) -> Option<Within<'_>> {
        self.repeats.then(|| Within::new(self, layer))
    }

    /// Polls a part of the attempt.
    pub(crate) fn around<T>(&self, layer: LayerId, poll: impl FnOnce() -> T) -> T {
        let _within = self.polled(layer);
        poll()
    }

    /// Whether the client has followed a redirect where this attempt was polled.
    pub(crate) fn is_redirected(&self) -> bool {
        self.redirected.load(Ordering::Relaxed)
    }

    /// Whether a redirect was followed since the attempt began that may be its own, and was not seen where it was polled.
    pub(crate) fn may_be_redirected_elsewhere(&self, layer: LayerId, path: Option<&str>) -> bool {
        let outermost = POLLED.get().outermost.unwrap_or(layer);
        has_new(self.before, path, outermost)
    }
}

/// The mark is set until this is dropped.
pub(crate) struct Within<'a> {
    mark: &'a AttemptMark,
    before: Polled,
}

impl<'a> Within<'a> {
    #[inline]
    fn new(mark: &'a AttemptMark, layer: LayerId) -> Self {
        let before = POLLED.get();
        POLLED.set(Polled {
            outermost: before.outermost.or(Some(layer)),
            redirected: false,
        });
        Self { mark, before }
    }
}

impl Drop for Within<'_> {
    #[inline]
    fn drop(&mut self) {
        let redirected = POLLED.get().redirected;
        if redirected {
            self.mark.redirected.store(true, Ordering::Relaxed);
        }
        POLLED.set(Polled {
            redirected: self.before.redirected || redirected,
            ..self.before
        });
    }
}

/// How many are kept. An attempt during which there were more counts as one that may have been redirected.
const KEPT: usize = 1024;

/// Redirects so far, modulo 2^32. What an attempt leads to happens after its beginning and before its end, whichever
/// tasks it goes through, so relaxed order is enough.
static COUNT: AtomicU32 = AtomicU32::new(0);
static LATEST: Mutex<VecDeque<Redirect>> = Mutex::new(VecDeque::new());

#[derive(Debug, Clone, Copy)]
struct Redirect {
    /// The hash of the path that was asked for first.
    path: Option<u64>,
    /// The layer furthest out that saw it; nobody where it happened outside of every attempt.
    seen_by: Option<LayerId>,
}

fn count() -> u32 {
    COUNT.load(Ordering::Relaxed)
}

fn note(path: Option<&str>, seen_by: Option<LayerId>) {
    let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    if latest.len() == KEPT {
        latest.pop_front();
    }
    let path = path.map(hash);
    latest.push_back(Redirect { path, seen_by });
    COUNT.fetch_add(1, Ordering::Relaxed);
}

/// Whether a redirect since then may be one of an attempt for this path that this layer has not seen: one for the same path
/// that nobody saw, or that another layer saw, perhaps further in and in another task.
fn has_new(before: u32, path: Option<&str>, layer: LayerId) -> bool {
    if count() == before {
        return false;
    }
    let path = path.map(hash);
    let latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    let new = usize::try_from(count().wrapping_sub(before)).unwrap_or(usize::MAX);
    let anothers = |redirect: &Redirect| {
        let paths = path.zip(redirect.path);
        redirect.seen_by == Some(layer) || paths.is_some_and(|(one, other)| one != other)
    };
    new > latest.len() || !latest.iter().rev().take(new).all(anothers)
}

fn hash(path: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// The redirects of one test are no others'.
    static ALONE: Mutex<()> = Mutex::new(());

    fn alone() -> MutexGuard<'static, ()> {
        ALONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn layers() -> [LayerId; 2] {
        [1, 2].map(|number| LayerId::new(number).unwrap())
    }

    fn in_another_task(work: impl FnOnce() + Send) {
        std::thread::scope(|scope| {
            scope.spawn(work);
        });
    }

    #[test]
    fn the_mark_ends_with_the_poll_even_by_a_panic() {
        let [outer, inner] = layers();
        let polled = std::panic::catch_unwind(|| {
            AttemptMark::new(true).around(outer, || {
                AttemptMark::new(false).around(inner, || assert!(is_inside()));
                std::panic::resume_unwind(Box::new(()));
            })
        });
        assert!(polled.is_err() && !is_inside());
    }

    #[test]
    fn every_attempt_that_is_polled_sees_a_redirect() {
        let _alone = alone();
        let [outer, inner] = layers();
        let marks = [true, false, true, true].map(AttemptMark::new);
        let [around, repeats_nothing, within, later] = &marks;
        around.around(outer, || {
            repeats_nothing.around(inner, || {
                within.around(inner, || follows_redirect(Some("/a")));
                later.around(inner, || ());
            });
        });
        let seen = marks.each_ref().map(AttemptMark::is_redirected);
        assert_eq!(seen, [true, false, true, false]);
    }

    #[test]
    fn a_redirect_of_the_same_path_unseen_may_be_its_own() {
        let _alone = alone();
        let [layer, other] = layers();
        let follows_in = |by: Option<LayerId>| {
            in_another_task(move || match by {
                None => follows_redirect(Some("/a")),
                Some(by) => {
                    AttemptMark::new(true).around(by, || follows_redirect(Some("/a")));
                }
            });
        };
        for (by, may) in [(None, true), (Some(other), true), (Some(layer), false)] {
            let mark = AttemptMark::new(true);
            let elsewhere = |path| mark.may_be_redirected_elsewhere(layer, path);
            assert!(!elsewhere(Some("/a")));
            mark.around(layer, || follows_in(by));
            assert!(!mark.is_redirected() && !elsewhere(Some("/b")));
            assert_eq!([elsewhere(Some("/a")), elsewhere(None)], [may; 2], "{by:?}");
        }
    }

    #[test]
    fn too_many_redirects_to_remember_may_be_anybodys() {
        let _alone = alone();
        let [layer, _] = layers();
        let mark = AttemptMark::new(true);
        let other = AttemptMark::new(true);
        let elsewhere = || mark.may_be_redirected_elsewhere(layer, Some("/a"));
        for _ in 0..1024 {
            other.around(layer, || follows_redirect(Some("/a")));
        }
        assert!(!elsewhere());
        other.around(layer, || follows_redirect(Some("/a")));
        assert!(elsewhere());
    }
}
