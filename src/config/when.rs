//! WHEN: the conditions of a document.

use super::answer::{header_tests, json_tests, paths, xml_tests};
use super::block::Node;
use super::fields::{Fields, Type, object, table};
use super::ranges::{attempts, status_schema, statuses};
use super::schema::{Defs, forms, list, one_or_more};
use super::shown::is_public;
use super::types::{methods, texts, truth, word};
use super::value::Value;
use super::words::{Words, words, words_of};
use crate::policy::rules::{HeadTest, JsonTest, XmlTest};
use crate::policy::{Condition, ErrorGroup, ResultKind, Test};
use http::Method;
use serde_json::{Value as Json, json};
use std::ops::RangeInclusive;
use std::sync::Arc;

table! {
    /// All keys must hold; a list inside of a key means "one of".
    When("when_map", "WHEN", json!({"minProperties": 1})) {
        /// Whether the attempt was a success (ok: 1xx, 2xx, 3xx) or not (error: any other status, or no answer).
        outcome: ResultKind = word::<ResultKind>();
        /// The status of the answer, 100 to 999: 429, "5xx", "500-599", ">=500", or a list. Never holds where there was no
        /// answer.
        status: Vec<RangeInclusive<u16>> = statuses();
        /// What went wrong where there was no answer, or a list: connect (refused, unreachable, no connection in time),
        /// timeout, reset (the connection broke, or HTTP/2 said so), dns, tls, body (the body was cut off or cannot be
        /// read), any.
        error: Vec<ErrorGroup> = errors();
        /// A whole token in a JSON error body, or a list, under a key such as code, type, status, reason, error,
        /// error_code or sqlstate. Reads at most 64 KiB of the body, and of failures only; the caller gets every byte all
        /// the same.
        code: Vec<String> = texts();
        /// A part of the error body, or of the error's own words, in any case; or a list. Reads at most 64 KiB of the
        /// body, and of failures only.
        message: Vec<String> = texts();
        /// A response header: its name, where being there is enough; a list of names; or a map of names and values (true:
        /// it is there; a text or a list: it is one of these; {number}, {starts}, {has}, {name} or {any_number}, of a
        /// {part} where there are several).
        header: Vec<HeadTest> = header_tests();
        /// A place of a JSON error body, by a pointer of RFC 6901 in which * stands for any member or item: a pointer,
        /// where being there is enough; a list of pointers; or a map of pointers and values, as for header. All of them
        /// must hold. Reads at most 64 KiB of the body.
        json: Vec<JsonTest> = json_tests();
        /// An element of an XML error body whose root is Error, ErrorResponse or Response: a map of names and texts, of
        /// which the first element of the name holds one. All of them must hold. Reads at most 64 KiB of the body.
        xml: Vec<XmlTest> = xml_tests();
        /// The request's path, in which * stands for anything: /v1/*, or a list.
        path: Vec<String> = paths();
        /// Whether the request carries an Idempotency-Key: true.
        keyed: bool = truth();
        /// The request's method, or a list.
        method: Vec<Method> = methods();
        /// The number of the attempt that ended, from 1: 1, "<3", "2-4", or a list. Waits and failovers count.
        attempt: Vec<RangeInclusive<u32>> = attempts();
        /// Whether the outcome is one that a later attempt may survive, as the standard tables have it: 408, 425, 429,
        /// most 5xx, connection trouble.
        retryable: bool = truth();
        /// Whether sending the request twice does no harm: by its method, its Idempotency-Key header, the policy's
        /// methods, or the request's own word.
        idempotent: bool = truth();
        /// At least one of these conditions holds.
        any: Vec<Condition> = several();
        /// All of these conditions hold.
        all: Vec<Condition> = several();
        /// This condition does not hold.
        not: Condition = when();
    }
}

words! { ResultKind:
    "ok" => ResultKind::Ok, "error" => ResultKind::Error
}

