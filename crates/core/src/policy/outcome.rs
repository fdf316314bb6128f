//! The outcome of one attempt.

pub(crate) mod earlier;
pub(crate) mod ext;
mod header_lines;
mod hints;

use super::classify::{Class, ErrorKind, MISDIRECTED, Reach, is_standard_success, standard_status};
use super::decision::StopReason;
use super::reason::Reason;
use super::verdict::{RowId, Verdict};
use crate::error_body::ErrorBody;
use crate::policy::bodies::media_type;
use crate::request_head::RequestHead;
use crate::server_hints::{ServerHints, is_invitation};
use earlier::EarlierRequests;
use header_lines::{lines, parts, values};
use http::{HeaderMap, HeaderName, StatusCode};
use std::fmt;

/// The outcome of one attempt: a response head, an error, or a plain success.
///
/// It carries its [`Class`] and [`Reach`] by the standard tables (see [`Class`] for statuses, [`ErrorKind`] for
/// errors); a policy's own classifier ([`RetryPolicy::classify`](crate::RetryPolicy::classify)), or [`Outcome::with`],
/// replaces them. Adapters create outcomes; create one yourself to drive a [`RetrySession`](super::RetrySession), or to
/// test a classifier or a dialect.
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
    kind: OutcomeKind<'a>,
    /// The class and reach, and what else a classifier found.
    verdict: Verdict,
    /// The start of the body, or the error's text, if it has been read.
    body: Option<&'a ErrorBody>,
    /// Set if the server had responded before the attempt failed, whatever a verdict says of the failure.
    answered: bool,
    /// Set for a 421 that came over a connection which the next attempt can avoid.
    misdirected: bool,
    /// The hints in the response's head, if they have been read.
    hints: Option<&'a ServerHints>,
    earlier: EarlierRequests,
    /// The request that the outcome belongs to, if it is known.
    request: Option<&'a RequestHead<'a>>,
}

#[derive(Clone, Copy)]
enum OutcomeKind<'a> {
    Done,
    Response(StatusCode, &'a HeaderMap),
    Error(ErrorKind),
    /// An error that was made from a response with this status, whose headers are gone.
    Status(StatusCode),
}

impl<'a> Outcome<'a> {
    fn new(kind: OutcomeKind<'a>, (class, reach): (Class, Reach)) -> Self {
        Self {
            kind,
            verdict: Verdict::new(class, reach),
            body: None,
            answered: false,
            misdirected: false,
            hints: None,
            earlier: EarlierRequests::None,
            request: None,
        }
    }

    /// Creates a success without a response head, as for an operation that is not HTTP.
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

    /// Creates the outcome of a response head, classified by the standard status table (see [`Class`]). The only
    /// headers that count are those that name a time to come back: with one that can be read, a 413 or 503 is
    /// throttled.
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

    /// Creates the outcome of an error, classified by the standard error table (see [`ErrorKind`]).
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

    /// Creates the outcome of an error that was made from a response, classified by the response's status.
    #[must_use]
    #[inline]
    pub fn error_of_status(status: StatusCode) -> Self {
        Self::new(
            OutcomeKind::Status(status),
            standard_status(status, || false),
        )
    }

    /// Returns this outcome with another class and reach; what else a classifier found stays.
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

    /// Returns this outcome with its request, for classifiers and dialects that look at the method or the path.
    #[must_use]
    pub fn of_request(self, request: &'a RequestHead<'a>) -> Self {
        Self {
            request: Some(request),
            ..self
        }
    }

    /// Returns this outcome with its request, if the request is kept.
    #[must_use]
    pub(crate) fn for_request(self, request: Option<&'a RequestHead<'a>>) -> Self {
        match request {
            Some(request) => self.of_request(request),
            None => self,
        }
    }

    /// Returns the request that the outcome belongs to. `None` for an operation, and if the request is not kept because
    /// nothing can follow it.
    #[must_use]
    #[inline]
    pub fn request(&self) -> Option<&'a RequestHead<'a>> {
        self.request
    }

    /// Returns the verdict on the outcome: that of a classifier or a dialect, or by the standard tables, which give class
    /// and reach alone. [`Outcome::reach`] takes earlier requests of the attempt into account, and this does not.
    #[must_use]
    #[inline]
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// Returns the table row that judged the outcome.
    pub(crate) fn row(&self) -> Option<RowId> {
        self.verdict.row
    }

