//! What one attempt produced.

mod coming_back;
mod doubt;
mod head;

use super::classify::{Class, ErrorKind, Reach, standard_status};
use super::reason::Reason;
use super::request_line::RequestLine;
use super::scope::Scope;
use super::stop_reason::StopReason;
use super::verdict::{RowId, Verdict};
use crate::error_body::ErrorBody;
use crate::server_hints::{ServerHints, is_invitation};
use http::{HeaderMap, StatusCode};
use std::fmt;

/// What one attempt produced: a response head, an error, or a plain success.
///
/// It carries its [`Class`] and [`Reach`] by the standard tables ([`Class`] has that of statuses, [`ErrorKind`] that of
/// errors); a policy's own classifier ([`RetryPolicy::classify`](crate::RetryPolicy::classify)), or [`Outcome::with`], replaces
/// them. Adapters make outcomes; make one yourself to drive a [`RetrySession`](super::RetrySession), or to test a classifier
/// or a dialect.
///
/// It borrows what it looks at and is cheap to copy. `Debug` shows neither headers nor a body.
///
/// ```
/// use http::{HeaderMap, StatusCode};
/// use http_retry::{Class, Outcome, Reach};
///
/// let headers = HeaderMap::new();
/// let outcome = Outcome::response(StatusCode::BAD_GATEWAY, &headers);
/// assert_eq!((outcome.class(), outcome.reach()), (Class::Transient, Reach::Answered));
/// ```
#[derive(Clone, Copy)]
pub struct Outcome<'a> {
    what: What<'a>,
    /// What it means, and what else was found.
    verdict: Verdict,
    /// What was read of it beyond its head.
    body: Option<&'a ErrorBody>,
    /// The server had answered before the attempt failed, whatever is said of the failure.
    answered: bool,
    /// What the response's head says, where it has been read.
    hints: Option<&'a ServerHints>,
    redirected: Redirected,
    /// The request that it is about, where that is known.
    request: Option<&'a RequestLine>,
}

/// Whether the client has followed a redirect before it had this outcome, which then is that of a later request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "an adapter must know each")]
pub enum Redirected {
    /// The attempt followed none.
    No,
    /// It followed one.
    Yes,
    /// Nobody knows, and where processing the request twice is harmless nobody need, but a server that has not seen it.
    Unknown {
        /// Processing the request twice is harmless.
        harmless: bool,
    },
}

#[derive(Clone, Copy)]
enum What<'a> {
    Done,
    Response(StatusCode, &'a HeaderMap),
    Error(ErrorKind),
    /// An error that was made of an answer with this status, whose headers are gone.
    Status(StatusCode),
}

impl<'a> Outcome<'a> {
    fn new(what: What<'a>, (class, reach): (Class, Reach)) -> Self {
        Self {
            what,
            verdict: Verdict::new(class, reach),
            body: None,
            answered: false,
            hints: None,
            redirected: Redirected::No,
            request: None,
        }
    }

    /// A success without a response head, as of an operation that is not HTTP.
    ///
    /// ```
    /// use http_retry::{Class, Outcome};
    ///
    /// assert_eq!(Outcome::success().class(), Class::Success);
    /// ```
    #[must_use]
    #[inline]
    pub fn success() -> Self {
        Self::new(What::Done, (Class::Success, Reach::Answered))
    }

    /// A response head, classified by the standard status table ([`Class`] has it). Of the headers only those count that name
    /// a time to come back: with one that can be read, a 413 or 503 is throttled.
    ///
    /// ```
    /// use http::{HeaderMap, HeaderValue, StatusCode};
    /// use http_retry::{Class, Outcome, Reach};
    ///
    /// let headers = HeaderMap::from_iter([(http::header::RETRY_AFTER, HeaderValue::from_static("20"))]);
    /// let busy = Outcome::response(StatusCode::SERVICE_UNAVAILABLE, &headers);
    /// assert_eq!((busy.class(), busy.reach()), (Class::Throttled, Reach::Answered));
    /// ```
    #[must_use]
    pub fn response(status: StatusCode, headers: &'a HeaderMap) -> Self {
        let by_status = standard_status(status, || is_invitation(headers));
        Self::new(What::Response(status, headers), by_status)
    }

    /// An error of a kind, classified by the standard error table ([`ErrorKind`] has it).
    ///
    /// ```
    /// use http_retry::{Class, ErrorKind, Outcome, Reach};
    ///
    /// let lost = Outcome::error(ErrorKind::Reset);
    /// assert_eq!((lost.class(), lost.reach()), (Class::Transient, Reach::Ambiguous));
    /// ```
    #[must_use]
    #[inline]
    pub fn error(kind: ErrorKind) -> Self {
        Self::new(What::Error(kind), kind.standard())
    }

