//! The standard tables: the meaning of a status or a kind of error for a retry.

pub(crate) mod texts;

use crate::named::named;
use http::StatusCode;

/// The meaning of an attempt's outcome for a retry.
///
/// The standard table of statuses; a policy's classifier, dialect and header rules take precedence. Unless the outcome
/// proves that the request was not processed ([`Reach`]), only an idempotent request is repeated.
///
#[doc = include_str!("classify/statuses.md")]
///
/// A 421 is repeated on another connection, if the layer knows the one that it came over: with hyper-util's client
/// below, and an attempt that had a time limit or followed a failed one. A 408 within a second of its attempt's start
/// comes from a server that closes idle connections; the first of a call is repeated at once.
///
/// A status that is repeated for every method says that the request was not processed. An overload does not: a proxy
/// may report it after the server behind it has processed the request.
///
/// ```
/// use http::{HeaderMap, StatusCode};
/// use http_retry::{Class, Outcome};
///
/// let headers = HeaderMap::new();
/// let class = |status| Outcome::response(status, &headers).class();
/// assert_eq!(class(StatusCode::TOO_MANY_REQUESTS), Class::Throttled);
/// assert_eq!(class(StatusCode::BAD_GATEWAY), Class::Transient);
/// assert_eq!(class(StatusCode::NOT_FOUND), Class::Permanent);
/// ```
///
/// # Source
///
/// RFC 9110 sections 10.2.3 (Retry-After), 15.5.9 (408), 15.5.14 (413), 15.5.20 (421) and 15.6.4 (503); RFC 6585
/// section 4 (429); RFC 8470 section 5.2 (425). 520 to 530 and 599 are proxies' own, 529 is an overloaded LLM API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Class {
    /// The caller has what it asked for. The budget gets its deposit.
    Success,
    /// The attempt failed, and the same request may well succeed a moment later.
    Transient,
    /// The server asks for less: the request may succeed later, and trying sooner makes things worse. If the policy has
    /// a gate, a 429 counts towards closing it, and so does nearly every other status that names a time; 413, 503 and
    /// 529 never do.
    Throttled,
    /// Repeating the same request cannot help, or nothing indicates that it can.
    Permanent,
}

named! {
    Class {
        Success => "success", "The request succeeded.";
        Transient => "transient", "It failed in a way that a later attempt may survive.";
        Throttled => "throttled", "The server asks for less; a later attempt may be let in.";
        Permanent => "permanent", "Repeating the same request cannot help.";
    }
}

/// The progress of one attempt, which shows if sending it again could take effect twice.
///
/// ```
/// use http_retry::{ErrorKind, Outcome, Reach};
///
/// // No connection: even a POST may be sent again.
/// assert_eq!(Outcome::error(ErrorKind::Connect).reach(), Reach::Unsent);
/// // No response: the request may have been processed.
/// assert_eq!(Outcome::error(ErrorKind::Timeout).reach(), Reach::Ambiguous);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reach {
    /// No byte of the request reached the server.
    Unsent,
    /// The server says that it did not process the request.
    Refused,
    /// The request was sent, at least in part, and may have been processed.
    Ambiguous,
    /// The server processed the request and responded.
    Answered,
}

named! {
    Reach {
        Unsent => "unsent",
        Refused => "refused",
        Ambiguous => "ambiguous",
        Answered => "answered",
    }
}

impl Reach {
    /// Returns `true` if even a request that must be processed only once may be sent again: for
    /// [`Unsent`](Self::Unsent) and [`Refused`](Self::Refused).
    #[must_use]
    pub fn is_unprocessed(self) -> bool {
        matches!(self, Self::Unsent | Self::Refused)
    }
}

/// The kind of error that ended an attempt, usually before a response head came. Adapters find it anywhere in an
/// error's source chain.
///
#[doc = include_str!("classify/errors.md")]
///
/// A failure of a response's body has the kind and class of the same failure before the head, and reach
/// [`Answered`](Reach::Answered).
///
/// # Source
///
/// The reach of each kind follows from the point at which HTTP/1 (RFC 9112), HTTP/2 (RFC 9113, sections 6.8 and 8.7)
/// and the client libraries raise it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The host name could not be resolved.
    Dns,
    /// No connection: refused, unreachable, or lost before the request was written.
    Connect,
    /// No connection within the connect timeout.
    ConnectTimeout,
    /// The TLS handshake was cut off.
    Tls,
    /// A certificate was refused, by either side, or the peers share no protocol.
    Certificate,
    /// A proxy refused the client, its credentials or its destination: 407 to a CONNECT, or a SOCKS refusal.
    Proxy,
    /// The server, or a connection that was closing, says that it did not process the request: HTTP/2 `GOAWAY` of a
    /// stream before, `REFUSED_STREAM`, or a request canceled before it was written.
    NotProcessed,
    /// No response in time, after the request may have been sent.
    Timeout,
    /// The connection was reset, or broke while the request was written.
    Reset,
    /// The connection closed before the response head was complete.
    Incomplete,
    /// The HTTP/2 stream or connection was reset for another reason.
    Http2,
    /// The request could not be built or begun: bad URL, unsupported scheme, invalid header, or a connector that does
    /// not try (`PermissionDenied`, `InvalidInput`, `Unsupported`).
    Request,
    /// Too many redirects, or a redirect that cannot be followed.
    Redirect,
    /// The caller's own request body failed.
    Body,
    /// The response is not HTTP, its head is longer than the client accepts, or the server demands another protocol
    /// (HTTP/2 `HTTP_1_1_REQUIRED`, `INADEQUATE_SECURITY`).
    Protocol,
    /// The response could not be decoded.
    Decode,
    /// An error that is not recognized; it is not known to be transient.
    Other,
}

