//! The meaning of an error: one walk along its source chain.
//!
//! Clients wrap each other's errors, so the cause is somewhere in the chain, sometimes inside an `std::io::Error`,
//! whose `source()` skips its own payload.

mod io_errors;
mod link;
mod links;
#[cfg_attr(
    any(not(feature = "hyper"), target_family = "wasm"),
    path = "error_chain/no_hyper.rs"
)]
mod of_hyper;
#[cfg_attr(not(feature = "reqwest"), path = "error_chain/no_reqwest.rs")]
mod of_reqwest;
mod reading;

pub(crate) use links::known;
pub(crate) use of_reqwest::{boxed, redirect_signs, without_url};

use super::connection;
use crate::error::{AttemptTimeout, BoxError, IncompleteBody, RequestFailed};
use crate::policy::Verdict;
use crate::{ErrorKind, Outcome, Reach, RetryPolicy};
use http_retry_core::reading::OutcomeExt;
use http_retry_core::settings::PolicyExt;
use io_errors::{while_connected, while_connecting, while_resolving};
use link::Link;
use links::{links, text_of};
use of_reqwest::{ReqwestError, behind_urls, is_of_dns, is_timeout};
use reading::{kind_by_connector, kind_within_body, read};
use std::any::Any;
use std::error::Error;

/// Converts an error to an outcome, if it is [`known`] to be one. `head_alone` is `true` if doing the request twice may do
/// harm, and its head may be all of it.
pub(crate) fn outcome_of(
    policy: &RetryPolicy,
    error: Option<&(dyn Error + 'static)>,
    head_alone: bool,
) -> Outcome<'static> {
    let facts = ChainFacts {
        head_alone,
        ..ChainFacts::default()
    };
    facts.judge(policy, error)
}

/// Converts the error of a response's body to an outcome.
pub(crate) fn outcome_of_body(
    policy: &RetryPolicy,
    error: Option<&(dyn Error + 'static)>,
) -> Outcome<'static> {
    // The body may come from a decoder below, which reports a broken connection as its own error.
    let facts = ChainFacts {
        answered: true,
        decoding: true,
        ..ChainFacts::default()
    };
    // Even "not processed" in a body: the head has arrived, so the request was processed.
    facts.judge(policy, error).after_a_response()
}

