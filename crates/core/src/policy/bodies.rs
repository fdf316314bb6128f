//! The bodies that a policy changes or reads: requests rewritten before they are sent again, and responses of which the
//! start or the whole is read before the caller gets them.

use super::outcome::Outcome;
use super::verdict::Verdict;
use crate::error::ConfigError;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, StatusCode};
use std::fmt;
use std::ops::ControlFlow;
use std::time::Duration;

/// Changes the body of a request that the server refused for good, so that the next attempt may succeed.
///
/// `llm::Truncation` cuts a prompt that is too long; a type of your own can halve a batch.
/// [`RetryPolicyBuilder::rewrite`](crate::RetryPolicyBuilder::rewrite) sets it.
///
/// ```
/// use http::StatusCode;
/// use http_retry_core::reading::{Rewrite, RewriteBody, Rewritten};
/// use http_retry::{Outcome, RetryPolicy};
///
/// /// Sends half of the lines after a 413.
/// struct Halve;
///
/// impl Rewrite for Halve {
///     fn after(&self, outcome: &Outcome<'_>) -> Option<RewriteBody> {
///         if outcome.status() != Some(StatusCode::PAYLOAD_TOO_LARGE) {
///             return None;
///         }
///         Some(Box::new(|_, body| {
///             let lines: Vec<&str> = std::str::from_utf8(body).ok()?.lines().collect();
///             let half = lines.get(..lines.len() / 2).filter(|half| !half.is_empty())?.join("\n");
///             let (before, after) = (body.len(), half.len());
///             Some(Rewritten { body: half.into_bytes(), before, after })
///         }))
///     }
/// }
///
/// let policy = RetryPolicy::background().to_builder().rewrite(Halve).build()?;
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
pub trait Rewrite: Send + Sync {
    /// Returns the change of the request after this outcome, or `None` if another body does not help. It is called only
    /// for outcomes that are [`Class::Permanent`](super::Class::Permanent).
    fn after(&self, outcome: &Outcome<'_>) -> Option<RewriteBody>;
}

/// A change of a request: it gets the headers and the body, may change the headers, and returns the next body, or
/// `None` if there is no better one. The request is then not sent again.
///
/// The layer adjusts `content-length` and removes `transfer-encoding` and `trailer`. A changed body needs a changed
/// digest; a signed or encoded body must stay as it is.
pub type RewriteBody = Box<dyn Fn(&mut HeaderMap, &[u8]) -> Option<Rewritten> + Send + Sync>;

/// A function that gets the headers and body of a request, may change the headers, and returns another body.
pub type RewriteWith<'a> = dyn FnMut(&mut HeaderMap, &[u8]) -> Option<Vec<u8>> + 'a;

/// The next body of a request, in which one text has changed.
///
/// It has no `Debug`: a body must not get into a log by accident.
#[derive(Clone)]
#[expect(clippy::exhaustive_structs, reason = "a rewrite fills it in")]
pub struct Rewritten {
    /// The whole body.
    pub body: Vec<u8>,
    /// The length of the text before the change, in characters, for the report and the event.
    pub before: usize,
    /// Its length after the change.
    pub after: usize,
}

/// The reason for ending the read of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Inspected {
    /// The reader has seen enough, or 8,192 frames.
    Enough,
    /// The body has ended.
    AtTheEnd,
    /// The body failed. The caller still gets the error if the response is handed over.
    AtAnError,
    /// The time was up.
    TimeIsUp,
}

