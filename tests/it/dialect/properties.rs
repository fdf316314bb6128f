//! What holds for every dialect, whatever the answer.

use super::answers::NOW;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use http_retry::dialect::Dialect;
use http_retry::policy::{ErrorBody, Moment};
use http_retry::route::RequestHead;
use http_retry::{Outcome, RequestFacts, RetryBudget, RetryPolicy};
use proptest::prelude::*;
use proptest::test_runner::Config;
use std::time::Duration;

pub(super) const NAMES: [&str; 18] = [
    "retry-after",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-ratelimit-scope",
    "x-ratelimit-global",
    "x-amzn-errortype",
    "content-type",
    "grpc-status",
    "grpc-retry-pushback-ms",
    "x-should-retry",
    "stripe-should-retry",
    "ratelimit-reason",
    "x-ms-error-code",
    "idempotent-replayed",
    "x-rate-limit-type",
    "x-rate-limit-problem",
    "x-business-use-case-usage",
    "x-contentful-ratelimit-reset",
];
pub(super) const VALUES: [&str; 19] = [
    "0",
    "5",
    "1787313700",
    "-1",
    "true",
    "false",
    "shared",
    "ThrottlingException",
    "application/json",
    "application/grpc",
    "14",
    "8",
    "250",
    "ServerBusy",
    "jira-burst-based",
    "99999999999999999999",
    "service",
    "day",
    r#"{"1":[{"type":"ads","estimated_time_to_regain_access":3}]}"#,
];
pub(super) const BODIES: [&str; 20] = [
    "",
    "{",
    "<Error><Code>SlowDown</Code></Error>",
    r#"{"error": {"code": "idempotency_key_in_use"}}"#,
    r#"{"errors": [{"type": "RATE_LIMITED", "extensions": {"code": "THROTTLED"}}]}"#,
    r#"{"error": {"errors": [{"reason": "rateLimitExceeded"}]}}"#,
    r#"{"__type": "a#ThrottlingException"}"#,
    r#"{"retry_after": 64.57, "global": true}"#,
    r#"{"parameters": {"retry_after": 5}}"#,
    r#"{"policyName": "TEN_SECONDLY_ROLLING"}"#,
    r#"{"ok": false, "error": "ratelimited"}"#,
    r#"[{"errorCode": "REQUEST_LIMIT_EXCEEDED", "message": "concurrent"}]"#,
    "You have exceeded a secondary rate limit, please try after 2026-08-21T12:00:25Z.",
    r#"{"retry_after": 1e300, "details": {"retryAfterSeconds": -3}}"#,
    r#"{"error": ["EService:Busy", "EAPI:Rate limit exceeded"]}"#,
    r#"{"code": -1008, "msg": "Service Unavailable."}"#,
    r#"{"code": -1015}"#,
    r#"{"error": {"code": 80004, "is_transient": true, "reason": "QUOTA_EXCEEDED"}}"#,
    r#"{"errors": [{"extensions": {"code": "COMPLEXITY_BUDGET_EXHAUSTED", "retry_in_seconds": 7}}]}"#,
    r#"{"error_code": "FIELD_LIMIT_EXCEEDED", "error_data": {"retry_in_seconds": 15}}"#,
];
const PATHS: [&str; 7] = [
    "/",
    "/graphql",
    "/api/chat.postMessage",
    "/w/api.php",
    "/0/private/AddOrder",
    "/v2",
    "/api/v2/write",
];
pub(super) const STATUSES: [u16; 18] = [
    200, 202, 302, 400, 403, 404, 408, 409, 410, 418, 423, 429, 449, 477, 500, 503, 509, 529,
];

pub(super) type Answer = (u16, Vec<(usize, usize)>, usize, usize, bool);

pub(super) fn answers() -> impl Strategy<Value = Answer> {
    let lines = prop::collection::vec((0..NAMES.len(), 0..VALUES.len()), 0..5);
    let status = prop::sample::select(STATUSES.as_slice());
    (
        status,
        lines,
        0..BODIES.len(),
        0..PATHS.len(),
        any::<bool>(),
    )
}

/// The request that is answered, with a key of idempotency or without, and its headers.
pub(super) fn asked(path: usize, keyed: bool) -> (RequestHead<'static>, HeaderMap) {
    let mut headers = HeaderMap::new();
    if keyed {
        headers.insert("idempotency-key", HeaderValue::from_static("k"));
    }
    let uri = Uri::from_static(PATHS[path]);
    let request = RequestHead::new(&Method::POST, &uri).with_key_in(&headers);
    (request.into_owned(), headers)
}

pub(super) fn head(lines: &[(usize, usize)]) -> HeaderMap {
    let lines = lines.iter().map(|(name, value)| {
        (
            HeaderName::from_static(NAMES[*name]),
            HeaderValue::from_static(VALUES[*value]),
        )
    });
    lines.collect()
}

proptest! {
    #![proptest_config(Config::with_cases(400))]

    #[test]
    fn who_says_that_nothing_was_done_is_a_row_that_says_so(
        (status, lines, body, path, keyed) in answers(),
    ) {
        let headers = head(&lines);
        let (request, _) = asked(path, keyed);
        let body = ErrorBody::read(BODIES[body].as_bytes());
        let plain = Outcome::response(StatusCode::from_u16(status).unwrap(), &headers);
        for dialect in Dialect::all() {
            let may = dialect.has_refused_rows();
            let policy = RetryPolicy::builder().header_rules(false).dialect(dialect);
            let policy = policy.build().unwrap();
            let outcome = policy.classify(plain.of_request(&request).with_body(&body));
            let row = policy.row_of(&outcome);
            if outcome.reach().is_unprocessed() && !plain.reach().is_unprocessed() {
                prop_assert!(may && row.is_some(), "{status} {row:?}");
            }
            if row.is_none() {
                prop_assert_eq!((outcome.class(), outcome.reach()), (plain.class(), plain.reach()));
            }
        }
    }

    #[test]
    fn a_retry_is_never_earlier_than_the_answer_says(
        (status, lines, body, path, keyed) in answers(),
        random in any::<u64>(),
    ) {
        let headers = head(&lines);
        let (request, asked) = asked(path, keyed);
        let body = ErrorBody::read(BODIES[body].as_bytes());
        let plain = Outcome::response(StatusCode::from_u16(status).unwrap(), &headers);
        let moment = Moment::new(Duration::ZERO).with_wall(NOW).with_random(random);
        let facts = RequestFacts::of(&Method::POST, &asked);
        for dialect in Dialect::all() {
            let policy = RetryPolicy::builder().max_gate_wait(None).dialect(dialect);
            let policy = policy.build().unwrap();
            let outcome = policy.classify(plain.of_request(&request).with_body(&body));
            let session = policy.session(facts, Duration::ZERO);
            let Ok(plan) = session.plan(&outcome, moment) else {
                continue;
            };
            // A POST without a key goes out again only where nothing was done.
            prop_assert!(keyed || outcome.reach().is_unprocessed());
            let paid = RetryBudget::unlimited().withdraw(plan, Duration::ZERO).unwrap();
            let named = outcome.server_delay(NOW).max(outcome.verdict().at_least);
            prop_assert!(paid.delay() >= named.unwrap_or_default());
        }
    }
}