    /// Returns this outcome after a retry was refused: if the server asks for a longer wait than allowed, that replaces
    /// the reason that a classifier gave. Nothing changes without such a reason.
    #[must_use]
    pub(crate) fn refused(self, why: StopReason) -> Self {
        let mut refused = self;
        if why == StopReason::ServerDelayTooLong && self.verdict.reason.is_some() {
            refused.verdict.reason = Some(Reason::ServerDelayExceedsCap);
        }
        refused
    }

    /// Returns this outcome with the part of its body that was read.
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

    /// Returns the start of the response's body, if it was read: for a classifier after [`Classify::reads_body`]
    /// returned `true`, or because a rule or a table needs it.
    ///
    /// [`Classify::reads_body`]: crate::policy::Classify::reads_body
    #[must_use]
    #[inline]
    pub fn body(&self) -> Option<&'a ErrorBody> {
        self.body
    }

    /// Returns the class: the meaning of the outcome for a retry.
    #[must_use]
    #[inline]
    pub fn class(&self) -> Class {
        self.verdict.class
    }
}

/// Omits the headers of a response, which hold secrets.
impl fmt::Debug for Outcome<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut output = f.debug_struct("Outcome");
        match self.kind {
            OutcomeKind::Done => &mut output,
            OutcomeKind::Response(status, _) => output.field("status", &status),
            OutcomeKind::Status(status) => output.field("status_error", &status),
            OutcomeKind::Error(kind) => output.field("error_kind", &kind),
        };
        output
            .field("class", &self.verdict.class)
            .field("reach", &self.verdict.reach)
            .finish_non_exhaustive()
    }
}

impl<'a> Outcome<'a> {
    /// Returns this outcome with the requests before its own, if there were any; later verdicts do not change that.
    #[must_use]
    pub(crate) fn after_others(self, earlier: EarlierRequests) -> Self {
        Self { earlier, ..self }
    }

    /// Returns `true` if the server may have processed the request, as seen by a server that has not.
    pub(in crate::policy) fn is_in_doubt(&self) -> bool {
        // Stricter than `reach()`: requests that are unknown but harmless here still matter to another server.
        let are_others = self.earlier != EarlierRequests::None;
        self.answered || are_others || !self.verdict.reach.is_unprocessed()
    }

    /// Returns the reason for not repeating a request that may have been processed.
    pub(in crate::policy) fn doubt_reason(&self) -> StopReason {
        if !self.verdict.reach.is_unprocessed() {
            return StopReason::NotIdempotent;
        }
        match self.earlier {
            EarlierRequests::RedirectsUnknown { .. } => StopReason::RedirectsUnknown,
            EarlierRequests::Unknown { .. } => StopReason::RequestsUnknown,
            EarlierRequests::None | EarlierRequests::Some => StopReason::NotIdempotent,
        }
    }

    /// Returns this outcome of an attempt whose connection the next one can avoid. It matters to a 421: the session
    /// repeats that once, for any method, and the adapter then leaves the connection
    /// ([`is_misdirected`](Self::is_misdirected)).
    #[must_use]
    pub(crate) fn on_changeable_connection(self) -> Self {
        let misdirected = self.status() == Some(StatusCode::MISDIRECTED_REQUEST);
        Self {
            misdirected,
            ..self
        }
    }

    /// Returns `true` for a 421 after [`on_changeable_connection`](Self::on_changeable_connection): a retry must not use
    /// the same connection.
    #[must_use]
    pub(crate) fn is_misdirected(&self) -> bool {
        self.misdirected
    }

    /// Returns this outcome, by the entry for a 421 that is repeated on another connection.
    pub(in crate::policy) fn on_another_connection(self) -> Self {
        let (class, reach) = MISDIRECTED;
        self.with(class, reach)
    }

    /// Returns how far the attempt got. If it sent several requests, by a redirect or for a layer below, the outcome of
    /// the last one proves nothing of the others, so [`Reach::Unsent`] and [`Reach::Refused`] then count as
    /// [`Reach::Answered`], or as [`Reach::Ambiguous`] for an error.
    #[must_use]
    pub fn reach(&self) -> Reach {
        let reach = self.verdict.reach;
        // Other requests and a response head only take away the proof that nothing was processed; they never add it.
        match self.kind {
            _ if !reach.is_unprocessed() => reach,
            _ if self.answered => Reach::Answered,
            _ if self.earlier.are_harmless() => reach,
            OutcomeKind::Error(_) => Reach::Ambiguous,
            OutcomeKind::Done | OutcomeKind::Response(..) | OutcomeKind::Status(_) => {
                Reach::Answered
            }
        }
    }
}

