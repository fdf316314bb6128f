//! The meaning of ureq's errors, and the one error of this crate.

use crate::watch::Seen;
use http::StatusCode;
use http_retry_core::policy::Verdict;
use http_retry_core::reading::{
    OutcomeExt, is_refusal_by_proxy, is_refusal_to_connect, kind_of_tls_text,
};
use http_retry_core::report::RetryReport;
use http_retry_core::settings::PolicyExt;
use http_retry_core::{Class, ErrorKind, Outcome, Reach, RetryPolicy};
use std::error::Error as StdError;
use std::fmt;
use std::io;
use ureq::{Error, Timeout};

/// Returns the meaning of an attempt's error, given what was seen of the attempt.
pub(crate) fn outcome_of(policy: &RetryPolicy, error: &Error, seen: Seen) -> Outcome<'static> {
    let status = match error {
        Error::StatusCode(status) => StatusCode::from_u16(*status).ok(),
        _ => None,
    };
    let outcome = match (own_verdict(policy, error), status) {
        (Some(verdict), _) => Outcome::error(ErrorKind::Other).judged(verdict),
        (None, Some(status)) => return Outcome::error_of_status(status),
        (None, None) => {
            let kind = match kind_of(error) {
                ErrorKind::Other if seen.is_unsent() => kind_while_connecting(error),
                kind => kind,
            };
            Outcome::error(refined(kind, seen))
        }
    };
    if seen.is_unsent() {
        outcome.with(outcome.class(), Reach::Unsent)
    } else {
        outcome
    }
}

/// Returns the meaning of an error in a response's body.
pub(crate) fn outcome_of_body(policy: &RetryPolicy, error: &Error) -> Outcome<'static> {
    let outcome = match own_verdict(policy, error) {
        Some(verdict) => Outcome::error(ErrorKind::Other).judged(verdict),
        None => Outcome::error(match kind_of(error) {
            // A decoder's complaint comes as an error of I/O without a kind of its own.
            ErrorKind::Other | ErrorKind::Protocol => ErrorKind::Decode,
            kind => refined(
                kind,
                Seen {
                    sent: true,
                    ..Seen::default()
                },
            ),
        }),
    };
    outcome.after_a_response()
}

/// Returns an error for observers, unless its text is a URL.
pub(crate) fn shown(error: &Error) -> Option<&(dyn StdError + 'static)> {
    match error {
        Error::BadUri(_) => None,
        error => Some(error),
    }
}

/// Returns the text of an error for rules that test it. It is used for nothing else.
pub(crate) fn words(error: &Error, kind: Option<ErrorKind>) -> String {
    let kind = kind.map_or_else(String::new, |kind| format!("{kind}: "));
    format!("{kind}{error}")
}

/// Returns the verdict of the policy's own judges of errors on the first link that one knows.
fn own_verdict(policy: &RetryPolicy, error: &Error) -> Option<Verdict> {
    links(error).find_map(|link| policy.judge(link))
}

/// Returns an error and the errors inside it, the outermost first.
fn links<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    const MAX_LINKS: usize = 64;
    std::iter::successors(Some(error), |link| next(*link)).take(MAX_LINKS)
}

/// Returns the error inside another one: `ureq::Error` has no source, and an I/O error's source skips its own payload.
fn next<'a>(link: &'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
    match link.downcast_ref::<Error>() {
        Some(Error::Io(inner)) => return Some(inner),
        Some(Error::Other(inner)) => return Some(inner.as_ref()),
        Some(Error::Protocol(inner)) => return Some(inner),
        _ => {}
    }
    let payload = link
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref);
    payload
        .map(|payload| payload as _)
        .or_else(|| link.source())
}

fn kind_of(error: &Error) -> ErrorKind {
    match error {
        Error::Http(_)
        | Error::BadUri(_)
        | Error::InvalidProxyUrl
        | Error::RequireHttpsOnly(_)
        | Error::TlsRequired
        | Error::BodyExceedsLimit(_) => ErrorKind::Request,
        Error::Protocol(_) | Error::LargeResponseHeader(..) => ErrorKind::Protocol,
        Error::Io(error) => kind_of_io(error),
        Error::Timeout(Timeout::Resolve | Timeout::Connect) => ErrorKind::ConnectTimeout,
        Error::Timeout(_) => ErrorKind::Timeout,
        Error::HostNotFound => ErrorKind::Dns,
        Error::RedirectFailed | Error::TooManyRedirects => ErrorKind::Redirect,
        Error::ConnectProxyFailed(reason) => kind_of_connect(reason),
        Error::ConnectionFailed => ErrorKind::Connect,
        Error::Tls(_) => ErrorKind::Certificate,
        Error::Other(error) => kind_of_other(error.as_ref()),
        _ => ErrorKind::Other,
    }
}

