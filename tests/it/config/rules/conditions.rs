//! Every condition, with an attempt that meets it and one that does not.

use super::super::client::{Client, STACKS, Stack, get, post, send, statuses};
use super::super::config;
use http::Request;
use http_retry::config::RetryConfig;
use http_retry::testing::Script;
use std::io::ErrorKind;

fn rule(when: &str) -> RetryConfig {
    config(&format!(
        "
version: 1
retry: {{backoff: none, max_retries: 3}}
rules: [{{name: hit, when: {when}, do: stop}}]
"
    ))
}

/// Whether the first attempt meets the condition.
fn meets(stack: Stack, when: &str, script: Script, request: Request<String>) -> bool {
    let ended = send(stack, &rule(when), &Client::new(script), request);
    ended.rules()[0] == Some("hit")
}

/// What meets a condition, and what does not.
fn check(when: &str, yes: impl IntoIterator<Item = Script>, no: impl IntoIterator<Item = Script>) {
    let yes = yes.into_iter().map(|script| (script, true));
    let no = no.into_iter().map(|script| (script, false));
    for (script, wanted) in yes.chain(no) {
        for stack in STACKS {
            // A script's clones share their list, and these hold one answer each.
            let met = meets(stack, when, script.clone(), get());
            assert_eq!(met, wanted, "{when} on {stack:?}, of {script:?}");
        }
    }
}

fn of(list: &[u16]) -> Vec<Script> {
    list.iter()
        .map(|status| Script::new().status(*status))
        .collect()
}

fn errors(kinds: &[ErrorKind]) -> Vec<Script> {
    kinds
        .iter()
        .map(|kind| Script::new().error(*kind))
        .collect()
}

fn bodies(list: &[&str]) -> Vec<Script> {
    let answer = |body: &&str| Script::new().status(400).body(body);
    list.iter().map(answer).collect()
}

#[test]
fn a_status() {
    check("{status: 429}", of(&[429]), of(&[428, 430, 200]));
    check("{status: 5xx}", of(&[500, 599]), of(&[499, 600]));
    check("{status: \"500-503\"}", of(&[500, 503]), of(&[499, 504]));
    check("{status: \">=500\"}", of(&[500, 999]), of(&[499]));
    check("{status: \">500\"}", of(&[501]), of(&[500]));
    check("{status: \"<500\"}", of(&[200, 499]), of(&[500]));
    check("{status: \"<=500\"}", of(&[500]), of(&[501]));
    check("{status: \"=500\"}", of(&[500]), of(&[501]));
    check("{status: [429, 5xx]}", of(&[429, 502]), of(&[404, 200]));
    check("{status: 2xx}", of(&[200, 204]), of(&[300]));
    check("{status: 5xx}", [], errors(&[ErrorKind::ConnectionReset]));
    check("503", of(&[503]), of(&[500]));
    check("5xx", of(&[503]), of(&[404]));
}

#[test]
fn an_outcome() {
    let refused = || errors(&[ErrorKind::ConnectionRefused]);
    let errors = || [of(&[404, 500]), refused()].concat();
    check("{outcome: ok}", of(&[200, 204, 304]), errors());
    check("{outcome: error}", errors(), of(&[200, 204, 304]));
}

#[test]
fn a_kind_of_error() {
    use ErrorKind::{ConnectionRefused, ConnectionReset, TimedOut, UnexpectedEof};
    let rest = |kinds: &[ErrorKind]| [errors(kinds), of(&[503])].concat();
    check(
        "{error: connect}",
        errors(&[ConnectionRefused]),
        rest(&[ConnectionReset, TimedOut]),
    );
    check(
        "{error: timeout}",
        errors(&[TimedOut]),
        rest(&[ConnectionRefused, ConnectionReset]),
    );
    let reset = errors(&[ConnectionReset, UnexpectedEof]);
    check(
        "{error: reset}",
        reset,
        rest(&[ConnectionRefused, TimedOut]),
    );
    let both = errors(&[TimedOut, ConnectionRefused]);
    check(
        "{error: [timeout, connect]}",
        both,
        rest(&[ConnectionReset]),
    );
    let every = errors(&[
        TimedOut,
        ConnectionRefused,
        ConnectionReset,
        ErrorKind::Other,
    ]);
    check("{error: any}", every, of(&[503, 200]));
    for kind in ["dns", "tls", "body"] {
        let none = rest(&[TimedOut, ConnectionRefused, ConnectionReset]);
        check(&format!("{{error: {kind}}}"), [], none);
    }
}

