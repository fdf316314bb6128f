//! Properties that hold for any input.

use crate::dialect::{context_counts, judge, judge_event};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use http_retry_core::Outcome;
use http_retry_core::policy::ErrorBody;
use http_retry_core::reading::OutcomeExt;
use http_retry_rules::ReadBody;
use proptest::prelude::*;
use std::time::Duration;

const WORDS: [&str; 44] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    "\\u00",
    ":",
    ",",
    "error",
    "code",
    "message",
    "retryDelay",
    "type",
    "details",
    "retry",
    "try again",
    "in",
    "after",
    "s",
    "m",
    "Limit",
    "Requested",
    "maximum",
    "context length",
    "input",
    "tokens",
    ">",
    "+",
    "-",
    ".",
    "0",
    "99999999999999999999",
    "1.5",
    "é",
    "\n",
    "data:",
    "Exception",
    "rate_limit_exceeded",
    "insufficient_quota",
    "null",
    "true",
    "1e999",
    "#",
];

fn any_word() -> impl Strategy<Value = String> {
    let known = prop::sample::select(&WORDS[..]);
    prop_oneof![4 => known.prop_map(str::to_owned), 1 => any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_body_panics_and_all_that_is_kept_is_bounded(words in prop::collection::vec(any_word(), 0..60), status in 100_u16..1000) {
        let text = words.join("");
        let body = ErrorBody::read(text.as_bytes());
        prop_assert!(body.codes().len() <= 256 && body.labels().len() <= 256);
        prop_assert!(body.prose().len() <= 64 * 1024);
        let status = StatusCode::from_u16(status).unwrap();
        let judged = judge(status, &HeaderMap::new(), &body);
        let failed = status.as_u16() >= 400 || body.is_error();
        prop_assert_eq!(judged.is_some_and(|judged| judged.reason.is_some()), failed);
        prop_assert!(judge_event(text.as_bytes()).is_some_and(|judged| judged.reason.is_some()));
        context_counts(&text);
    }

    #[test]
    fn any_bytes_are_a_body(bytes: Vec<u8>) {
        let _ = ErrorBody::read(&bytes).delay();
    }

    #[test]
    fn any_header_is_a_header(value in "[ -~]{0,40}", at: u64) {
        let mut headers = HeaderMap::new();
        for name in ["retry-after", "date", "x-ratelimit-reset-tokens", "anthropic-ratelimit-requests-reset",
            "x-ratelimit-remaining-tokens", "x-should-retry", "x-amzn-errortype"] {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_str(&value).unwrap());
            let judged = judge(StatusCode::TOO_MANY_REQUESTS, &headers, &ErrorBody::default());
            let outcome = Outcome::response(StatusCode::TOO_MANY_REQUESTS, &headers);
            let _ = outcome.judged(judged.unwrap()).server_delay(Duration::from_secs(at));
        }
    }
}

#[test]
fn a_body_of_the_largest_size_is_read_in_no_time() {
    for part in [
        "{\"a\":",
        "retry ",
        "retry in 1 ",
        "1 > ",
        "\"{\\\"",
        "[\"",
        "Limit 1 Requested ",
        "wait wait-",
        "a. ",
        "1,000,",
    ] {
        let text: String = part.repeat(64 * 1024 / part.len());
        for text in [
            text.clone(),
            format!("{{\"message\": \"{}", text.replace('"', "\\\"")),
        ] {
            let judged = judge(
                StatusCode::BAD_REQUEST,
                &HeaderMap::new(),
                &ErrorBody::read(text.as_bytes()),
            );
            assert!(judged.is_some_and(|judged| judged.reason.is_some()));
            context_counts(&text);
        }
    }
}
