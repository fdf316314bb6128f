//! The attempts of retry layers, which notice each other and the redirects of clients.
//!
//! The mark of the attempt under way is a thread-local of the core. An attempt that continues in another task loses it.
//! There only an extension of the request shows an outer layer, and a redirect is known only to belong to some attempt.

use crate::attempt::AttemptHandle;
use crate::attempt::mark::{self, AskedAttempt, LayerId, PollGuard};
use crate::attempt::terms::AttemptTerms;
use crate::policy::outcome::earlier::EarlierRequests;
use crate::report::warn_of_misuse;
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Returns `true` if the current poll is part of an attempt of an outer retry layer.
#[must_use]
pub(crate) fn is_inside() -> bool {
    mark::outermost().is_some()
}

/// Records that a client follows a redirect, and the path of the first request: in every attempt that is polled on
/// this thread, and in the list that all other attempts look at.
pub fn follows_redirect(path: Option<&str>) {
    record_redirect(path, mark::follows_redirect());
}

/// The mark of one attempt: set while it is polled, it collects what layers below report.
#[derive(Debug)]
pub(crate) struct AttemptMark {
    /// `false` for a layer that repeats nothing, for which no other stands aside.
    repeats: bool,
    /// `false` for a layer that only passes the request on, which sets no mark.
    replies: bool,
    /// The deeds of the attempt, as the flags of `mark` say.
    flags: AtomicU8,
    /// The handle for layers in other tasks, if they may report too.
    handle: Option<AttemptHandle>,
    /// The number of redirects in the whole process when the attempt began.
    before: u32,
}

impl AttemptMark {
    /// Creates the mark of an attempt. A layer that repeats requests does not only pass them on, so it replies too.
    pub(crate) fn new(repeats: bool, replies: bool) -> Self {
        Self {
            repeats,
            replies,
            flags: AtomicU8::new(0),
            handle: None,
            before: count(),
        }
    }

    /// Returns the handle to this attempt, which is made with these terms if there is none yet.
    pub(crate) fn handle(&mut self, terms: impl FnOnce() -> AttemptTerms) -> AttemptHandle {
        let new = || AttemptHandle::with_terms(terms());
        self.handle.get_or_insert_with(new).clone()
    }

    pub(crate) fn repeats(&self) -> bool {
        self.repeats
    }

    /// Returns the number of copies of the request that a layer below has sent besides the first.
    pub(crate) fn copies(&self) -> u32 {
        self.handle.as_ref().map_or(0, AttemptHandle::copies)
    }

    /// Returns `true` if layers below have asked something since the last [`take_questions`](Self::take_questions).
    #[inline(always)]
    pub(crate) fn is_asked(&self) -> bool {
        self.has(mark::ASKED)
    }

    /// Returns the new questions of layers below.
    pub(crate) fn take_questions(&self) -> Vec<AskedAttempt> {
        self.flags.fetch_and(!mark::ASKED, Ordering::Relaxed);
        mark::take_questions()
    }

    /// Sets the mark of this attempt until the guard is dropped.
    #[inline]
    pub(crate) fn polled(&self, layer: LayerId) -> Option<PollGuard<'_>> {
        let layer = self.repeats.then_some(layer);
        self.replies.then(|| mark::polled(&self.flags, layer))
    }

    /// Polls a part of the attempt under its mark.
    #[inline(always)]
    pub(crate) fn around<T>(&self, layer: LayerId, poll: impl FnOnce() -> T) -> T {
        let _within = self.polled(layer);
        poll()
    }

    /// Records that the client followed a redirect.
    pub(crate) fn redirect(&self) {
        self.flags.fetch_or(mark::REDIRECTED, Ordering::Relaxed);
    }

    /// Returns `true` if the attempt has sent another request than the one of its outcome.
    fn has_sent(&self) -> bool {
        let handle = self.handle.as_ref();
        self.has(mark::SENT) || handle.is_some_and(AttemptHandle::has_sent)
    }

    /// Returns `true` if the client followed a redirect in the task that polls this attempt.
    pub(crate) fn is_redirected(&self) -> bool {
        self.has(mark::REDIRECTED)
    }

    /// Returns `true` if the client has told that it follows no redirects, and followed none.
    fn follows_none(&self) -> bool {
        self.has(mark::FOLLOWS_NONE) && !self.is_redirected()
    }

    #[inline]
    fn has(&self, flag: u8) -> bool {
        self.flags.load(Ordering::Relaxed) & flag != 0
    }

    /// Returns `true` if a redirect since the attempt began may be its own, followed in another task.
    pub(crate) fn may_be_redirected_elsewhere(&self, layer: LayerId, path: Option<&str>) -> bool {
        let outermost = mark::outermost().unwrap_or(layer);
        has_new_redirect(self.before, path, outermost)
    }
}

/// The number of recent redirects that are kept. If more of them happen during an attempt, it may have been redirected.
const MAX_RECENT_REDIRECTS: usize = 1024;

