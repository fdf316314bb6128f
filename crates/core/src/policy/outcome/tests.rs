use super::ext::OutcomeExt;
use super::*;
use crate::policy::RequestFacts;
use http::HeaderValue;
use http::Method;
use std::time::Duration;

fn facts(method: &str, key: Option<&'static str>) -> RequestFacts {
    let mut headers = HeaderMap::new();
    if let Some(value) = key {
        headers.insert("idempotency-key", HeaderValue::from_static(value));
    }
    RequestFacts::of(&Method::from_bytes(method.as_bytes()).unwrap(), &headers)
}

#[test]
fn safe_and_idempotent_methods_are_idempotent() {
    for method in ["GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE", "QUERY"] {
        assert!(facts(method, None).idempotent, "{method}");
    }
    for method in ["POST", "PATCH", "CONNECT", "PURGE", "get"] {
        assert!(!facts(method, None).idempotent, "{method}");
    }
}

#[test]
fn a_post_is_idempotent_by_a_key_that_is_not_empty() {
    assert!(facts("POST", Some("order-7")).idempotent);
    assert!(!facts("POST", Some(" ")).idempotent);
}

#[test]
fn a_success_has_no_server_delay() {
    let mut headers = HeaderMap::new();
    headers.insert("retry-after", HeaderValue::from_static("5"));
    let delay = |status| Outcome::response(status, &headers).server_delay(Duration::ZERO);
    assert_eq!(delay(StatusCode::OK), None);
    assert_eq!(delay(StatusCode::NOT_FOUND), Some(Duration::from_secs(5)));
}

#[test]
fn no_verdict_takes_back_a_response_head() {
    let cut = Outcome::error(ErrorKind::Reset).after_a_response();
    let judged = cut.judged(Verdict::new(Class::Transient, Reach::Unsent));
    assert_eq!(judged.reach(), Reach::Answered);
}
