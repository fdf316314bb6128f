//! What may be repeated: by method, by header, and by what the server says.

use super::stack::*;
use http::{HeaderMap, StatusCode};
use http_retry::testing::Script;
use http_retry::tower::RetryLayer;
use http_retry::{Class, Methods, Outcome, Reach, StopReason};
use std::io;
use std::time::Duration;

#[test]
fn a_post_is_not_repeated_if_it_may_be_processed() {
    for status in statuses(|class, reach| repeats(class) && !reach.is_unprocessed()) {
        let client = Script::new().status(status);
        assert_eq!(attempts(&client, post()), 1, "{status}");
    }
    let reset = Script::new().error(io::ErrorKind::ConnectionReset);
    assert_eq!(attempts(&reset, post()), 1);
}

#[test]
fn the_report_says_why_a_post_is_not_repeated() {
    let client = Script::new().status(500).body("sorry");
    let response = sent_through(layer(), &client, post()).unwrap();
    assert_eq!(report(&response).stop, StopReason::NotIdempotent);
    assert_eq!(body_of(response), "sorry");
}

#[test]
fn a_post_is_repeated_where_the_server_did_not_process_it() {
    for status in statuses(|class, reach| repeats(class) && reach.is_unprocessed()) {
        let client = Script::new().status(status);
        assert_eq!(attempts(&client, post()), 3, "{status}");
    }
    let client = Script::new().status(413).header("retry-after", "1");
    assert_eq!(attempts(&client, post()), 3);
    let refused = Script::new().error(io::ErrorKind::ConnectionRefused);
    assert_eq!(attempts(&refused, post()), 3);
}

#[test]
fn a_retry_after_that_is_not_valid_is_no_invitation() {
    let client = Script::new().status(413).header("retry-after", "soon");
    assert_eq!(attempts(&client, post()), 1);
}

fn inviting_503() -> Script {
    Script::new().status(503).header("retry-after", "1")
}

#[test]
fn an_inviting_503_is_no_proof_that_a_post_was_not_processed() {
    assert_eq!(attempts(&inviting_503(), post()), 1);
    assert_eq!(attempts(&inviting_503(), get()), 3);
}

#[test]
fn who_knows_that_503_refuses_says_so() {
    let refusal = |outcome: &Outcome<'_>| {
        let invited = outcome.server_delay(Duration::ZERO).is_some();
        let refused = outcome.status()? == 503 && invited;
        refused.then_some((Class::Throttled, Reach::Refused))
    };
    let taught = policy().classify(refusal);
    for policy in [taught, policy().methods(Methods::All)] {
        let client = inviting_503();
        let layer = RetryLayer::new(policy.build().unwrap());
        let _ = sent_through(layer, &client, post());
        assert_eq!(client.calls().len(), 3);
    }
}

#[test]
fn a_post_with_an_idempotency_key_is_repeated() {
    for name in ["idempotency-key", "x-idempotency-key"] {
        let mut request = post();
        let key = http::HeaderValue::from_static("order-7");
        request.headers_mut().insert(name, key);
        assert_eq!(attempts(&Script::new().status(500), request), 3, "{name}");
    }
}

#[test]
fn a_post_is_repeated_where_the_policy_allows_all_methods() {
    let client = Script::new().status(500);
    let policy = policy().methods(Methods::All).build().unwrap();
    let sent = sent_through(RetryLayer::new(policy), &client, post());
    assert_eq!(sent.unwrap().status(), 500);
    assert_eq!(client.calls().len(), 3);
}

#[test]
fn a_get_is_repeated_after_every_transient_failure() {
    for status in statuses(|class, _| repeats(class)) {
        let client = Script::new().status(status);
        assert_eq!(attempts(&client, get()), 3, "{status}");
    }
    for kind in [
        io::ErrorKind::ConnectionRefused,
        io::ErrorKind::ConnectionReset,
        io::ErrorKind::BrokenPipe,
        io::ErrorKind::TimedOut,
        io::ErrorKind::UnexpectedEof,
    ] {
        assert_eq!(attempts(&Script::new().error(kind), get()), 3, "{kind}");
    }
}

#[test]
fn a_get_is_not_repeated_where_that_cannot_help() {
    for status in statuses(|class, _| !repeats(class)) {
        let client = Script::new().status(status).status(200);
        assert_eq!(attempts(&client, get()), 1, "{status}");
    }
    let unknown = Script::new().error(io::ErrorKind::Other).status(200);
    assert_eq!(attempts(&unknown, get()), 1);
}

/// The statuses of responses that the standard table judges so.
fn statuses(wanted: impl Fn(Class, Reach) -> bool) -> Vec<u16> {
    let headers = HeaderMap::new();
    let is_wanted = |status: &u16| {
        let status = StatusCode::from_u16(*status).unwrap();
        let outcome = Outcome::response(status, &headers);
        wanted(outcome.class(), outcome.reach())
    };
    let found: Vec<u16> = (200..600).filter(is_wanted).collect();
    assert!(found.len() > 2, "{found:?}");
    found
}

fn repeats(class: Class) -> bool {
    matches!(class, Class::Transient | Class::Throttled)
}

/// How often the request reaches the server.
fn attempts(client: &Script, request: Request) -> usize {
    let _ = sent_through(layer(), client, request);
    client.calls().len()
}

fn layer() -> RetryLayer {
    RetryLayer::new(policy().build().unwrap())
}
