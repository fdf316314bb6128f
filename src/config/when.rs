//! WHEN: the conditions of a document.

use super::block::{Block, Node};
use super::headers::name_of;
use super::scalar::{attempts, methods, statuses, texts};
use super::shown::is_public;
use super::value::Value;
use crate::policy::{Condition, ErrorGroup, HeaderTest, ResultKind, Test};
use std::sync::Arc;

const TROUBLES: [(&str, ErrorGroup); 7] = [
    ("any", ErrorGroup::Any),
    ("connect", ErrorGroup::Connect),
    ("timeout", ErrorGroup::Timeout),
    ("reset", ErrorGroup::Reset),
    ("dns", ErrorGroup::Dns),
    ("tls", ErrorGroup::Tls),
    ("body", ErrorGroup::Body),
];

/// What reports call an error, and what people do, with the word for it here.
const MEANT: [(&str, &str); 19] = [
    ("refused", "connect"),
    ("unreachable", "connect"),
    ("connection", "connect"),
    ("connect_timeout", "connect, or timeout for all timeouts"),
    ("timed_out", "timeout"),
    ("incomplete", "reset"),
    ("closed", "reset"),
    ("eof", "reset"),
    ("broken_pipe", "reset"),
    ("http2", "reset"),
    ("not_processed", "reset"),
    ("resolve", "dns"),
    ("certificate", "tls"),
    ("ssl", "tls"),
    ("decode", "body"),
    ("request", "any"),
    ("redirect", "any"),
    ("protocol", "any"),
    ("other", "any"),
];

/// A list of conditions, of which one must hold.
pub(super) fn list(node: &Node<'_>) -> Option<Arc<[Condition]>> {
    if !matches!(node.value, Value::List(_)) {
        let example = "[\"5xx\", 429, {error: timeout}]";
        let write = match node.value {
            Value::Integer(_) => format!("[{}], or {example}", node.value),
            Value::Text(text) if is_public(text) => format!("[{}], or {example}", node.value),
            _ => example.to_owned(),
        };
        node.not(&format!("a list: write {write}"));
        return None;
    }
    let items = node.items();
    (!items.is_empty()).then(|| items.into_iter().map(read).collect())
}

/// A block of tests that must all hold; a bare status stands for a test of it.
pub(super) fn read(node: Node<'_>) -> Condition {
    if matches!(node.value, Value::Integer(_) | Value::Text(_)) {
        return Condition([Test::Status(statuses(&node))].into());
    }
    match node.value {
        Value::Map(_) => {}
        Value::List(_) => node.not("a condition: write {any: [...]}"),
        _ => node.not("a condition: write {status: 429}, 429 or \"5xx\""),
    }
    let Some(mut block) = node.map() else {
        return Condition::default();
    };
    let tests = read_tests(&mut block);
    let empty = "is empty: give at least one condition, such as {status: 429}";
    block.end_or(tests.is_empty().then_some(empty));
    Condition(tests.into())
}

fn read_tests(block: &mut Block<'_>) -> Vec<Test> {
    let mut tests = Vec::new();
    let mut test = |key: &'static str, read: &dyn Fn(Node<'_>) -> Option<Test>| {
        tests.extend(block.take(key).and_then(read));
    };
    test("outcome", &|node| {
        let word = node.word(&[("ok", ResultKind::Ok), ("error", ResultKind::Error)]);
        word.map(Test::Outcome)
    });
    test("status", &|node| Some(Test::Status(statuses(&node))));
    test("error", &|node| {
        let nodes = node.one_or_more();
        let troubles = nodes.iter();
        let troubles = troubles.filter_map(|node| node.word_meant(&TROUBLES, &MEANT));
        Some(Test::Error(troubles.collect()))
    });
    test("code", &|node| Some(Test::Code(texts(&node))));
    test("message", &|node| {
        let parts = texts(&node).into_iter().map(|text| text.to_lowercase());
        Some(Test::Message(parts.collect()))
    });
    test("header", &|node| Some(Test::Header(header_tests(&node))));
    test("method", &|node| Some(Test::Method(methods(&node))));
    test("attempt", &|node| Some(Test::Attempt(attempts(&node))));
    test("retryable", &|node| node.truth().map(Test::Retryable));
    test("idempotent", &|node| node.truth().map(Test::Idempotent));
    test("any", &|node| {
        Some(Test::Any(node.items().into_iter().map(read).collect()))
    });
    test("all", &|node| {
        Some(Test::All(node.items().into_iter().map(read).collect()))
    });
    test("not", &|node| Some(Test::Not(read(node))));
    tests
}

/// A name that must be there, a list of such names, or a map of names and what they must hold.
fn header_tests(node: &Node<'_>) -> Vec<HeaderTest> {
    if let Value::Map(map) = node.value {
        if map.is_empty() {
            node.wrong("is empty: give at least one header, or leave the key out");
        }
        let entries = node.entries().into_iter();
        return entries
            .filter_map(|(name, entry)| {
                let name = name_of(name, node)?;
                let node = entry;
                let values = match node.value {
                    Value::Bool(true) => None,
                    _ => Some(texts(&node)),
                };
                Some(HeaderTest { name, values })
            })
            .collect();
    }
    let names = node.one_or_more();
    let tests = names.iter().filter_map(|node| {
        Some(HeaderTest {
            name: name_of(node.text()?, node)?,
            values: None,
        })
    });
    tests.collect()
}