named! {
    ErrorKind {
        Dns => "dns",
        Connect => "connect",
        ConnectTimeout => "connect_timeout",
        Tls => "tls",
        Certificate => "certificate",
        Proxy => "proxy",
        NotProcessed => "not_processed",
        Timeout => "timeout",
        Reset => "reset",
        Incomplete => "incomplete",
        Http2 => "http2",
        Request => "request",
        Redirect => "redirect",
        Body => "body",
        Protocol => "protocol",
        Decode => "decode",
        Other => "other",
    }
}

impl ErrorKind {
    /// Returns `true` if the attempt ran into a time limit: [`Timeout`](Self::Timeout) or
    /// [`ConnectTimeout`](Self::ConnectTimeout). A retry after it costs the budget's `timeout_cost`.
    #[must_use]
    pub fn is_timeout(self) -> bool {
        matches!(self, Self::Timeout | Self::ConnectTimeout)
    }

    /// Returns `true` if the connection that the request used may be dead.
    #[must_use]
    pub fn is_of_connection(self) -> bool {
        matches!(
            self,
            Self::Timeout | Self::Reset | Self::Incomplete | Self::Http2
        )
    }

    /// Returns the entry in the standard table of errors, the only place that says which are retried. The pages that
    /// show it are generated from it, like those of [`standard_status`].
    pub(crate) fn standard(self) -> (Class, Reach) {
        match self {
            Self::Dns | Self::Connect | Self::ConnectTimeout | Self::Tls => {
                (Class::Transient, Reach::Unsent)
            }
            // Raised in the handshake, before any byte of the request. The same credentials are refused again, and may
            // lock an account.
            Self::Certificate | Self::Proxy => (Class::Permanent, Reach::Unsent),
            Self::NotProcessed => (Class::Transient, Reach::Refused),
            Self::Timeout | Self::Reset | Self::Incomplete | Self::Http2 => {
                (Class::Transient, Reach::Ambiguous)
            }
            // Nothing indicates that these are transient; `Ambiguous` is the reach that promises nothing.
            Self::Request
            | Self::Redirect
            | Self::Body
            | Self::Protocol
            | Self::Decode
            | Self::Other => (Class::Permanent, Reach::Ambiguous),
        }
    }
}

/// Returns `true` if a status is a success by the standard table.
#[inline]
pub(crate) fn is_standard_success(status: u16) -> bool {
    matches!(status, 100..=399)
}

/// Returns the entry in the standard status table, the only place that says which statuses are retried. `invited`
/// returns `true` if the response names a valid time to come back. `UPDATE_TABLES=1 cargo test --all-features`
/// generates the pages that show it.
pub(crate) fn standard_status(status: StatusCode, invited: impl Fn() -> bool) -> (Class, Reach) {
    match status.as_u16() {
        code if is_standard_success(code) => (Class::Success, Reach::Answered),
        // RFC 9110 section 15.5.9 and RFC 8470 section 5.2: the server has not processed the request.
        408 | 425 => (Class::Transient, Reach::Refused),
        429 => (Class::Throttled, Reach::Refused),
        // RFC 9110 section 15.5.14: the server refused the body, and names a time only if that may change.
        413 if invited() => (Class::Throttled, Reach::Refused),
        // A 503 may come from a proxy on its own account, after the server behind it has processed the request.
        503 if invited() => (Class::Throttled, Reach::Answered),
        529 => (Class::Throttled, Reach::Answered),
        // Those that name a lack, such as 501, too: they mostly come from a proxy or a deployment under way, and a
        // retry in vain costs a token.
        500..=599 => (Class::Transient, Reach::Answered),
        _ => (Class::Permanent, Reach::Answered),
    }
}

/// The entry for a 421 on a connection that the next attempt can avoid, once: RFC 9110 section 15.5.20 allows any
/// method to be repeated on another connection. Else a 421 is permanent.
pub(crate) const MISDIRECTED: (Class, Reach) = (Class::Transient, Reach::Refused);

#[cfg(test)]
mod tests;
