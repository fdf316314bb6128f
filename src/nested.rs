//! Retry layers notice each other, and what their clients do: a mark that is set while an attempt is polled.
//!
//! The mark is a thread-local, so it costs no allocation and works where a request's extensions are private. An attempt
//! that goes on in another task loses it; there only an extension of the request can tell of a layer further out, and of
//! a redirect only that some attempt has lost one.

use http_retry_core::adapter::Redirected;
use std::cell::Cell;
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A layer, told apart from all others while it is in use.
pub(crate) type LayerId = NonZeroUsize;

thread_local! {
    static POLLED: Cell<PolledAttempt> = const { Cell::new(PolledAttempt { outermost: None, redirected: false }) };
}

/// The attempt that this thread polls.
#[derive(Debug, Clone, Copy)]
struct PolledAttempt {
    /// The layer furthest out whose attempt it is.
    outermost: Option<LayerId>,
    /// The attempt furthest in has followed a redirect in this poll.
    redirected: bool,
}

/// Returns `true` if the current poll is part of an attempt of a retry layer further out.
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
    POLLED.set(PolledAttempt {
        redirected: polled.outermost.is_some(),
        ..polled
    });
    note(path, polled.outermost);
}

/// One attempt of a layer: what sets the mark, and what was seen of redirects by it.
#[derive(Debug)]
pub(crate) struct AttemptMark {
    /// A layer that repeats nothing leaves the mark as it is.
    repeats: bool,
    redirected: AtomicBool,
    /// The number of redirects in the whole process when the attempt began.
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
    pub(crate) fn polled(&self, layer: LayerId) -> Option<PollGuard<'_>> {
        self.repeats.then(|| PollGuard::new(self, layer))
    }

    /// Polls a part of the attempt.
    pub(crate) fn around<T>(&self, layer: LayerId, poll: impl FnOnce() -> T) -> T {
        let _within = self.polled(layer);
        poll()
    }

    /// Returns `true` if the client followed a redirect in the task that polls this attempt.
    pub(crate) fn is_redirected(&self) -> bool {
        self.redirected.load(Ordering::Relaxed)
    }

    /// Returns `true` if a redirect since the attempt began may be its own, followed in another task.
    pub(crate) fn may_be_redirected_elsewhere(&self, layer: LayerId, path: Option<&str>) -> bool {
        let outermost = POLLED.get().outermost.unwrap_or(layer);
        has_new_redirect(self.before, path, outermost)
    }
}

/// The mark is set until this is dropped.
pub(crate) struct PollGuard<'a> {
    mark: &'a AttemptMark,
    before: PolledAttempt,
}

impl<'a> PollGuard<'a> {
    #[inline]
    fn new(mark: &'a AttemptMark, layer: LayerId) -> Self {
        let before = POLLED.get();
        POLLED.set(PolledAttempt {
            outermost: before.outermost.or(Some(layer)),
            redirected: false,
        });
        Self { mark, before }
    }
}

impl Drop for PollGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        let redirected = POLLED.get().redirected;
        if redirected {
            self.mark.redirected.store(true, Ordering::Relaxed);
        }
        POLLED.set(PolledAttempt {
            redirected: self.before.redirected || redirected,
            ..self.before
        });
    }
}

/// The number of redirects kept. An attempt with more of them meanwhile counts as one that may have been redirected.
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

/// Returns `true` if a redirect since then may be that of an attempt for this path, unseen by this layer: one for the same path
/// that nobody saw, or that another layer saw, perhaps further in and in another task.
fn has_new_redirect(before: u32, path: Option<&str>, layer: LayerId) -> bool {
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

/// A layer's knowledge of the redirects of the client below it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Redirects {
    told: RedirectMode,
    /// An answer came from another URL by a redirect that nobody saw, so the layer was told wrong.
    disproved: Arc<AtomicBool>,
}

/// The setting of a layer on the redirects of the client below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(
    not(feature = "reqwest"),
    expect(dead_code, reason = "no other client follows redirects")
)]
pub(crate) enum RedirectMode {
    #[default]
    Nothing,
    /// It follows no redirects.
    Off,
    /// It marks the attempt that follows one.
    Watched,
}

