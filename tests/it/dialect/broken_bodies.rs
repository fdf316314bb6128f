//! Successes whose body is not read, breaks off or makes no sense.

use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_retry::dialect::{Dialect, Interpretation, Row};
use http_retry::policy::ErrorBody;
use http_retry::route::RequestHead;
use http_retry::rules::Condition;
use http_retry::{Class, Outcome, RetryPolicy};

fn class(dialect: Dialect, path: &str, kind: &'static str, body: &str) -> Class {
    let policy = RetryPolicy::background().to_builder().dialect(dialect);
    let policy = policy.build().unwrap();
    let kind = HeaderValue::from_static(kind);
    let headers = HeaderMap::from_iter([(http::header::CONTENT_TYPE, kind)]);
    let uri = path.parse().unwrap();
    let request = RequestHead::new(&Method::PUT, &uri);
    let body = ErrorBody::read(body.as_bytes());
    let outcome = Outcome::response(StatusCode::OK, &headers).of_request(&request);
    policy.classify(outcome.with_body(&body)).class()
}

#[test]
fn json_that_is_not_understood_leaves_a_success() {
    const THROTTLED: &str = r#"{"errors": [{"extensions": {"code": "THROTTLED"}}]}"#;
    let path = "/admin/api/2024-01/graphql.json";
    let class = |body: &str| class(Dialect::shopify(), path, "application/json", body);
    assert_eq!(class(THROTTLED), Class::Throttled);
    for end in 1..THROTTLED.len() {
        assert_eq!(class(&THROTTLED[..end]), Class::Success, "{end}");
    }
    assert_eq!(class(&format!("{THROTTLED} and more")), Class::Success);
}

#[test]
fn xml_that_breaks_off_leaves_a_success() {
    const SLOW: &str =
        "<?xml version=\"1.0\"?>\n<Error><Code>SlowDown</Code><Message>m</Message></Error>";
    let class = |body: &str| class(Dialect::s3(), "/bucket/copy", "application/xml", body);
    assert_eq!(class(SLOW), Class::Throttled);
    for end in 1..SLOW.len() {
        assert_eq!(class(&SLOW[..end]), Class::Success, "{end}");
    }
}

#[test]
fn what_is_not_read_of_a_success_does_not_lack_anything() {
    let other = !Condition::json("/state", "done").unwrap();
    let row = Row::when().status([200]).and(other);
    let own = || Dialect::named("own").row(row.clone().is(Interpretation::throttled()));
    let class = |kind, body| class(own(), "/", kind, body);
    assert_eq!(
        class("application/json", r#"{"state": "busy"}"#),
        Class::Throttled
    );
    for (kind, body) in [
        ("application/json", r#"{"state": "done"}"#),
        ("application/json", r#"{"state": "#),
        ("text/plain", "done"),
        ("text/event-stream", "data: 1"),
    ] {
        assert_eq!(class(kind, body), Class::Success, "{kind} {body}");
    }

    // Nobody can read it: its caller has no bodies, or it is too long.
    let policy = RetryPolicy::background().to_builder().dialect(own());
    let headers = HeaderMap::new();
    let unread = Outcome::response(StatusCode::OK, &headers);
    assert_eq!(
        policy.build().unwrap().classify(unread).class(),
        Class::Success
    );
}