#[test]
fn a_code_of_a_json_body() {
    let yes = bodies(&[
        r#"{"error": {"code": "rate_limit"}}"#,
        r#"{"code": "rate_limit"}"#,
        r#"{"type": "rate_limit"}"#,
        r#"[{"reason": "rate_limit"}]"#,
        r#"{"__type": "ns#rate_limit"}"#,
        r#"{"code": "rate_limit", "cut": "of"#,
    ]);
    let no = bodies(&[
        r#"{"message": "rate_limit"}"#,
        r#"{"code": "rate_limit_reached"}"#,
        r#"{"code": "a rate_limit"}"#,
        "rate_limit",
        "",
    ]);
    check("{code: rate_limit}", yes, no);
    let numbers = bodies(&[r#"{"code": 1205}"#, r#"{"code": "1205"}"#]);
    check(
        "{code: [40001, 1205]}",
        numbers,
        bodies(&[r#"{"code": 12}"#]),
    );
    let success = Script::new().status(200).body(r#"{"code": "rate_limit"}"#);
    check("{code: rate_limit}", [], [success]);
}

#[test]
fn a_part_of_a_message() {
    let yes = bodies(&[
        "please Slow Down now",
        "<p>SLOW DOWN</p>",
        r#"{"m": "slow down"}"#,
    ]);
    check(
        "{message: slow down}",
        yes,
        bodies(&["slow", "down slow", ""]),
    );
    let either = bodies(&["try later", "come back"]);
    check("{message: [Later, come back]}", either, bodies(&["now"]));
    let success = Script::new().status(200).body("slow down");
    check("{message: slow down}", [], [success]);
    check(
        "{message: refused}",
        errors(&[ErrorKind::ConnectionRefused]),
        errors(&[ErrorKind::TimedOut]),
    );
}

/// The caller still gets every byte of what a rule has looked into.
#[test]
fn a_body_that_was_looked_into_is_whole() {
    let long = format!("{}slow down", "x".repeat(100_000));
    for stack in STACKS {
        for body in ["slow down", long.as_str()] {
            let client = Client::new(Script::new().status(400).body(body));
            let ended = send(stack, &rule("{message: slow down}"), &client, get());
            assert_eq!(ended.body, body);
        }
    }
}

#[test]
fn a_message_past_64_kib_is_not_looked_for() {
    let at = |start: usize| {
        Script::new()
            .status(400)
            .body(&format!("{}slow down", "x".repeat(start)))
    };
    check("{message: slow down}", [at(60_000)], [at(70_000)]);
}

#[test]
fn a_header() {
    let with = |name, value| Script::new().status(500).header(name, value);
    let any = [
        with("x-a", "1"),
        with("X-A", ""),
        Script::new().status(200).header("x-a", "1"),
    ];
    check("{header: x-a}", any, [with("x-b", "1")]);
    check(
        "{header: [x-a, x-b]}",
        [with("x-b", "1")],
        [with("x-c", "1")],
    );
    check(
        "{header: {x-a: true}}",
        [with("x-a", "1")],
        [with("x-b", "1")],
    );
    let yes = [with("x-a", "Busy"), with("x-a", " busy ")];
    check(
        "{header: {x-a: busy}}",
        yes,
        [with("x-a", "busy now"), with("x-b", "busy")],
    );
    check(
        "{header: {x-a: [1, 2]}}",
        [with("x-a", "2")],
        [with("x-a", "3")],
    );
    check(
        "{header: {x-a: 1, x-b: 2}}",
        [with("x-b", "2")],
        [with("x-b", "1")],
    );
    check("{header: x-a}", [], errors(&[ErrorKind::TimedOut]));
}

#[test]
fn a_method() {
    for stack in STACKS {
        let met = |when, request| meets(stack, when, statuses(&[500]), request);
        assert!(met("{method: GET}", get()));
        assert!(met("{method: get}", get()));
        assert!(met("{method: [PUT, POST]}", post()));
        assert!(!met("{method: GET}", post()));
        assert!(!met("{method: [PUT, POST]}", get()));
    }
}

#[test]
fn whether_it_is_idempotent() {
    let keyed = || {
        let mut request = post();
        let key = "idempotency-key";
        request.headers_mut().insert(key, "1".parse().unwrap());
        request
    };
    for stack in STACKS {
        let met = |when, request| meets(stack, when, statuses(&[500]), request);
        for request in [get(), keyed()] {
            assert!(met("{idempotent: true}", request.clone()));
            assert!(!met("{idempotent: false}", request));
        }
        assert!(met("{idempotent: false}", post()));
        assert!(!met("{idempotent: true}", post()));
    }
}

#[test]
fn whether_it_is_worth_a_retry() {
    let refused = || errors(&[ErrorKind::ConnectionRefused]);
    let worth = || [of(&[500, 503, 429, 408]), refused()].concat();
    check("{retryable: true}", worth(), of(&[200, 404, 501]));
    check("{retryable: false}", of(&[200, 404, 501]), worth());
}

#[test]
fn the_number_of_the_attempt() {
    let hits = |stack, when: &str| {
        let rules = config(&format!(
            "
version: 1
retry: {{backoff: none, max_retries: 3}}
rules: [{{name: hit, when: {{attempt: {when}}}, do: retry}}]
"
        ));
        let ended = send(stack, &rules, &Client::new(statuses(&[500])), get());
        let hits = ended.rules().into_iter().map(|rule| rule.is_some());
        hits.collect::<Vec<bool>>()
    };
    for stack in STACKS {
        assert_eq!(hits(stack, "1"), [true, false, false, false]);
        assert_eq!(hits(stack, "\"<3\""), [true, true, false, false]);
        assert_eq!(hits(stack, "\"2-3\""), [false, true, true, false]);
        assert_eq!(hits(stack, "\">=2\""), [false, true, true, true]);
        assert_eq!(hits(stack, "[1, 4]"), [true, false, false, true]);
        assert_eq!(hits(stack, "9"), [false; 4]);
    }
}

/// Waits count as attempts, though not as retries.
#[test]
fn a_wait_is_an_attempt() {
    let rules = config(
        "
version: 1
rules:
  - {name: late, when: {attempt: \">=3\"}, do: stop}
  - {name: poll, when: {status: 202}, wait: {delay: 1s, at_most: 9}}
",
    );
    for stack in STACKS {
        let ended = send(stack, &rules, &Client::new(statuses(&[202])), get());
        assert_eq!(ended.rules(), [Some("poll"), Some("poll"), Some("late")]);
    }
}

#[test]
fn all_keys_must_hold() {
    let both = |status, name| Script::new().status(status).header(name, "1");
    let no = [both(500, "x-b"), both(404, "x-a")];
    check("{status: 5xx, header: x-a}", [both(500, "x-a")], no);
}

#[test]
fn any_all_and_not() {
    check(
        "{any: [{status: 404}, {status: 500}]}",
        of(&[404, 500]),
        of(&[503]),
    );
    check("{any: [404, 5xx]}", of(&[404, 500]), of(&[403]));
    check(
        "{all: [{status: 5xx}, {status: \"<502\"}]}",
        of(&[500, 501]),
        of(&[502, 404]),
    );
    check("{not: {status: 5xx}}", of(&[404, 200]), of(&[500]));
    check("{not: 5xx}", of(&[404]), of(&[500]));
    check(
        "{status: 5xx, not: {any: [501, 503]}}",
        of(&[500]),
        of(&[501, 503, 404]),
    );
    check("{not: {not: {status: 500}}}", of(&[500]), of(&[501]));
}

#[test]
fn a_condition_on_the_body_stands_beside_others() {
    let body = |status, body| Script::new().status(status).body(body);
    let no = [body(500, "busy"), body(400, "idle"), body(200, "busy")];
    check("{status: 4xx, message: busy}", [body(400, "busy")], no);
    check(
        "{not: {message: busy}}",
        [body(400, "idle"), body(200, "busy")],
        [body(400, "busy")],
    );
    check(
        "{any: [{status: 500}, {message: busy}]}",
        [body(500, "idle"), body(400, "busy")],
        [body(400, "idle")],
    );
}