/// The tracker of one attempt's redirects.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RedirectTracker<'a> {
    pub(crate) redirects: &'a Redirects,
    pub(crate) layer: LayerId,
    pub(crate) mark: &'a AttemptMark,
}

/// An attempt as its client shows it.
#[derive(Clone, Copy, Default)]
pub(crate) struct RedirectEvidence<'a> {
    /// The client may follow redirects itself.
    pub(crate) may_follow: bool,
    /// The request's path, if it is known.
    pub(crate) path: Option<&'a str>,
    /// The request's URL, and that of the response.
    pub(crate) urls: Option<(&'a str, &'a str)>,
}

impl Redirects {
    /// Returns `true` if the client follows no redirects.
    #[cfg(feature = "reqwest")]
    pub(crate) fn are_off(&self) -> bool {
        self.told == RedirectMode::Off
    }

    #[cfg_attr(
        not(any(feature = "reqwest", test)),
        expect(dead_code, reason = "no other client follows redirects")
    )]
    pub(crate) fn with_mode(told: RedirectMode) -> Self {
        Self {
            told,
            disproved: Arc::default(),
        }
    }

    /// Compares the URLs of request and response, to notice a redirect that should have been seen.
    pub(crate) fn check(&self, mark: &AttemptMark, urls: Option<(&str, &str)>) {
        let checked = self.told != RedirectMode::Nothing && !mark.is_redirected();
        let urls = urls.filter(|_| checked);
        if urls.is_some_and(|(asked, answered)| place(asked) != place(answered)) {
            self.disproved.store(true, Ordering::Relaxed);
        }
    }
}

impl RedirectTracker<'_> {
    /// Judges if the client followed a redirect in this attempt; `harmless` if the request may be processed twice.
    pub(crate) fn redirected(&self, harmless: bool, trail: RedirectEvidence<'_>) -> Redirected {
        self.redirects.check(self.mark, trail.urls);
        let unseen = || {
            self.mark
                .may_be_redirected_elsewhere(self.layer, trail.path)
        };
        let unknown = match self.redirects.told {
            _ if self.mark.is_redirected() => return Redirected::Yes,
            _ if !trail.may_follow => false,
            _ if self.redirects.disproved.load(Ordering::Relaxed) => true,
            RedirectMode::Nothing => true,
            RedirectMode::Watched => unseen(),
            RedirectMode::Off => false,
        };
        if unknown {
            Redirected::Unknown { harmless }
        } else {
            Redirected::No
        }
    }
}

/// A URL without what a client keeps to itself: its user info and its fragment.
fn place(url: &str) -> (&str, &str) {
    let url = url.split_once('#').map_or(url, |(url, _)| url);
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let user_info = rest.get(..end).and_then(|authority| authority.rfind('@'));
    let start = user_info.map_or(0, |at| at.saturating_add(1));
    (scheme, rest.get(start..).unwrap_or_default())
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

#[cfg(test)]
mod redirects_tests {
    use super::*;

    #[test]
    fn a_place_is_a_url_without_user_info_and_fragment() {
        for url in [
            "http://h/a@b?c",
            "http://u:p@h/a@b?c",
            "http://u@h/a@b?c#d@e",
        ] {
            assert_eq!(place(url), ("http", "h/a@b?c"));
        }
        assert_ne!(place("http://h/"), place("https://h/"));
    }

    #[test]
    fn an_answer_from_elsewhere_disproves_what_was_told_for_good() {
        let redirects = Redirects::with_mode(RedirectMode::Off);
        let mark = AttemptMark::new(true);
        let watch = RedirectTracker {
            redirects: &redirects,
            layer: LayerId::MIN,
            mark: &mark,
        };
        let redirected = |asked, answered| {
            let trail = RedirectEvidence {
                may_follow: true,
                path: None,
                urls: Some((asked, answered)),
            };
            watch.redirected(false, trail)
        };
        let unknown = Redirected::Unknown { harmless: false };
        assert_eq!(redirected("http://h/a", "http://h/a"), Redirected::No);
        assert_eq!(redirected("http://h/a", "http://h/b"), unknown);
        assert_eq!(redirected("http://h/a", "http://h/a"), unknown);
    }
}