/// Chooses the responses that are held back until a [`BodyProbe`] has read their start.
///
/// `llm::HoldStreams` chooses the streams of LLM APIs; a type of your own can do the same for another protocol whose
/// failures come after a 200. [`RetryPolicyBuilder::hold_streams`](crate::RetryPolicyBuilder::hold_streams) sets it.
///
/// ```
/// use http_retry::policy::Verdict;
/// use http_retry_core::adapter::Inspected;
/// use http_retry_core::reading::{BodyProbe, StreamHolder};
/// use http_retry::{Class, Outcome, Reach, RetryPolicy};
/// use std::ops::ControlFlow;
/// use std::time::Duration;
///
/// /// Exports begin with a line `ok`, or fail with any other line.
/// struct Exports;
///
/// struct FirstLine(Vec<u8>);
///
/// impl StreamHolder for Exports {
///     fn hold(&self, outcome: &Outcome<'_>) -> Option<Box<dyn BodyProbe>> {
///         let is_export = outcome.media_type() == Some("text/x-export");
///         is_export.then(|| Box::new(FirstLine(Vec::new())) as Box<dyn BodyProbe>)
///     }
///
///     fn first_event_timeout(&self) -> Option<Duration> {
///         Some(Duration::from_secs(30))
///     }
/// }
///
/// impl BodyProbe for FirstLine {
///     fn push(&mut self, chunk: &[u8]) -> ControlFlow<()> {
///         self.0.extend_from_slice(chunk);
///         let is_enough = self.0.contains(&b'\n') || self.0.len() > 1024;
///         if is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
///     }
///
///     fn verdict(&mut self, _: Inspected) -> Option<Verdict> {
///         let failed = Verdict::new(Class::Transient, Reach::Ambiguous);
///         (!self.0.starts_with(b"ok\n")).then_some(failed)
///     }
/// }
///
/// let policy = RetryPolicy::background().to_builder().hold_streams(Exports).build()?;
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
pub trait StreamHolder: Send + Sync {
    /// Returns the probe for this response, or `None` to hand the response over at its head. It is called for responses
    /// that are successes so far, and only if a retry may still follow.
    fn hold(&self, outcome: &Outcome<'_>) -> Option<Box<dyn BodyProbe>>;

    /// Returns the longest time for which a probe reads, above 0, or `None` to leave it to the limits of the attempt.
    /// `build` refuses 0.
    fn first_event_timeout(&self) -> Option<Duration>;
}

/// The part of a body that is needed.
#[expect(clippy::exhaustive_enums, reason = "an adapter must know each")]
pub enum BodyPart {
    /// At most this many bytes of it, or the text of an error.
    Start(usize),
    /// As much as the probe wants to see.
    Probe(Box<dyn BodyProbe>),
    /// All of it, if it has at most this many bytes; a longer one is left unread.
    Whole(u64),
    /// Its rest, if it has at most this many bytes, so that its connection can be reused. The response is dropped if
    /// that is not its end.
    Rest(usize),
}

impl fmt::Debug for BodyPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(bytes) => f.debug_tuple("Start").field(bytes).finish(),
            Self::Probe(_) => f.write_str("Probe"),
            Self::Whole(bytes) => f.debug_tuple("Whole").field(bytes).finish(),
            Self::Rest(bytes) => f.debug_tuple("Rest").field(bytes).finish(),
        }
    }
}

/// Reads the start of one response's body, and judges the response by it.
///
/// The caller gets the whole body, unless the verdict leads to a retry. The bytes read stay in memory until then, so a
/// probe must break after a number of bytes of its own choice. [`StreamHolder`] has an example.
pub trait BodyProbe: Send {
    /// Reads the next bytes of the body, in order; returns `Break` once it has seen enough. It must not panic.
    fn push(&mut self, chunk: &[u8]) -> ControlFlow<()>;

    /// Returns the verdict on the response, or `None` if it is what the caller asked for. It is called once, after the
    /// last chunk.
    fn verdict(&mut self, end: Inspected) -> Option<Verdict>;
}

/// The longest body that may be read whole: 64 MiB. It is held in memory; a longer one is a download.
pub(crate) const MAX_ANSWER_BYTES: u64 = 64 << 20;

