//! What is taken of an answer's quota.

use super::*;
use crate::policy::Outcome;
use http::{HeaderMap, HeaderValue, StatusCode};
use std::time::Duration;

fn reset(line: &'static str) -> Duration {
    let mut headers = HeaderMap::new();
    headers.insert("ratelimit", HeaderValue::from_static(line));
    let outcome = Outcome::response(StatusCode::OK, &headers);
    Quota::from(outcome.quota(Duration::ZERO).unwrap()).reset()
}

#[test]
fn a_spent_quota_is_never_back_at_once() {
    assert_eq!(reset("remaining=0, reset=0"), Duration::from_secs(1));
    assert_eq!(reset("remaining=0, reset=2"), Duration::from_secs(2));
    assert_eq!(reset("remaining=1, reset=0"), Duration::ZERO);
}
