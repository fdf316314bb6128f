//! The same rule by code and by document.

use super::super::client::{Client, Decides, Ended, STACKS, Stack, get, send, statuses};
use super::super::{config, delays};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use http_retry::rules::{
    Action, CannedResponse, Condition, Counter, ErrorGroup, OnExhausted, Rule, RuleBuilder,
    ServerDelays, Wait,
};
use http_retry::testing::Script;
use http_retry::{Backoff, ConfigError, Jitter, RetryPolicy, RetryPolicyBuilder, StopReason};
use std::io::ErrorKind;
use std::time::Duration;

type Built = Result<RetryPolicyBuilder, ConfigError>;

struct Case {
    /// What the document says in `retry`, after a comma.
    retry: &'static str,
    /// What it says beside that.
    document: &'static str,
    code: fn(RetryPolicyBuilder) -> Built,
    script: fn() -> Script,
    /// The statuses that are met, and why it ends.
    met: (&'static [u16], StopReason),
}

const SECOND: Duration = Duration::from_secs(1);

fn base() -> RetryPolicyBuilder {
    RetryPolicy::builder()
        .max_retries(3)
        .backoff(Backoff::fixed(SECOND).jitter(Jitter::None))
        .max_gate_wait(None)
}

/// Retries at once.
fn at_once(retries: u32) -> RetryPolicyBuilder {
    base().max_retries(retries).backoff(Backoff::none())
}

fn status(status: u16) -> Result<RuleBuilder, ConfigError> {
    Ok(Rule::when(Condition::status([status])?))
}

fn headers(name: &'static str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(name, HeaderValue::from_static("yes"));
    headers
}

const VERDICTS: [Case; 6] = [
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

const RETRIES: [Case; 4] = [
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

const LISTS: [Case; 5] = [
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

fn on(stack: Stack, decides: &impl Decides, case: &Case) -> (Ended, Vec<Vec<String>>) {
    let client = Client::new((case.script)());
    let ended = send(stack, decides, &client, get());
    (ended, client.header("x-again"))
}

#[test]
fn a_rule_in_code_decides_as_the_same_in_a_document() {
    for case in VERDICTS.iter().chain(&RETRIES).chain(&LISTS) {
        let Case {
            retry, document, ..
        } = case;
        let text = format!(
            "version: 1\ngate: off\nretry: {{backoff: fixed, base: 1s, jitter: none, max_retries: 3{retry}}}\n{document}\n"
        );
        let (said, built) = (config(&text), (case.code)(base()).unwrap().build().unwrap());
        for stack in STACKS {
            let (by_document, sent) = on(stack, &said, case);
            let (by_code, sent_by_code) = on(stack, &built, case);
            assert_eq!((&*by_code.statuses(), by_code.stop()), case.met, "{text}");
            assert_eq!(told(&by_code), told(&by_document), "{text} on {stack:?}");
            assert_eq!(sent_by_code, sent, "{text} on {stack:?}");
        }
        let text = said.routes().pop().unwrap().policy.explain();
        for line in built
            .explain()
            .lines()
            .filter(|line| line.contains("rule "))
        {
            assert!(text.contains(line), "{line} is not in {text}");
        }
    }
}

/// All that a caller can see.
fn told(ended: &Ended) -> impl PartialEq + std::fmt::Debug + '_ {
    (
        (ended.status, ended.failed, &*ended.body),
        ended.headers.get(CONTENT_TYPE),
        (ended.statuses(), ended.rules(), ended.stop()),
        delays(&ended.report),
    )
}

#[test]
fn a_rule_may_leave_an_outcome_to_its_class() {
    let teapots = Condition::status([418, 503]).unwrap();
    let policy = base()
        .rule(Rule::when(teapots).then(Action::Classify))
        .otherwise(Action::Fail)
        .build()
        .unwrap();
    assert_eq!(policy.worst_case().attempts, Some(4));
    for (list, met, stop) in [
        (&[503, 418][..], &[503, 418][..], StopReason::NotRetryable),
        (&[500], &[500], StopReason::Failed),
    ] {
        for stack in STACKS {
            let ended = send(stack, &policy, &Client::new(statuses(list)), get());
            assert_eq!((&*ended.statuses(), ended.stop()), (met, stop));
        }
    }
}

#[test]
fn a_rule_that_cannot_work_is_refused() {
    let always = || Rule::when(Condition::always());
    let ruled = || base().rule(always().stop()).build().unwrap();
    let own = || base().build().unwrap();
    let unnamed = |wait: Wait| base().rule(always().wait(wait));
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
        (base().retry_on([]), "retry_on"),
        (base().stop_on([]), "stop_on"),
        (unnamed(Wait::new().delay(SECOND)), "rule"),
        (
            unnamed(Wait::new().delay(Duration::ZERO).at_most(1)),
            "rule",
        ),
        (unnamed(Wait::new().at_most(0)), "rule"),
        (
            unnamed(Wait::new().at_most(1)).backoff(Backoff::none()),
            "rule",
        ),
    ] {
        let error = builder.build().map(drop).unwrap_err();
        assert_eq!(error.field(), field, "{error}");
    }
    let ends = unnamed(Wait::new()).deadline(SECOND * 9).build();
    assert!(ends.is_ok());
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
        assert_eq!(condition.unwrap_err().field(), field);
    }
}
