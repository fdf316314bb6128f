//! Rules, each by document and by code.

use super::super::super::client::statuses;
use super::{SECOND, base, headers};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_retry::rules::{
    Action, CannedResponse, Condition, Counter, ErrorGroup, OnExhausted, Rule, RuleBuilder,
    ServerDelays, Wait,
};
use http_retry::testing::Script;
use http_retry::{Backoff, ConfigError, RetryPolicyBuilder, StopReason};
use std::io::ErrorKind;

type Built = Result<RetryPolicyBuilder, ConfigError>;

pub(super) struct Case {
    /// What the document says in `retry`, after a comma.
    pub(super) retry: &'static str,
    /// What it says beside that.
    pub(super) document: &'static str,
    pub(super) code: fn(RetryPolicyBuilder) -> Built,
    pub(super) script: fn() -> Script,
    /// The statuses that are met, and why it ends.
    pub(super) met: (&'static [u16], StopReason),
}

/// Retries at once.
fn at_once(retries: u32) -> RetryPolicyBuilder {
    base().max_retries(retries).backoff(Backoff::none())
}

fn status(status: u16) -> Result<RuleBuilder, ConfigError> {
    Ok(Rule::when(Condition::status([status])?))
}

pub(super) const VERDICTS: [Case; 6] = [
    Case {
        retry: "",
        document: "rules: [{name: gone, when: {status: 500}, do: stop}]",
        code: |policy| Ok(policy.rule(status(500)?.named("gone").stop())),
        script: || statuses(&[503, 500]),
        met: (&[503, 500], StopReason::Stopped),
    },
    Case {
        retry: "",
        document: "rules: [{when: {status: 410}, do: stop}, {when: {status: 4xx}, do: accept}]",
        code: |policy| {
            let policy = policy.rule(status(410)?.stop());
            Ok(policy.rule(Rule::when(Condition::status(400..=499)?).accept()))
        },
        script: || statuses(&[404]),
        met: (&[404], StopReason::Accepted),
    },
    Case {
        retry: "",
        document: "rules: [{when: {header: x-down}, do: fail}]",
        code: |policy| {
            let down = http::HeaderName::from_static("x-down");
            Ok(policy.rule(Rule::when(Condition::header(down)).fail()))
        },
        script: || Script::new().status(200).header("x-down", "1"),
        met: (&[200], StopReason::Failed),
    },
    Case {
        retry: "",
        document: "rules: [{name: poll, when: {status: 202}, wait: {delay: 2s, at_most: 2}}]",
        code: |policy| {
            let wait = Wait::new().delay(SECOND * 2).at_most(2);
            Ok(policy.rule(status(202)?.named("poll").wait(wait)))
        },
        script: || statuses(&[202, 202, 202, 200]),
        met: (&[202, 202, 202], StopReason::WaitsExhausted),
    },
    Case {
        retry: "",
        document: "rules: [{when: {status: 400}, do: accept}]\notherwise: fail",
        code: |policy| {
            let policy = policy.rule(status(400)?.accept());
            Ok(policy.otherwise(Action::Fail))
        },
        script: || statuses(&[503]),
        met: (&[503], StopReason::Failed),
    },
    Case {
        retry: "",
        document: "otherwise: {retry: {max_retries: 1, backoff: none}}",
        code: |policy| Ok(policy.otherwise(Action::Retry(at_once(1).build()?))),
        script: || statuses(&[404, 404, 200]),
        met: (&[404, 404], StopReason::AttemptsExhausted),
    },
];

pub(super) const RETRIES: [Case; 4] = [
    Case {
        retry: "",
        document: "rules: [{name: locked, when: {status: 409, message: Locked}, retry: {max_retries: 2, backoff: none}}]",
        code: |policy| {
            let locked = Condition::status([409])?.and(Condition::message("Locked")?);
            let again = at_once(2).build()?;
            Ok(policy.rule(Rule::when(locked).named("locked").retry(again)))
        },
        script: || {
            let locked = Script::new().status(409).body("it is locked");
            locked.status(409).body("no")
        },
        met: (&[409, 409], StopReason::NotRetryable),
    },
    Case {
        retry: "",
        document: "rules: [{when: {code: busy}, retry: {backoff: none}, set: {headers: {x-again: 'yes'}}}]",
        code: |policy| {
            let busy = Rule::when(Condition::code("busy")?);
            Ok(policy.rule(
                busy.set_headers(headers("x-again"))
                    .retry(at_once(3).build()?),
            ))
        },
        script: || {
            let busy = Script::new()
                .status(400)
                .body(r#"{"error": {"code": "busy"}}"#);
            busy.status(200)
        },
        met: (&[400, 200], StopReason::Succeeded),
    },
    Case {
        retry: "",
        document: "rules: [{when: {status: 409}, retry: {max_retries: 1, counter: rule, backoff: none}}]",
        code: |policy| {
            let own = at_once(1).counter(Counter::Rule).build()?;
            Ok(policy.rule(status(409)?.retry(own)))
        },
        script: || statuses(&[503, 503, 409, 409]),
        met: (&[503, 503, 409, 409], StopReason::AttemptsExhausted),
    },
    Case {
        retry: "",
        document: "rules: [{when: {any: [{error: reset}, {status: 404}], method: GET, attempt: '<3'}, do: retry}]",
        code: |policy| {
            let lost = Condition::error(ErrorGroup::Reset).or(Condition::status([404])?);
            let when = lost
                .and(Condition::method(Method::GET))
                .and(Condition::attempt(..3)?);
            Ok(policy.rule(Rule::when(when).retry(base().build()?)))
        },
        script: || {
            let lost = Script::new().error(ErrorKind::ConnectionReset);
            lost.status(404).status(404)
        },
        met: (&[0, 404, 404], StopReason::NotRetryable),
    },
];

pub(super) const LISTS: [Case; 5] = [
    Case {
        retry: ", retry_on: [409, {all: [{retryable: true}, {not: {status: 502}}]}]",
        document: "",
        code: |policy| {
            let most = Condition::retryable().and(!Condition::status([502])?);
            Ok(policy.retry_on([Condition::status([409])?, most]))
        },
        script: || statuses(&[409, 503, 502]),
        met: (&[409, 503, 502], StopReason::NotRetryable),
    },
    Case {
        retry: ", stop_on: [{header: {x-final: 'yes'}}]",
        document: "",
        code: |policy| {
            let name = http::HeaderName::from_static("x-final");
            Ok(policy.stop_on([Condition::header_is(name, "YES")]))
        },
        script: || {
            Script::new()
                .status(503)
                .status(503)
                .header("x-final", "yes")
        },
        met: (&[503, 503], StopReason::NotRetryable),
    },
    Case {
        retry: ", on_exhausted: {respond: {status: 299, headers: {content-type: text/x}, body: later}}",
        document: "",
        code: |policy| {
            let text = (CONTENT_TYPE, HeaderValue::from_static("text/x"));
            let canned = StatusCode::from_u16(299).map(CannedResponse::new).unwrap();
            let canned = canned.headers(HeaderMap::from_iter([text])).body("later");
            Ok(policy.on_exhausted(OnExhausted::Respond(canned)))
        },
        script: || statuses(&[503]),
        met: (&[503, 503, 503, 503], StopReason::AttemptsExhausted),
    },
    Case {
        retry: ", on_exhausted: fail",
        document: "",
        code: |policy| Ok(policy.on_exhausted(OnExhausted::Fail)),
        script: || statuses(&[500]),
        met: (&[500, 500, 500, 500], StopReason::AttemptsExhausted),
    },
    Case {
        retry: ", retry_after: ignore",
        document: "",
        code: |policy| Ok(policy.server_delays(ServerDelays::Ignore)),
        script: || {
            Script::new()
                .status(503)
                .header(RETRY_AFTER.as_str(), "99")
                .status(200)
        },
        met: (&[503, 200], StopReason::Succeeded),
    },
];
