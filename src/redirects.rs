//! Redirects that a client follows by itself, and what they hide.
//!
//! A POST that was answered 303, and whose GET was answered 429, looks like a POST that was answered 429, down to its URL
//! where the redirect leads back to it. So an attempt is known to have followed a redirect, or known not to have, or
//! neither; and then no answer and no error proves that a request was not processed.

use crate::nested::{AttemptMark, LayerId};
use http_retry_core::adapter::Redirected;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a layer knows of the client below it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Redirects {
    told: Told,
    /// An answer came from another URL by a redirect that nobody saw, so the layer was told wrong.
    disproved: Arc<AtomicBool>,
}

/// What a layer was told of the client below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(
    not(feature = "reqwest"),
    expect(dead_code, reason = "no other client follows redirects")
)]
pub(crate) enum Told {
    #[default]
    Nothing,
    /// It follows no redirects.
    Off,
    /// It marks the attempt that follows one.
    Watched,
}

/// What tells of the redirects of one attempt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Watch<'a> {
    pub(crate) redirects: &'a Redirects,
    pub(crate) layer: LayerId,
    pub(crate) mark: &'a AttemptMark,
}

/// An attempt as its client shows it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Trail<'a> {
    /// The client may follow redirects by itself.
    pub(crate) may_follow: bool,
    /// The request's path, where there is one.
    pub(crate) path: Option<&'a str>,
    /// The request's URL, and that of the answer.
    pub(crate) urls: Option<(&'a str, &'a str)>,
}

impl Redirects {
    #[cfg_attr(
        not(any(feature = "reqwest", test)),
        expect(dead_code, reason = "no other client follows redirects")
    )]
    pub(crate) fn told(told: Told) -> Self {
        Self {
            told,
            disproved: Arc::default(),
        }
    }

    /// Looks at the URL of an answer for a redirect that should have been seen.
    pub(crate) fn check(&self, mark: &AttemptMark, urls: Option<(&str, &str)>) {
        let checked = self.told != Told::Nothing && !mark.is_redirected();
        let urls = urls.filter(|_| checked);
        if urls.is_some_and(|(asked, answered)| place(asked) != place(answered)) {
            self.disproved.store(true, Ordering::Relaxed);
        }
    }
}

impl Watch<'_> {
    /// Whether the client has followed a redirect in this attempt of a request that may be processed twice, or must not.
    pub(crate) fn redirected(&self, harmless: bool, trail: Trail<'_>) -> Redirected {
        self.redirects.check(self.mark, trail.urls);
        let unseen = || {
            self.mark
                .may_be_redirected_elsewhere(self.layer, trail.path)
        };
        let unknown = match self.redirects.told {
            _ if self.mark.is_redirected() => return Redirected::Yes,
            _ if !trail.may_follow => false,
            _ if self.redirects.disproved.load(Ordering::Relaxed) => true,
            Told::Nothing => true,
            Told::Watched => unseen(),
            Told::Off => false,
        };
        match unknown {
            true => Redirected::Unknown { harmless },
            false => Redirected::No,
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
        let redirects = Redirects::told(Told::Off);
        let mark = AttemptMark::new(true);
        let watch = Watch {
            redirects: &redirects,
            layer: LayerId::MIN,
            mark: &mark,
        };
        let redirected = |asked, answered| {
            let trail = Trail {
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
