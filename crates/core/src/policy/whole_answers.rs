//! Responses that are read to their end before the caller gets them, so that a broken one is a failed attempt.

use super::body_probe::Inspected;
use super::outcome::Outcome;
use crate::error::ConfigError;
use http::header::CONTENT_LENGTH;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};

/// The longest body that may be read whole: 64 MiB. It is held in memory; a longer one is a download.
pub(crate) const MAX_ANSWER_BYTES: u64 = 64 << 20;

/// The end of reading a response: with [`Inspected::Enough`], the rest is for the caller to read.
pub type Filled = Result<Inspected, Box<BrokenAnswer>>;

/// The failure that broke a response.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "an adapter fills it in")]
pub struct BrokenAnswer {
    /// The error that broke it.
    pub outcome: Outcome<'static>,
    /// The text of the error, for rules that look at it.
    pub words: String,
}

pub(super) fn check(bytes: u64) -> Result<(), ConfigError> {
    if bytes <= MAX_ANSWER_BYTES {
        Ok(())
    } else {
        Err(ConfigError::new(
            "whole_answers",
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
        assert!(check(MAX_ANSWER_BYTES).is_ok());
        let refused = check(MAX_ANSWER_BYTES + 1).unwrap_err();
        assert_eq!(refused.field(), "whole_answers");
        assert!(refused.to_string().contains("a longer body is a download"));
    }
}