pub(super) fn check_whole_responses(bytes: u64) -> Result<(), ConfigError> {
    if bytes <= MAX_ANSWER_BYTES {
        Ok(())
    } else {
        Err(ConfigError::new(
            "whole_responses",
            format!("{bytes} bytes"),
            "must be 0 to 64 MiB: a longer body is a download",
        ))
    }
}

/// Returns `true` if a response with this head has a body that ends, and so belongs to its attempt.
pub(crate) fn has_an_end(status: StatusCode, headers: &HeaderMap) -> bool {
    !WITHOUT_BODY.contains(&status) && !is_endless_type(headers)
}

/// Returns `true` if a response with these headers declares more than this number of bytes, and so is not read.
pub fn is_longer(headers: &HeaderMap, bytes: u64) -> bool {
    let length = headers.get(CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.trim().parse::<u64>().ok());
    length.is_some_and(|length| length > bytes)
}

/// Responses that end with their head, whatever length it declares (RFC 9112 section 6.3).
const WITHOUT_BODY: [StatusCode; 3] = [
    StatusCode::SWITCHING_PROTOCOLS,
    StatusCode::NO_CONTENT,
    StatusCode::NOT_MODIFIED,
];

/// Content types of responses that callers use part by part, and that may never end.
const ENDLESS_TYPES: [&str; 9] = [
    "text/event-stream",
    "multipart/x-mixed-replace",
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
    "application/x-jsonlines",
    "application/json-seq",
    "application/stream+json",
    "application/vnd.amazon.eventstream",
];

fn is_endless_type(headers: &HeaderMap) -> bool {
    let mut all = ENDLESS_TYPES.iter();
    media_type(headers).is_some_and(|own| {
        is_grpc(own) || all.any(|kind| own.eq_ignore_ascii_case(kind.as_bytes()))
    })
}

/// Returns the media type of a response, in its original case and without its parameters.
pub(crate) fn media_type(headers: &HeaderMap) -> Option<&[u8]> {
    let value = headers.get(CONTENT_TYPE)?.as_bytes();
    let own = value.split(|byte| *byte == b';').next();
    own.map(<[u8]>::trim_ascii)
}

/// Returns `true` if a content type is one of gRPC's.
#[must_use]
pub fn is_grpc(kind: &[u8]) -> bool {
    const GRPC: &[u8] = b"application/grpc";
    let start = kind.get(..GRPC.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(GRPC))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn is_read(name: &'static str, value: &'static str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(name, HeaderValue::from_static(value));
        has_an_end(StatusCode::OK, &headers) && !is_longer(&headers, 1_000)
    }

    #[test]
    fn a_response_that_may_never_end_is_not_read_whole() {
        for kind in [
            "text/event-stream",
            "Text/Event-Stream; charset=utf-8",
            "multipart/x-mixed-replace;boundary=x",
            "application/x-ndjson",
            "application/json-seq",
            "application/grpc",
            "application/grpc+proto",
            "application/grpc-web-text",
        ] {
            assert!(!is_read("content-type", kind), "{kind}");
        }
        for kind in ["application/json", "text/plain", "application/gr", ""] {
            assert!(is_read("content-type", kind), "{kind}");
        }
        let upgraded = StatusCode::SWITCHING_PROTOCOLS;
        assert!(!has_an_end(upgraded, &HeaderMap::new()));
    }

    #[test]
    fn a_response_that_declares_too_long_a_body_is_not_read_whole() {
        assert!(is_read("content-length", "1000"));
        assert!(!is_read("content-length", "1001"));
        assert!(!is_read("content-length", "18446744073709551615"));
        assert!(is_read("content-length", "x"));
    }

    #[test]
    fn more_than_64_mib_is_refused() {
        assert!(check_whole_responses(MAX_ANSWER_BYTES).is_ok());
        let refused = check_whole_responses(MAX_ANSWER_BYTES + 1).unwrap_err();
        assert_eq!(refused.field, "whole_responses");
        assert!(refused.to_string().contains("a longer body is a download"));
    }
}
