//! Every condition, with an attempt that meets it and one that does not.

mod bodies;
mod requests;

use super::super::client::{Client, STACKS, Stack, get, send};
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