/// The number of redirects so far, modulo 2^32. Relaxed order is enough: an attempt's redirects happen after its
/// beginning and before its end, whichever tasks it goes through.
static REDIRECT_COUNT: AtomicU32 = AtomicU32::new(0);
static RECENT_REDIRECTS: Mutex<VecDeque<Redirect>> = Mutex::new(VecDeque::new());

#[derive(Debug, Clone, Copy)]
struct Redirect {
    /// The hash of the path of the first request.
    path: Option<u64>,
    /// The outermost layer that saw it, or `None` if it happened outside of every attempt.
    seen_by: Option<LayerId>,
}

fn count() -> u32 {
    REDIRECT_COUNT.load(Ordering::Relaxed)
}

fn record_redirect(path: Option<&str>, seen_by: Option<LayerId>) {
    let mut recent = RECENT_REDIRECTS
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if recent.len() == MAX_RECENT_REDIRECTS {
        recent.pop_front();
    }
    let path = path.map(hash);
    recent.push_back(Redirect { path, seen_by });
    // Under the lock, so that `has_new_redirect` sees the count and the list agree.
    REDIRECT_COUNT.fetch_add(1, Ordering::Relaxed);
}

/// Returns `true` if a redirect since then may be that of an attempt on this path, unseen by this layer: one on the
/// same path that no layer saw, or that another layer saw, perhaps an inner one in another task.
fn has_new_redirect(before: u32, path: Option<&str>, layer: LayerId) -> bool {
    // The usual case takes no lock.
    if count() == before {
        return false;
    }
    let path = path.map(hash);
    let recent = RECENT_REDIRECTS
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let new = usize::try_from(count().wrapping_sub(before)).unwrap_or(usize::MAX);
    let is_anothers = |redirect: &Redirect| {
        let paths = path.zip(redirect.path);
        redirect.seen_by == Some(layer) || paths.is_some_and(|(one, other)| one != other)
    };
    // Redirects that were pushed out of the list may have been any attempt's.
    new > recent.len() || !recent.iter().rev().take(new).all(is_anothers)
}

fn hash(path: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.hash(&mut hasher);
    hasher.finish()
}

/// A layer's knowledge of the redirects of the client below it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Redirects {
    mode: RedirectMode,
    /// `true` once a response came from another URL by a redirect that was not seen, so that the mode is wrong.
    disproved: Arc<AtomicBool>,
    /// `true` once a warning about the missing setting was logged.
    has_warned: Arc<AtomicBool>,
}

/// The setting of a layer on the redirects of the client below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::exhaustive_enums, reason = "an adapter chooses one")]
pub enum RedirectMode {
    /// Nothing is known.
    #[default]
    Nothing,
    /// The client follows no redirects.
    Off,
    /// The client marks the attempt that follows one.
    Watched,
}

/// The signs of several requests that the client of an attempt shows.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::exhaustive_structs, reason = "an adapter fills it in")]
pub struct RedirectSigns<'a> {
    /// `true` if the attempt may be any number of requests.
    pub may_be_several: bool,
    /// `true` if the client may follow redirects itself.
    pub may_follow: bool,
    /// The request's path, if it is known.
    pub path: Option<&'a str>,
    /// The request's URL, and that of the response.
    pub urls: Option<(&'a str, &'a str)>,
}

impl Redirects {
    /// Creates the knowledge of a layer with this setting.
    pub(crate) fn with_mode(mode: RedirectMode) -> Self {
        Self {
            mode,
            ..Self::default()
        }
    }

    /// Returns `true` if the client may follow redirects that nobody marks.
    pub(crate) fn are_unknown(&self) -> bool {
        self.mode == RedirectMode::Nothing || self.disproved.load(Ordering::Relaxed)
    }

    /// Logs, for the first request that is not repeated because nothing is known of its client's redirects, the line to
    /// write.
    pub(crate) fn warn_of_the_missing_setting(&self) {
        if self.mode == RedirectMode::Nothing && !self.has_warned.swap(true, Ordering::Relaxed) {
            let advice = if cfg!(all(target_arch = "wasm32", target_os = "unknown")) {
                "a request that was not processed is not repeated, since the browser may have followed a redirect, and \
                 does not show it: give the request an idempotency key, by `.idempotency_keys()` on the retries, if the \
                 server honours one"
            } else {
                "a request that was not processed is not repeated, since its client may have followed a redirect: make \
                 the client by `http_retry::reqwest::build(reqwest::Client::builder(), Policy::default(), retries)`, \
                 or write `.redirects_off()` on the retries if it follows none"
            };
            warn_of_misuse("redirects", advice);
        }
    }

    /// Compares the URLs of request and response, to notice a redirect that should have been seen.
    pub(crate) fn check(&self, mark: &AttemptMark, urls: Option<(&str, &str)>) {
        let is_checked = self.mode != RedirectMode::Nothing && !mark.is_redirected();
        let urls = urls.filter(|_| is_checked);
        if urls.is_some_and(|(requested, final_url)| sent_part(requested) != sent_part(final_url)) {
            self.disproved.store(true, Ordering::Relaxed);
        }
    }