impl<'a> Outcome<'a> {
    /// Returns the response's status, if there was a response or the error was made from one. `None` for other errors
    /// and for [`Outcome::success`].
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        match self.kind {
            OutcomeKind::Response(status, _) | OutcomeKind::Status(status) => Some(status),
            OutcomeKind::Done | OutcomeKind::Error(_) => None,
        }
    }

    /// Returns the response's headers, if there was a response. An error that was made from a response has lost them.
    #[must_use]
    pub fn headers(&self) -> Option<&'a HeaderMap> {
        match self.kind {
            OutcomeKind::Response(_, headers) => Some(headers),
            OutcomeKind::Done | OutcomeKind::Error(_) | OutcomeKind::Status(_) => None,
        }
    }

    /// Returns the values of a response header, or of one part of it by name: `left` in `used=3, left=2`, split at `,`,
    /// `;` and `&`. The values of a line with a list are its elements, and then the line itself. The first 8 lines of
    /// the header count, each of at most 1,024 bytes.
    ///
    /// ```
    /// use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
    /// use http_retry::Outcome;
    ///
    /// let limit = HeaderName::from_static("x-limit");
    /// let headers = HeaderMap::from_iter([(limit.clone(), HeaderValue::from_static("used=3, left=2"))]);
    /// let response = Outcome::response(StatusCode::OK, &headers);
    /// assert!(response.header_values(&limit, Some("left")).eq(["2"]));
    /// assert!(response.header_values(&limit, None).eq(["used=3", "left=2", "used=3, left=2"]));
    /// ```
    pub fn header_values(
        &self,
        name: &HeaderName,
        part: Option<&str>,
    ) -> impl Iterator<Item = &'a str> {
        let headers = self.headers().into_iter();
        // Lists, since the arms of a `match` must have one type.
        headers.flat_map(move |headers| match part {
            Some(part) => {
                let lines = lines(headers, name);
                lines.flat_map(|line| parts(line, part)).collect::<Vec<_>>()
            }
            None => values(headers, name).collect(),
        })
    }

    /// Returns the media type of a response, in its original case and without its parameters.
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

    /// Returns the kind of the error, or `None` if there was none or it has a status.
    ///
    /// ```
    /// use http_retry::{ErrorKind, Outcome};
    ///
    /// let outcome = Outcome::error(ErrorKind::ConnectTimeout);
    /// assert_eq!((outcome.error_kind(), outcome.status()), (Some(ErrorKind::ConnectTimeout), None));
    /// ```
    #[must_use]
    pub fn error_kind(&self) -> Option<ErrorKind> {
        match self.kind {
            OutcomeKind::Error(kind) => Some(kind),
            OutcomeKind::Done | OutcomeKind::Response(..) | OutcomeKind::Status(_) => None,
        }
    }

    /// Returns `true` for a success that is none by a classifier's verdict alone: its status, if it has one, is that of a
    /// success by the standard table.
    pub(in crate::policy) fn is_plain_success(&self) -> bool {
        let by_status = self
            .status()
            .is_none_or(|status| is_standard_success(status.as_u16()));
        self.class() == Class::Success && by_status
    }

    /// Returns `true` if there is nothing to hand over but an error.
    pub(in crate::policy) fn is_error(&self) -> bool {
        matches!(self.kind, OutcomeKind::Error(_) | OutcomeKind::Status(_))
    }

    /// Returns `true` if the attempt ran into a time limit of the caller: an error that says so, or a stream whose head
    /// was a success but whose output did not come.
    pub(crate) fn ran_out_of_time(&self) -> bool {
        let has_begun = self.status().is_some_and(|status| status.is_success());
        let is_silent = has_begun && self.verdict.reason == Some(Reason::Timeout);
        is_silent || self.error_kind().is_some_and(ErrorKind::is_timeout)
    }

    /// Returns this outcome without what it borrows, while its head is elsewhere. Of a failed response only the verdict
    /// then says that it failed.
    #[must_use]
    pub(crate) fn without_head(self) -> Outcome<'static> {
        Outcome {
            kind: match self.kind {
                // `with_head` makes it a response again.
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

    /// Returns this outcome with its head restored, if it had one.
    #[must_use]
    pub(crate) fn with_head(self, head: Option<(StatusCode, &'a HeaderMap)>) -> Self {
        let kind = match (self.kind, head) {
            (OutcomeKind::Done, Some((status, headers))) => OutcomeKind::Response(status, headers),
            // A response that broke after its head is an error.
            (kind, _) => kind,
        };
        Self { kind, ..self }
    }
}

#[cfg(test)]
mod tests;
