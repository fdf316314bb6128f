//! Rules and conditions that cannot work.

use super::{SECOND, base, headers};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use http_retry::dialect::Dialect;
use http_retry::rules::{
    Action, CannedResponse, Condition, Failover, OnExhausted, Rule, RuleBuilder, Wait,
};
use http_retry::{Backoff, RetryPolicyBuilder};
use std::time::Duration;

fn always() -> RuleBuilder {
    Rule::when(Condition::always())
}

fn waiting(wait: Wait) -> RetryPolicyBuilder {
    base().rule(always().wait(wait))
}

#[test]
fn a_rule_that_cannot_work_is_refused() {
    let ruled = || base().rule(always().stop()).build().unwrap();
    let own = || base().build().unwrap();
    for (builder, field) in [
        (base().rule(always().named("").stop()), "rules[0].name"),
        (base().rule(always().named("a\nb").stop()), "rules[0].name"),
        (
            base()
                .rule(always().stop())
                .rule(always().named("b").fail()),
            "rules[1]",
        ),
        (
            base().rule(always().set_headers(headers("x-a")).stop()),
            "rules[0].set_headers",
        ),
        (
            base().rule(always().set_headers(HeaderMap::new()).retry(own())),
            "rules[0].set_headers",
        ),
        (base().rule(always().retry(ruled())), "rules[0].retry"),
        (base().otherwise(Action::Retry(ruled())), "otherwise"),
        (
            base().otherwise(Action::Wait(Wait::new().at_most(1))),
            "otherwise",
        ),
        (base().retry_on(Vec::<Condition>::new()), "retry_on"),
        (base().stop_on(Vec::<Condition>::new()), "stop_on"),
    ] {
        assert_refused(builder, field);
    }
}

#[test]
fn a_wait_that_cannot_work_is_refused() {
    for builder in [
        waiting(Wait::new().delay(SECOND)),
        waiting(Wait::new().delay(Duration::ZERO).at_most(1)),
        waiting(Wait::new().at_most(0)),
        waiting(Wait::new().at_most(1)).backoff(Backoff::none()),
    ] {
        assert_refused(builder, "rule");
    }
    let ends = waiting(Wait::new()).deadline(SECOND * 9).build();
    assert!(ends.is_ok());
}

fn assert_refused(builder: RetryPolicyBuilder, field: &str) {
    let error = builder.build().map(drop).unwrap_err();
    assert_eq!(error.field, field, "{error}");
}

#[test]
fn a_condition_that_holds_for_nothing_is_refused() {
    for (condition, field) in [
        (Condition::status([]), "status"),
        (Condition::status([99]), "status"),
        (Condition::status(500..=1000), "status"),
        (Condition::attempt(0..=1), "attempt"),
        (Condition::attempt(3..3), "attempt"),
        (Condition::message(""), "message"),
        (Condition::code(""), "code"),
    ] {
        assert_eq!(condition.unwrap_err().field, field);
    }
}

/// Headers that only a client sets.
const CLIENTS: [&str; 8] = [
    "content-length",
    "transfer-encoding",
    "trailer",
    "te",
    "connection",
    "keep-alive",
    "proxy-connection",
    "upgrade",
];

fn respond(response: CannedResponse) -> RetryPolicyBuilder {
    base().on_exhausted(OnExhausted::Respond(response))
}

fn canned(name: &'static str, value: &'static str) -> CannedResponse {
    let header = (
        HeaderName::from_static(name),
        HeaderValue::from_static(value),
    );
    let headers = HeaderMap::from_iter([header]);
    CannedResponse::new(StatusCode::SERVICE_UNAVAILABLE)
        .headers(headers)
        .body("later")
}

#[test]
fn no_setting_frames_a_request() {
    let own = || base().build().unwrap();
    for name in CLIENTS {
        for (builder, field) in [
            (
                base().rule(always().set_headers(headers(name)).retry(own())),
                "rules[0].set_headers",
            ),
            (
                base().on_exhausted(OnExhausted::failover_with(Failover::to("b"), headers(name))),
                "on_exhausted.failover.headers",
            ),
            (
                base().dialect(Dialect::named("a").key_header(HeaderName::from_static(name))),
                "key_header",
            ),
        ] {
            let error = builder.build().map(drop).unwrap_err();
            assert_eq!((&*error.field, &*error.given), (field, name), "{error}");
        }
    }
    for name in ["host", "expect", "content-encoding", "accept"] {
        let rule = always().set_headers(headers(name)).retry(own());
        assert!(base().rule(rule).build().is_ok(), "{name}");
    }
}

#[test]
fn a_made_up_response_is_framed_as_its_body_is() {
    for name in CLIENTS {
        let refused = respond(canned(name, "7"));
        assert_refused(refused, "on_exhausted.respond.headers");
    }
    for length in ["", "05", "+5", "5, 5", "hunter2"] {
        let refused = respond(canned("content-length", length));
        let error = refused.build().map(drop).unwrap_err();
        assert_eq!(
            error.to_string(),
            "on_exhausted.respond.headers: this content-length is not allowed: must be 5 once, the length of the \
             body, or be left out"
        );
    }
    let twice = headers("content-length");
    let twice = twice.iter().chain(&twice);
    let mut both = HeaderMap::new();
    for (name, _) in twice {
        both.append(name, HeaderValue::from_static("5"));
    }
    assert_refused(
        respond(canned("x-a", "1").headers(both)),
        "on_exhausted.respond.headers",
    );
    let no_content = |status| CannedResponse::new(StatusCode::from_u16(status).unwrap());
    for status in [204, 205, 304] {
        let with_body = no_content(status).body("x");
        assert_refused(respond(with_body), "on_exhausted.respond.body");
        assert!(respond(no_content(status)).build().is_ok());
    }
    for status in [100, 101, 199, 600, 999] {
        assert_refused(respond(no_content(status)), "on_exhausted.respond.status");
    }
    assert!(respond(canned("content-length", "5")).build().is_ok());
}
