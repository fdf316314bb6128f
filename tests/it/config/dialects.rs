//! What a document says of dialects: which one speaks where, rows of one's own, and rules that judge.

use super::client::{Client, Stack, get, post, send, statuses};
use super::{config, load, policy};
use http::{HeaderMap, StatusCode};
use http_retry::policy::{ErrorBody, Reason, Scope};
use http_retry::testing::Script;
use http_retry::{Class, Outcome, Reach};
use std::time::Duration;

const STACKS: [Stack; 2] = [Stack::Tower, Stack::Reqwest];

fn row(text: &str, route: Option<&str>) -> Option<String> {
    let policy = policy(&config(text), Some("s"), route);
    let headers = HeaderMap::new();
    let body = ErrorBody::read(b"You have exceeded a secondary rate limit.");
    let outcome = Outcome::response(StatusCode::FORBIDDEN, &headers).with_body(&body);
    let outcome = policy.classify(outcome);
    policy.row_of(&outcome).map(|row| row.to_string())
}

#[test]
fn the_nearest_place_says_which_dialect_speaks() {
    let at = |document: &str, service: &str, route: &str| {
        format!(
            "version: 1\n{document}\nservices: {{s: {{match: {{host: h}}, {service} \
             routes: [{{name: r, match: {{path: /r}}, {route} }}]}}}}"
        )
    };
    let github = Some("github[1]".to_owned());
    let text = at("dialect: github", "", "");
    assert_eq!(
        (row(&text, None), row(&text, Some("r"))),
        (github.clone(), github.clone())
    );
    let text = at("", "dialect: [aws, github],", "dialect: none");
    assert_eq!((row(&text, None), row(&text, Some("r"))), (github, None));
    let text = at("dialect: github", "dialect: ours,", "");
    let ours = "dialects: {ours: {from: github, rows: [{when: {status: 403, message: secondary}, as: permanent}]}}";
    let text = format!("{text}\n{ours}");
    assert_eq!(row(&text, None), Some("ours[0]".to_owned()));
}

const JUDGES: &str = "
version: 1
gate: off
retry: {jitter: none, base: 1s}
rules:
  - name: full
    when: {status: 507, json: {/error/code: [SLOW, BUSY]}}
    as: throttled
    reach: refused
    delay_from: [{header: x-wait, unit: ms}, {json: /wait, unit: s}]
    at_least: 3s
    scope_from: route
    reason: quota_exhausted
  - when: {status: 404, retryable: true}
    do: stop
";