    /// Judges if an attempt of this layer sent another request before the one that its outcome belongs to. `harmless`
    /// is `true` if the request may be processed twice.
    pub(crate) fn earlier(
        &self,
        (layer, mark): (LayerId, &AttemptMark),
        harmless: bool,
        signs: RedirectSigns<'_>,
    ) -> EarlierRequests {
        self.check(mark, signs.urls);
        let redirects_unknown = match self.mode {
            _ if mark.is_redirected() || mark.has_sent() => return EarlierRequests::Some,
            _ if signs.may_be_several => return EarlierRequests::Unknown { harmless },
            _ if mark.follows_none() || !signs.may_follow => false,
            _ if self.disproved.load(Ordering::Relaxed) => true,
            RedirectMode::Nothing => true,
            RedirectMode::Watched => mark.may_be_redirected_elsewhere(layer, signs.path),
            RedirectMode::Off => false,
        };
        if redirects_unknown {
            EarlierRequests::RedirectsUnknown { harmless }
        } else {
            EarlierRequests::None
        }
    }
}

/// Returns a URL without its user info and fragment, which a client does not send in it.
fn sent_part(url: &str) -> (&str, &str) {
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
    use crate::attempt::mark::follows_no_redirects;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    /// A lock that keeps the redirects of one test out of the others.
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
    fn a_layer_that_repeats_nothing_leaves_the_mark_as_it_is() {
        let [outer, inner] = layers();
        let inside = || AttemptMark::new(false, false).around(inner, is_inside);
        assert!(!inside() && AttemptMark::new(true, true).around(outer, inside));
    }

    #[test]
    fn every_attempt_that_is_polled_sees_a_redirect() {
        let _alone = alone();
        let [outer, inner] = layers();
        let marks = [true, false, true, true].map(|repeats| AttemptMark::new(repeats, repeats));
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
    fn a_redirect_counts_whatever_a_client_tells() {
        let _alone = alone();
        let [outer, inner] = layers();
        let marks = [true; 3].map(|repeats| AttemptMark::new(repeats, repeats));
        let [around, followed, told] = &marks;
        around.around(outer, || {
            followed.around(inner, || {
                follows_redirect(Some("/told"));
                follows_no_redirects();
            });
            told.around(inner, follows_no_redirects);
        });
        let seen = marks.each_ref().map(AttemptMark::is_redirected);
        assert_eq!(seen, [true, true, false]);
        assert!(told.follows_none() && !around.follows_none());
    }

    #[test]
    fn an_unseen_redirect_on_the_same_path_may_be_its_own() {
        let _alone = alone();
        let [layer, other] = layers();
        let follows_in = |by: Option<LayerId>| {
            in_another_task(move || match by {
                None => follows_redirect(Some("/a")),
                Some(by) => {
                    AttemptMark::new(true, true).around(by, || follows_redirect(Some("/a")));
                }
            });
        };
        for (by, may) in [(None, true), (Some(other), true), (Some(layer), false)] {
            let mark = AttemptMark::new(true, true);
            let elsewhere = |path| mark.may_be_redirected_elsewhere(layer, path);
            assert!(!elsewhere(Some("/a")));
            mark.around(layer, || follows_in(by));
            assert!(!mark.is_redirected() && !elsewhere(Some("/b")));
            assert_eq!([elsewhere(Some("/a")), elsewhere(None)], [may; 2], "{by:?}");
        }
    }

    #[test]
    fn a_forgotten_redirect_may_be_any_attempts() {
        let _alone = alone();
        let [layer, _] = layers();
        let mark = AttemptMark::new(true, true);
        let other = AttemptMark::new(true, true);
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
    fn the_sent_part_of_a_url_has_no_user_info_and_no_fragment() {
        for url in [
            "http://h/a@b?c",
            "http://u:p@h/a@b?c",
            "http://u@h/a@b?c#d@e",
        ] {
            assert_eq!(sent_part(url), ("http", "h/a@b?c"));
        }
        assert_ne!(sent_part("http://h/"), sent_part("https://h/"));
    }

    #[test]
    fn a_response_from_another_url_disproves_the_mode_for_good() {
        let redirects = Redirects::with_mode(RedirectMode::Off);
        let mark = AttemptMark::new(true, true);
        let redirected = |requested, final_url| {
            let signs = RedirectSigns {
                may_follow: true,
                urls: Some((requested, final_url)),
                ..RedirectSigns::default()
            };
            redirects.earlier((LayerId::MIN, &mark), false, signs)
        };
        let unknown = EarlierRequests::RedirectsUnknown { harmless: false };
        assert_eq!(
            redirected("http://h/a", "http://h/a"),
            EarlierRequests::None
        );
        assert_eq!(redirected("http://h/a", "http://h/b"), unknown);
        assert_eq!(redirected("http://h/a", "http://h/a"), unknown);
    }
}
