//! Conditions on the body of an answer.

use super::super::super::client::{Client, STACKS, get, send};
use super::{check, errors, rule};
use http_retry::testing::Script;
use std::io::ErrorKind;

fn bodies(list: &[&str]) -> Vec<Script> {
    let answer = |body: &&str| Script::new().status(400).body(body);
    list.iter().map(answer).collect()
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