impl Words for ErrorGroup {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("any", Self::Any),
        ("connect", Self::Connect),
        ("timeout", Self::Timeout),
        ("reset", Self::Reset),
        ("dns", Self::Dns),
        ("tls", Self::Tls),
        ("body", Self::Body),
    ];
    /// What reports call an error, and what people do.
    const MEANT: &'static [(&'static str, &'static str)] = &[
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
}

fn errors() -> Type<Vec<ErrorGroup>> {
    Type {
        read: |node| Some(node.one_or_more().iter().filter_map(Node::word).collect()),
        schema: |_| one_or_more("an error", words_of::<ErrorGroup>()),
    }
}

fn several() -> Type<Vec<Condition>> {
    Type {
        read: |node| Some(node.items().iter().filter_map(read).collect()),
        schema: whens,
    }
}

fn whens(defs: &mut Defs) -> Json {
    let says = ["Conditions", "A list of conditions."];
    defs.named("whens", says, |defs| list(&(when().schema)(defs)))
}

/// A list of conditions, of which one must hold.
pub(super) fn conditions() -> Type<Arc<[Condition]>> {
    Type {
        read: |node| {
            if !matches!(node.value, Value::List(_)) {
                let example = "[\"5xx\", 429, {error: timeout}]";
                let write = match node.value {
                    Value::Integer(_) => format!("[{}], or {example}", node.value),
                    Value::Text(text) if is_public(text) => {
                        format!("[{}], or {example}", node.value)
                    }
                    _ => example.to_owned(),
                };
                node.not(&format!("a list: write {write}"));
                return None;
            }
            let items = node.items();
            (!items.is_empty()).then(|| items.iter().filter_map(read).collect())
        },
        schema: whens,
    }
}

/// A block of tests that must all hold; a bare status stands for a test of it.
pub(super) fn when() -> Type<Condition> {
    Type {
        read,
        schema: |defs| {
            let about = "A condition. All of its keys must hold; a list inside of a key means \"one of\". A bare status stands \
                for {status: ..}.";
            defs.named("when", ["WHEN", about], |defs| {
                forms([
                    ("a status", status_schema(defs)),
                    ("a map of tests", object::<When>(defs)),
                ])
            })
        },
    }
}

fn read(node: &Node<'_>) -> Option<Condition> {
    match node.value {
        Value::Integer(_) | Value::Text(_) => {
            let statuses = (statuses().read)(node)?;
            return Some(Condition([Test::Status(statuses)].into()));
        }
        Value::Map(_) => {}
        Value::List(_) => node.not("a condition: write {any: [...]}"),
        _ => node.not("a condition: write {status: 429}, 429 or \"5xx\""),
    }
    let mut block = node.map()?;
    let tests = tests(When::take(&mut block));
    let empty = "is empty: give at least one condition, such as {status: 429}";
    block.end_or(tests.is_empty().then_some(empty));
    Some(Condition(tests.into()))
}

fn tests(when: When) -> Vec<Test> {
    let lower = |parts: Vec<String>| parts.iter().map(|part| part.to_lowercase()).collect();
    let all = [
        when.outcome.map(Test::Outcome),
        when.status.map(Test::Status),
        when.error.map(Test::Error),
        when.code.map(Test::Code),
        when.message.map(lower).map(Test::Message),
        when.header.map(Test::Header),
        when.path.map(Test::Path),
        when.keyed.map(|keyed| match keyed {
            true => Test::Keyed,
            false => Test::Not(Condition([Test::Keyed].into())),
        }),
        when.method.map(Test::Method),
        when.attempt.map(Test::Attempt),
        when.retryable.map(Test::Retryable),
        when.idempotent.map(Test::Idempotent),
        when.any.map(Test::Any),
        when.all.map(Test::All),
        when.not.map(Test::Not),
    ];
    let places = when.json.into_iter().flatten().map(Test::Json);
    let elements = when.xml.into_iter().flatten().map(Test::Xml);
    let of_head = all.into_iter().flatten();
    of_head.chain(places).chain(elements).collect()
}