#[test]
fn a_rule_that_judges_leaves_the_rest_to_the_policy() {
    let config = config(JUDGES);
    // On reqwest nobody knows of redirects, and a POST stays.
    for (stack, request) in [(Stack::Tower, post()), (Stack::Reqwest, get())] {
        let script = Script::new()
            .status(507)
            .header("x-wait", "1500")
            .body(r#"{"error": {"code": "BUSY"}, "wait": 7}"#)
            .status(200);
        let told = send(stack, &config, &Client::new(script), request);
        assert_eq!(told.attempts(), 2, "{stack:?}");
        let first = &told.report.attempts[0];
        assert_eq!(
            (first.class, first.reach),
            (Class::Throttled, Reach::Refused)
        );
        assert_eq!(first.asked, Some(Duration::from_secs(7)));
        assert_eq!(
            (first.row.as_deref(), first.scope),
            (Some("full"), Some(Scope::Route))
        );
        assert_eq!(first.reason.map(Reason::as_str), Some("quota_exhausted"));
        // The same status without the words.
        let other = Script::new().status(507).body("{}").status(200);
        let told = send(stack, &config, &Client::new(other), get());
        let first = &told.report.attempts[0];
        assert_eq!(
            (first.class, first.reach),
            (Class::Transient, Reach::Answered)
        );
        assert_eq!(first.row, None);
    }
}

const JUDGES_BRIEFLY: &str = "
version: 1
gate: off
retry: {jitter: none, base: 1s}
dialect: ours
dialects:
  ours:
    rows:
      - {when: {status: 507}, as: throttled, delay_from: {json: /wait, unit: s}, scope_from: route}
rules:
  - {name: full, when: {status: 507}, as: transient, reach: refused}
";

#[test]
fn a_rule_that_judges_hides_no_delay_or_scope_of_a_dialect() {
    let config = config(JUDGES_BRIEFLY);
    for (stack, request) in [(Stack::Tower, post()), (Stack::Reqwest, get())] {
        let script = Script::new().status(507).body(r#"{"wait": 7}"#).status(200);
        let told = send(stack, &config, &Client::new(script), request);
        assert_eq!(told.attempts(), 2, "{stack:?}");
        let first = &told.report.attempts[0];
        assert_eq!(
            (first.class, first.reach),
            (Class::Transient, Reach::Refused)
        );
        assert_eq!(first.row.as_deref(), Some("full"));
        assert_eq!(
            (first.asked, first.scope),
            (Some(Duration::from_secs(7)), Some(Scope::Route))
        );
    }
}

#[test]
fn header_rules_can_be_switched_off() {
    let forbidden = || statuses(&[403]).header("retry-after", "1");
    for (text, wanted) in [
        ("version: 1\ngate: off", 2),
        ("version: 1\ngate: off\nheader_rules: false", 1),
    ] {
        for stack in STACKS {
            let script = forbidden().status(200);
            let told = send(stack, &config(text), &Client::new(script), get());
            assert_eq!(told.attempts(), wanted, "{stack:?} {text}");
        }
    }
}

/// What a document says, and what is said of it.
const WRONG: [(&str, &str); 13] = [
    ("dialect: githup", "dialect: \"githup\" is no dialect"),
    (
        "services: {s: {match: {host: h}, dialect: [github, nope]}}",
        "services.s.dialect: \"nope\" is no dialect",
    ),
    ("dialects: {a: {from: b}, b: {from: a}}", "from cycle"),
    (
        "dialects: {a: {from: nope}}",
        "dialects.a.from: \"nope\" is no dialect",
    ),
    (
        "dialects: {a: {rows: [{as: permanent}]}}",
        "dialects.a.rows[0]",
    ),
    ("dialects: {a: {rows: [{when: 429}]}}", "dialects.a.rows[0]"),
    (
        "dialects: {a: {rows: [{when: {attempt: 1}, as: permanent}]}}",
        "dialects.a.rows[0].when: a row looks at answers",
    ),
    (
        "dialects: {a: {rows: [{when: 429, as: throttled, delay_from: {header: x, unit: sec}}]}}",
        "dialects.a.rows[0].delay_from.unit: \"sec\" is not known: did you mean s?",
    ),
    (
        "dialects: {a: {rows: [{when: 429, as: throttled, delay_from: {header: x, json: /a}}]}}",
        "must hold exactly one of header, json and prose",
    ),
    (
        "rules: [{when: {json: error/code}, as: throttled}]",
        "rules[0].when.json: invalid JSON pointer: a pointer starts with a slash",
    ),
    (
        "rules: [{when: 429, do: stop, reach: refused}]",
        "rules[0].reach: reach has no effect",
    ),
    (
        "rules: [{when: {idempotent: true}, as: permanent}]",
        "rules[0].when: a row looks at answers",
    ),
    (
        "rules: [{when: {header: {x: {is: a, number: 1}}}, do: stop}]",
        "exactly one of is, name, starts, has, number",
    ),
];

#[test]
fn what_cannot_work_is_told_with_its_place() {
    for (text, wanted) in WRONG {
        let errors = load(&format!("version: 1\n{text}"))
            .unwrap_err()
            .to_string();
        assert!(errors.contains(wanted), "{text}\n{errors}");
    }
}