    /// An error that was made of an answer, classified by that answer's status.
    #[must_use]
    #[inline]
    pub fn error_of_status(status: StatusCode) -> Self {
        Self::new(What::Status(status), standard_status(status, || false))
    }

    /// The same outcome under another class and reach; what else a classifier found stays.
    ///
    /// ```
    /// use http_retry::{Class, ErrorKind, Outcome, Reach};
    ///
    /// let outcome = Outcome::error(ErrorKind::Other).with(Class::Transient, Reach::Refused);
    /// assert!(outcome.reach().is_unprocessed());
    /// ```
    #[must_use]
    pub fn with(self, class: Class, reach: Reach) -> Self {
        let verdict = Verdict {
            class,
            reach,
            ..self.verdict
        };
        Self { verdict, ..self }
    }

    /// The same outcome as a classifier sees it.
    #[must_use]
    #[inline]
    pub fn judged(self, verdict: Verdict) -> Self {
        Self { verdict, ..self }
    }

    /// The same outcome of this request, for classifiers and dialects that look at the method or the path.
    #[must_use]
    pub fn of_request(self, request: &'a RequestLine) -> Self {
        Self {
            request: Some(request),
            ..self
        }
    }

    /// The same outcome, of this request where one is kept.
    #[must_use]
    pub fn about(self, request: Option<&'a RequestLine>) -> Self {
        match request {
            Some(request) => self.of_request(request),
            None => self,
        }
    }

    /// The request that it is about; none for an operation, and where the request is not kept since nothing can follow
    /// it.
    #[must_use]
    #[inline]
    pub fn request(&self) -> Option<&'a RequestLine> {
        self.request
    }

    /// Whom a limit stops, if a classifier or a dialect says so; `None` counts as [`Scope::Account`].
    #[must_use]
    #[inline]
    pub fn scope(&self) -> Option<Scope> {
        self.verdict.scope
    }

    /// The row of a table that judged it.
    pub(crate) fn row(&self) -> Option<RowId> {
        self.verdict.row
    }

    /// Why it has its class, if a classifier or a dialect says so. The standard tables give no reasons.
    #[must_use]
    #[inline]
    pub fn reason(&self) -> Option<Reason> {
        self.verdict.reason
    }

    /// The same outcome after a retry was refused: a wait that is longer than allowed says more than why the server asks
    /// for one. Nothing changes where no classifier gives reasons.
    #[must_use]
    pub fn refused(self, why: StopReason) -> Self {
        let mut refused = self;
        if why == StopReason::ServerDelayTooLong && self.verdict.reason.is_some() {
            refused.verdict.reason = Some(Reason::ServerDelayExceedsCap);
        }
        refused
    }

    /// The same outcome, with what was read of its body.
    ///
    /// ```
    /// use http::{HeaderMap, StatusCode};
    /// use http_retry::Outcome;
    /// use http_retry::policy::ErrorBody;
    ///
    /// let headers = HeaderMap::new();
    /// let body = ErrorBody::read(b"the record is locked");
    /// let outcome = Outcome::response(StatusCode::CONFLICT, &headers).with_body(&body);
    /// assert!(outcome.body().is_some_and(|body| body.text().contains("locked")));
    /// ```
    #[must_use]
    pub fn with_body(self, body: &'a ErrorBody) -> Self {
        Self {
            body: Some(body),
            ..self
        }
    }

    /// The start of the answer's body, as far as it was read: for a classifier once [`Classify::reads_body`] said yes,
    /// and where a rule or a table needs it.
    ///
    /// [`Classify::reads_body`]: crate::policy::Classify::reads_body
    #[must_use]
    #[inline]
    pub fn body(&self) -> Option<&'a ErrorBody> {
        self.body
    }

    /// What the outcome means for a retry.
    #[must_use]
    #[inline]
    pub fn class(&self) -> Class {
        self.verdict.class
    }
}

/// Of a response's head only the status: headers hold secrets.
impl fmt::Debug for Outcome<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Outcome");
        match self.what {
            What::Done => &mut shown,
            What::Response(status, _) => shown.field("status", &status),
            What::Status(status) => shown.field("status_error", &status),
            What::Error(kind) => shown.field("error_kind", &kind),
        };
        shown
            .field("class", &self.verdict.class)
            .field("reach", &self.verdict.reach)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
