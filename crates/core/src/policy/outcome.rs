//! What one attempt produced.

use super::classify::{Class, ErrorKind, Reach, standard_status};
use super::decision::StopReason;
use super::reason::Reason;
use super::request_facts::RequestLine;
use super::scope::Scope;
use super::verdict::{RowId, Verdict};
use crate::error_body::ErrorBody;
use crate::policy::rules::{lines as lines_of, parts as parts_of};
use crate::policy::whole_answers::media_type;
use crate::server_hints::{HeaderSet, Quota, ServerHints, is_invitation, time_of};
use http::{HeaderMap, HeaderName, StatusCode};
use std::fmt;
use std::time::Duration;

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
    what: OutcomeKind<'a>,
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
enum OutcomeKind<'a> {
    Done,
    Response(StatusCode, &'a HeaderMap),
    Error(ErrorKind),
    /// An error that was made of an answer with this status, whose headers are gone.
    Status(StatusCode),
}

impl<'a> Outcome<'a> {
    fn new(what: OutcomeKind<'a>, (class, reach): (Class, Reach)) -> Self {
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
        Self::new(OutcomeKind::Done, (Class::Success, Reach::Answered))
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
        Self::new(OutcomeKind::Response(status, headers), by_status)
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
        Self::new(OutcomeKind::Error(kind), kind.standard())
    }

    /// An error that was made of an answer, classified by that answer's status.
    #[must_use]
    #[inline]
    pub fn error_of_status(status: StatusCode) -> Self {
        Self::new(
            OutcomeKind::Status(status),
            standard_status(status, || false),
        )
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
    pub fn for_request(self, request: Option<&'a RequestLine>) -> Self {
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
            OutcomeKind::Done => &mut shown,
            OutcomeKind::Response(status, _) => shown.field("status", &status),
            OutcomeKind::Status(status) => shown.field("status_error", &status),
            OutcomeKind::Error(kind) => shown.field("error_kind", &kind),
        };
        shown
            .field("class", &self.verdict.class)
            .field("reach", &self.verdict.reach)
            .finish_non_exhaustive()
    }
}

impl<'a> Outcome<'a> {
    /// Whether a classifier or a dialect says when to come back.
    pub(in crate::policy) fn names_delay(&self) -> bool {
        let Verdict {
            asked,
            until,
            at_least,
            ..
        } = self.verdict;
        asked.or(until).or(at_least).is_some()
    }

    /// The shortest wait, whatever the server asks for, if a classifier or a dialect names one
    /// ([`Verdict::at_least`](crate::policy::Verdict::at_least)).
    #[must_use]
    pub fn at_least(&self) -> Option<Duration> {
        self.verdict.at_least
    }

    /// The same outcome, with what its head says, so that nobody reads that again.
    #[must_use]
    pub fn with_hints(self, hints: &'a ServerHints) -> Self {
        Self {
            hints: Some(hints),
            ..self
        }
    }

    /// What the response's head says about coming back, success or not; `wall` is the time since 1970-01-01T00:00:00Z, from
    /// which a date counts if the response has no valid `date`. Empty without a response.
    #[must_use]
    pub fn server_hints(&self, wall: Duration) -> ServerHints {
        match (self.hints, self.what) {
            (Some(hints), _) => *hints,
            (None, OutcomeKind::Response(status, headers)) => {
                ServerHints::read(status, headers, wall)
            }
            (None, OutcomeKind::Done | OutcomeKind::Error(_) | OutcomeKind::Status(_)) => {
                ServerHints::default()
            }
        }
    }

    /// The delay that the server asks for: by a header that says when to come back, else by what a classifier or a dialect read
    /// of the body, else by the reset of a spent quota. `None` on a success, and where nothing that can be read asks for one.
    /// `wall` is as for [`Outcome::server_hints`], which also tells the headers that cannot be read.
    ///
    /// ```
    /// use http::{HeaderMap, HeaderValue, StatusCode};
    /// use http_retry::Outcome;
    /// use std::time::Duration;
    ///
    /// let headers = HeaderMap::from_iter([(http::header::RETRY_AFTER, HeaderValue::from_static("20"))]);
    /// let delay = |status| Outcome::response(status, &headers).server_delay(Duration::ZERO);
    /// assert_eq!(delay(StatusCode::TOO_MANY_REQUESTS), Some(Duration::from_secs(20)));
    /// assert_eq!(delay(StatusCode::OK), None);
    /// ```
    #[must_use]
    pub fn server_delay(&self, wall: Duration) -> Option<Duration> {
        let named = self.named_delay(wall);
        let ignores_resets = self.verdict.ignores_resets;
        let of_head = self.of_failed_head(wall, |hints| {
            let reset = hints.reset().filter(|_| !ignores_resets);
            hints.asked().or(named).or(reset)
        });
        of_head.unwrap_or(named)
    }