/// Returns `true` if an error comes from reqwest, whose client may follow redirects itself.
pub(crate) fn is_of_reqwest(error: Option<&(dyn Error + 'static)>) -> bool {
    redirect_signs(error).may_follow
}

/// Keeps later requests off the connection that an error comes from, if the error shows it.
pub(crate) fn retire_connection(error: Option<&(dyn Error + 'static)>) {
    connection::retire(error.into_iter().flat_map(links));
}

/// Returns a function that converts an error to another type, if that type is a box that can hold it.
pub(crate) fn into_box<F: Into<BoxError> + 'static, E: 'static>() -> Option<fn(F) -> E> {
    // `E` is no known type here: compare the types of whole functions, so that nothing is converted in vain.
    let boxed: fn(F) -> BoxError = F::into;
    let boxed: &dyn Any = &boxed;
    boxed.downcast_ref::<fn(F) -> E>().copied()
}

/// Returns the type name of an error, or of the boxed one if the client's error type is a box. Only I/O errors are
/// named.
pub(crate) fn type_in_box(error: &(dyn Error + 'static)) -> &'static str {
    if error.is::<std::io::Error>() {
        std::any::type_name::<std::io::Error>()
    } else {
        std::any::type_name::<dyn Error>()
    }
}

/// Returns an error for observers: what caused an error of reqwest, whose text has a URL.
pub(crate) fn shown_error<'a>(
    error: Option<&'a (dyn Error + 'static)>,
) -> Option<&'a (dyn Error + 'static)> {
    error.and_then(behind_urls)
}

/// Returns the text of an error along its chain, after its kind, for rules that test it. It is used for nothing else.
pub(crate) fn error_text(error: Option<&(dyn Error + 'static)>, kind: Option<ErrorKind>) -> String {
    const MAX_TEXT_BYTES: usize = 4 * 1024;
    let mut text = kind.map_or_else(String::new, |kind| kind.to_string());
    for link in error.into_iter().flat_map(links) {
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&text_of(link));
        if text.len() > MAX_TEXT_BYTES {
            break;
        }
    }
    text
}

/// Walks along the source chain of an error. The deepest link that says what happened decides the kind; the links
/// before it say how far the request got. The walk ends at the first link behind which another owner's errors are:
/// those of the caller's own body, or of a response that was there before.
pub(crate) fn walk(policy: &RetryPolicy, error: &(dyn Error + 'static)) -> Outcome<'static> {
    ChainFacts::default().judge_chain(policy, error)
}

/// The facts found in a chain so far.
#[derive(Default)]
struct ChainFacts<'a> {
    /// The outermost link that says where the request was.
    place: Option<Place>,
    /// The name of the host was being resolved.
    resolving: bool,
    /// The head of a response had arrived before.
    answered: bool,
    /// The head may be the whole request, which may do harm if it is done twice.
    head_alone: bool,
    /// A decoder of a response's body may have failed, and no inner link blames the source that it reads from.
    decoding: bool,
    /// A decoder has failed, or has rejected its data.
    decode_failed: bool,
    /// The request never left this program.
    unsent: bool,
    /// The connection has not begun to send the request.
    not_begun: bool,
    /// The walk has ended: the rest of the chain is not about the request.
    ended: bool,
    /// The innermost error of reqwest, which states facts about the links behind it, whose types are private.
    reqwest: Option<&'a ReqwestError>,
    outcome: Option<Outcome<'static>>,
}

/// The place at which a request failed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Connecting,
    /// On an established connection.
    Connected,
}

impl<'a> ChainFacts<'a> {
    fn judge(
        self,
        policy: &RetryPolicy,
        error: Option<&'a (dyn Error + 'static)>,
    ) -> Outcome<'static> {
        match error {
            Some(error) => self.judge_chain(policy, error),
            None => Outcome::error(ErrorKind::Other),
        }
    }

    fn judge_chain(
        mut self,
        policy: &RetryPolicy,
        error: &'a (dyn Error + 'static),
    ) -> Outcome<'static> {
        for link in links(error) {
            let is_of_another = self.ended;
            self.add(link);
            // After `add`: a classifier's verdict still needs the facts of the links up to its own.
            if let Some(verdict) = policy.judge(link) {
                return self.judged(verdict, is_of_another);
            }
        }
        let outcome = self.outcome.unwrap_or_else(|| self.fallback());
        self.with_reach(outcome)
    }

    fn add(&mut self, link: &'a (dyn Error + 'static)) {
        // Deeper links are walked only for classifiers.
        if self.ended {
            return;
        }
        self.reqwest = link.downcast_ref().or(self.reqwest);
        match read(link, self.answered) {
            Link::Silent => {
                let kind = self.kind_of_link(link);
                self.outcome = kind.map(Outcome::error).or(self.outcome);
            }
            Link::Connecting => {
                self.is_at(Place::Connecting);
                self.resolving |= self.is_connecting() && self.reqwest.is_some_and(is_of_dns);
            }
            Link::Resolving => self.resolving |= self.is_connecting(),
            Link::Connected => {
                self.is_at(Place::Connected);
                // The decoder only passed on that its source failed.
                (self.decoding, self.decode_failed) = (false, false);
            }
            Link::InBody => self.is_in_body(),
            Link::InBodyOnConnection => {
                self.is_in_body();
                self.is_at(Place::Connected);
            }
            Link::Decoding => {
                self.is_in_body();
                (self.decoding, self.decode_failed) = (true, true);
            }
            Link::Incomplete => {
                self.is_in_body();
                self.outcome = Some(Outcome::error(ErrorKind::Incomplete));
            }
            Link::Unsent => self.unsent = true,
            Link::NotBegun => {
                self.not_begun = true;
                self.outcome = Some(Outcome::error(self.refined(ErrorKind::NotProcessed)));
            }
            Link::Status(status) => self.ends_with(Outcome::error_of_status(status)),
            Link::End(kind) => self.ends_with(Outcome::error(self.refined(kind))),
            // A decoder that rejects its data complains on its own account, not the connection's.
            Link::Kind(ErrorKind::Protocol | ErrorKind::Certificate) if self.decoding => {
                self.decode_failed = true;
            }
            Link::Kind(kind) => self.outcome = Some(Outcome::error(self.refined(kind))),
            Link::GoAway(kind, class) => {
                // hyper reports it also for a request that it has just begun to send, whose stream the server may
                // have accepted: nothing but the end of a body that never came then shows that it is not whole.
                let (kind, reach) = match kind {
                    ErrorKind::NotProcessed if self.head_alone => {
                        (ErrorKind::Http2, Reach::Ambiguous)
                    }
                    kind => (kind, Reach::Refused),
                };
                self.outcome = Some(Outcome::error(self.refined(kind)).with(class, reach));
            }
            Link::Judged(kind, class, reach) => {
                self.outcome = Some(Outcome::error(kind).with(class, reach));
            }
        }
    }

    /// Records a place, unless an outer link has told one: a connection may itself be made by requests.
    fn is_at(&mut self, place: Place) {
        self.place.get_or_insert(place);
    }

    fn is_connecting(&self) -> bool {
        self.place == Some(Place::Connecting)
    }

    fn is_in_body(&mut self) {
        // A connector may read a response of its own.
        self.answered |= !self.is_connecting();
        (self.decoding, self.decode_failed) = (false, false);
    }

    fn ends_with(&mut self, outcome: Outcome<'static>) {
        self.ended = true;
        self.outcome = Some(outcome);
    }

    fn refined(&self, kind: ErrorKind) -> ErrorKind {
        match self.place {
            _ if self.resolving => while_resolving(kind),
            Some(Place::Connecting) => while_connecting(kind),
            Some(Place::Connected) => while_connected(kind),
            None => kind,
        }
    }

    fn kind_of_link(&self, link: &(dyn Error + 'static)) -> Option<ErrorKind> {
        // reqwest's timeout is the last link of its chain.
        if link.source().is_none() && self.reqwest.is_some_and(is_timeout) {
            return Some(self.refined(ErrorKind::Timeout));
        }
        match (self.place, self.answered) {
            (Some(Place::Connecting), _) => kind_by_connector(link),
            (_, true) if !self.decoding => kind_within_body(link),
            _ => None,
        }
    }

    fn fallback(&self) -> Outcome<'static> {
        Outcome::error(if self.decode_failed {
            ErrorKind::Decode
        } else {
            self.refined(ErrorKind::Other)
        })
    }

    /// Returns a classifier's verdict on a link, which may be an error of another request: that of a source of the
    /// caller's own body, say.
    fn judged(&self, verdict: Verdict, is_of_another: bool) -> Outcome<'static> {
        let outcome = Outcome::error(ErrorKind::Other).judged(verdict);
        if self.answered {
            outcome.after_a_response()
        } else if self.unsent {
            outcome.with(outcome.class(), Reach::Unsent)
        } else if is_of_another && !self.is_connecting() && outcome.reach().is_unprocessed() {
            outcome.with(outcome.class(), Reach::Ambiguous)
        } else {
            outcome
        }
    }

    /// Adds how far the request got, if the point of failure shows it.
    fn with_reach(&self, outcome: Outcome<'static>) -> Outcome<'static> {
        let class = outcome.class();
        if self.answered {
            outcome.after_a_response()
        } else if self.unsent || self.is_connecting() {
            outcome.with(class, Reach::Unsent)
        } else if self.not_begun && !outcome.reach().is_unprocessed() {
            outcome.with(class, Reach::Refused)
        } else {
            outcome
        }
    }
}

impl AttemptTimeout {
    /// Returns `true` if an error is or carries an attempt timeout, anywhere in its source chain and inside
    /// `reqwest_middleware::Error::Middleware`.
    #[must_use]
    pub fn is(error: &(dyn Error + 'static)) -> bool {
        links(error).any(<dyn Error>::is::<Self>)
    }
}

impl IncompleteBody {
    /// Returns the early end that an error is or carries, anywhere in its source chain and inside an I/O error.
    #[must_use]
    pub fn of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Self> {
        links(error).find_map(<dyn Error>::downcast_ref::<Self>)
    }
}

impl RequestFailed {
    /// Returns the failure that an error is or carries, anywhere in its source chain and inside
    /// `reqwest_middleware::Error::Middleware`.
    #[must_use]
    pub fn of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Self> {
        links(error).find_map(<dyn Error>::downcast_ref::<Self>)
    }
}

#[cfg(test)]
mod tests;