/// Reads a proxy's answer to CONNECT in ureq's words, `proxy server responded 407/..`.
fn kind_of_connect(reason: &str) -> ErrorKind {
    let mut numbers = reason.split(|character: char| !character.is_ascii_digit());
    let status = numbers.find_map(|number| StatusCode::from_bytes(number.as_bytes()).ok());
    let is_final = |status| Outcome::error_of_status(status).class() == Class::Permanent;
    if status.is_some_and(is_final) {
        ErrorKind::Proxy
    } else {
        ErrorKind::Connect
    }
}

fn kind_of_io(error: &io::Error) -> ErrorKind {
    use io::ErrorKind as Io;
    match error.kind() {
        Io::ConnectionRefused
        | Io::AddrNotAvailable
        | Io::HostUnreachable
        | Io::NetworkUnreachable => ErrorKind::Connect,
        Io::TimedOut | Io::WouldBlock => ErrorKind::Timeout,
        Io::ConnectionReset | Io::ConnectionAborted | Io::BrokenPipe | Io::NotConnected => {
            ErrorKind::Reset
        }
        Io::UnexpectedEof => ErrorKind::Incomplete,
        Io::InvalidData => kind_of_tls_text(&error.to_string()),
        _ => ErrorKind::Other,
    }
}

/// Looks for an I/O error in the chain of an error of a connector or a middleware.
fn kind_of_other(error: &(dyn StdError + 'static)) -> ErrorKind {
    let io = links(error).filter_map(|link| link.downcast_ref::<io::Error>());
    let mut kinds = io.map(kind_of_io);
    kinds
        .find(|kind| *kind != ErrorKind::Other)
        .unwrap_or(ErrorKind::Other)
}

/// Returns the kind of an error that says nothing by itself but where it was made: while connecting.
fn kind_while_connecting(error: &Error) -> ErrorKind {
    let is_refused = |link: &(dyn StdError + 'static)| is_refusal_by_proxy(&link.to_string());
    let does_not_try =
        |link: &(dyn StdError + 'static)| link.downcast_ref().is_some_and(is_refusal_to_connect);
    if links(error).any(is_refused) {
        ErrorKind::Proxy
    } else if links(error).any(does_not_try) {
        ErrorKind::Request
    } else if links(error).any(<dyn StdError>::is::<io::Error>) {
        ErrorKind::Connect
    } else {
        ErrorKind::Other
    }
}

/// Refines a kind by the place where the request was: the same errors come from a connection that is being made, and
/// from one in use.
fn refined(kind: ErrorKind, seen: Seen) -> ErrorKind {
    if seen.resolving {
        return match kind {
            ErrorKind::Request => kind,
            ErrorKind::Timeout | ErrorKind::ConnectTimeout => ErrorKind::ConnectTimeout,
            _ => ErrorKind::Dns,
        };
    }
    match (kind, seen.sent) {
        // A response that another agent got, or a middleware made.
        (kind, false) if seen.requests == 0 => kind,
        (ErrorKind::Timeout, false) => ErrorKind::ConnectTimeout,
        (ErrorKind::Reset, false) => ErrorKind::Connect,
        (ErrorKind::Incomplete, false) => ErrorKind::Tls,
        // TLS libraries report a certificate that they refuse like this; and a connection that is not made yet has
        // received no response.
        (ErrorKind::Protocol, false) => ErrorKind::Certificate,
        // A lost network gives the same errors for a connection in use as for one that cannot be made.
        (ErrorKind::Connect, true) if seen.requests < 2 => ErrorKind::Reset,
        (ErrorKind::ConnectTimeout, true) if seen.requests < 2 => ErrorKind::Timeout,
        (ErrorKind::Dns, true) if seen.requests < 2 => ErrorKind::Reset,
        (kind, _) => kind,
    }
}

/// A policy calls a response a failure that ureq does not (`do: fail`, or a rule's `fail`).
///
/// It is inside [`ureq::Error::Other`], and [`RequestFailed::of`] finds it there. A response that ureq calls an error
/// itself is [`ureq::Error::StatusCode`], whatever the policy says.
///
/// ```
/// use http_retry_ureq::RequestFailed;
///
/// assert!(RequestFailed::of(&ureq::Error::StatusCode(503)).is_none());
/// ```
#[derive(Debug)]
pub struct RequestFailed {
    report: RetryReport,
}

impl RequestFailed {
    pub(crate) fn new(report: RetryReport) -> Self {
        Self { report }
    }

    /// Returns the failure that an error carries.
    #[must_use]
    pub fn of(error: &Error) -> Option<&Self> {
        match error {
            Error::Other(error) => error.downcast_ref(),
            _ => None,
        }
    }

    /// Returns the report of the request.
    #[must_use]
    pub fn report(&self) -> &RetryReport {
        &self.report
    }
}

impl fmt::Display for RequestFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let attempts = self.report.attempt_count;
        write!(
            f,
            "the policy calls the response a failure; attempts: {attempts}"
        )
    }
}

impl StdError for RequestFailed {}