    fn of_failed_head<T>(&self, wall: Duration, read: impl FnOnce(&ServerHints) -> T) -> Option<T> {
        match (self.what, self.hints) {
            _ if self.class() == Class::Success => None,
            (OutcomeKind::Response(..), Some(hints)) => Some(read(hints)),
            (OutcomeKind::Response(status, headers), None) => {
                Some(read(&ServerHints::read(status, headers, wall)))
            }
            (OutcomeKind::Done | OutcomeKind::Error(_) | OutcomeKind::Status(_), _) => None,
        }
    }

    /// What a classifier or a dialect says that the server asks for; what is past is no wish.
    fn named_delay(&self, wall: Duration) -> Option<Duration> {
        let until = self.verdict.until.and_then(|until| {
            let now = self.headers().map_or(wall, |head| time_of(head, wall));
            until.checked_sub(now)
        });
        self.verdict.asked.max(until)
    }

    /// What is left of the server's quota, success or not; on a refusal it is back no later than the call may be.
    #[must_use]
    pub fn quota(&self, wall: Duration) -> Option<Quota> {
        let (status, quota) = (self.status()?, self.server_hints(wall).quota()?);
        let by_head = self.server_hints(wall).asked();
        Some(quota.after(status, by_head.or(self.named_delay(wall))))
    }

    /// Which headers of a failure ask for something that cannot be read.
    pub(crate) fn unreadable(&self, wall: Duration) -> HeaderSet {
        match self.class() {
            Class::Success => HeaderSet::default(),
            _ => self.server_hints(wall).unreadable,
        }
    }
}

impl<'a> Outcome<'a> {
    /// The same outcome after redirects, if there were any; who judges it later does not take that back.
    #[must_use]
    pub fn redirected(self, redirected: Redirected) -> Self {
        Self { redirected, ..self }
    }

    /// Whether the server may have processed the request, in the view of a server that has not.
    pub(in crate::policy) fn is_in_doubt(&self) -> bool {
        self.answered || self.redirected != Redirected::No || !self.verdict.reach.is_unprocessed()
    }

    /// Why a request is not sent again that may have been processed.
    pub(in crate::policy) fn doubt_reason(&self) -> StopReason {
        match self.redirected {
            Redirected::Unknown { .. } if self.verdict.reach.is_unprocessed() => {
                StopReason::RedirectsUnknown
            }
            _ => StopReason::NotIdempotent,
        }
    }

    /// The same outcome of an attempt that was answered before it failed; who judges it later does not take that back.
    #[must_use]
    pub fn after_an_answer(self) -> Self {
        let answered = self.with(self.verdict.class, Reach::Answered);
        Self {
            answered: true,
            ..answered
        }
    }

    /// How far the attempt got. The outcome of a later request, after a redirect, only shows that the first one was
    /// answered, so [`Reach::Unsent`] and [`Reach::Refused`] count as [`Reach::Answered`] then, or as
    /// [`Reach::Ambiguous`] for an error.
    #[must_use]
    pub fn reach(&self) -> Reach {
        let known = [Redirected::No, Redirected::Unknown { harmless: true }];
        let reach = self.verdict.reach;
        match self.what {
            _ if !reach.is_unprocessed() => reach,
            _ if self.answered => Reach::Answered,
            _ if known.contains(&self.redirected) => reach,
            OutcomeKind::Error(_) => Reach::Ambiguous,
            OutcomeKind::Done | OutcomeKind::Response(..) | OutcomeKind::Status(_) => {
                Reach::Answered
            }
        }
    }
}

impl<'a> Outcome<'a> {
    /// The response's status, if there was a response or the error was made from one; `None` for other errors and for
    /// [`Outcome::success`].
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        match self.what {
            OutcomeKind::Response(status, _) | OutcomeKind::Status(status) => Some(status),
            OutcomeKind::Done | OutcomeKind::Error(_) => None,
        }
    }

    /// The response's headers, if there was a response. An error that was made from a response has lost them.
    #[must_use]
    pub fn headers(&self) -> Option<&'a HeaderMap> {
        match self.what {
            OutcomeKind::Response(_, headers) => Some(headers),
            OutcomeKind::Done | OutcomeKind::Error(_) | OutcomeKind::Status(_) => None,
        }
    }

    /// The values of a response header, or of one part of it by its name: `left` of `used=3, left=2`, divided at `,`, `;`
    /// and `&`. Of the header the first 8 lines count, each of at most 1,024 bytes.
    ///
    /// ```
    /// use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
    /// use http_retry::Outcome;
    ///
    /// let limit = HeaderName::from_static("x-limit");
    /// let headers = HeaderMap::from_iter([(limit.clone(), HeaderValue::from_static("used=3, left=2"))]);
    /// let response = Outcome::response(StatusCode::OK, &headers);
    /// assert!(response.header_values(&limit, Some("left")).eq(["2"]));
    /// ```
    pub fn header_values(
        &self,
        name: &HeaderName,
        part: Option<&str>,
    ) -> impl Iterator<Item = &'a str> {
        let lines = self.headers().into_iter();
        let lines = lines.flat_map(move |headers| lines_of(headers, name));
        lines.flat_map(move |line| match part {
            Some(part) => parts_of(line, part).collect::<Vec<_>>(),
            None => vec![line],
        })
    }

    /// The media type of a response, in the case that it has and without its parameters.
    ///
    /// ```
    /// use http::{HeaderMap, HeaderValue, StatusCode, header};
    /// use http_retry::Outcome;
    ///
    /// let json = HeaderValue::from_static("application/json; charset=utf-8");
    /// let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, json)]);
    /// let response = Outcome::response(StatusCode::OK, &headers);
    /// assert_eq!(response.media_type(), Some("application/json"));
    /// ```
    #[must_use]
    pub fn media_type(&self) -> Option<&'a str> {
        std::str::from_utf8(media_type(self.headers()?)?).ok()
    }

    /// The kind of the error, if there was one without a status.
    ///
    /// ```
    /// use http_retry::{ErrorKind, Outcome};
    ///
    /// let outcome = Outcome::error(ErrorKind::ConnectTimeout);
    /// assert_eq!((outcome.error_kind(), outcome.status()), (Some(ErrorKind::ConnectTimeout), None));
    /// ```
    #[must_use]
    pub fn error_kind(&self) -> Option<ErrorKind> {
        match self.what {
            OutcomeKind::Error(kind) => Some(kind),
            OutcomeKind::Done | OutcomeKind::Response(..) | OutcomeKind::Status(_) => None,
        }
    }

    /// Whether there is nothing to hand over but an error.
    pub(in crate::policy) fn is_error(&self) -> bool {
        matches!(self.what, OutcomeKind::Error(_) | OutcomeKind::Status(_))
    }

    /// Whether the attempt ran into a time limit of the caller: an error that says so, or a stream whose head was a success
    /// and whose output did not come.
    pub(crate) fn ran_out_of_time(&self) -> bool {
        let begun = self.status().is_some_and(|status| status.is_success());
        let silent = begun && self.reason() == Some(Reason::Timeout);
        silent || self.error_kind().is_some_and(ErrorKind::is_timeout)
    }

    /// The same outcome without what it borrows, while its head is elsewhere.
    #[must_use]
    pub fn without_head(self) -> Outcome<'static> {
        Outcome {
            what: match self.what {
                OutcomeKind::Done | OutcomeKind::Response(..) => OutcomeKind::Done,
                OutcomeKind::Error(kind) => OutcomeKind::Error(kind),
                OutcomeKind::Status(status) => OutcomeKind::Status(status),
            },
            body: None,
            hints: None,
            request: None,
            ..self
        }
    }

    /// The same outcome with its head back, if it had one.
    #[must_use]
    pub fn with_head(self, head: Option<(StatusCode, &'a HeaderMap)>) -> Self {
        let what = match (self.what, head) {
            (OutcomeKind::Done, Some((status, headers))) => OutcomeKind::Response(status, headers),
            // An answer that broke after its head is an error.
            (what, _) => what,
        };
        Self { what, ..self }
    }
}

#[cfg(test)]
mod tests;
