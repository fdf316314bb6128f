//! The field `on_exhausted` of RETRY: a word or a map.

use crate::config::block::Node;
use crate::config::fields::{Type, block, checked, object, table, told, told_as, word_or_map};
use crate::config::given::Given;
use crate::config::headers::{headers, is_map, set};
use crate::config::schema::{exactly_one, only_with, with};
use crate::config::types::{name, truth, word};
use crate::config::value::Value;
use crate::config::words::words;
use crate::policy::Failover;
use http::{HeaderMap, StatusCode};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// What becomes of a request that has no retries left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::config) enum Exhausted {
    Last,
    Fail,
    Respond,
    Failover(Failover, Option<Arc<HeaderMap>>),
    DeadLetter(Arc<str>),
}

table! { layered
    /// Exactly one of these.
    OnExhausted("exhausted", "Once no retries are left", one_end()) {
        /// What becomes of the request.
        end as "": Given<Exhausted> = told(word::<Exhausted>()), unsaid();
        /// The caller gets this response, which no server has sent.
        respond: Response = Type { read: response, schema: object::<Response> };
        /// The request goes to this service, which must have a base_url, and by its policy, counted anew; the deadline
        /// stays.
        failover: Given<Arc<str>> = told(name());
        /// With failover: both services tell a repeated request from a new one together, so that an idempotency key (or
        /// RetryOverride::idempotent) that the first knows holds at the second. Default false: a request that may have
        /// been processed fails over only by its method or methods: all.
        same_keys: Given<bool> = told(truth()), default(&false);
        /// With failover: what changes in the request at the other service, such as the credentials there.
        set: Given<Arc<HeaderMap>> = told(set());
        /// The observer of this name gets the request's head and the report, and the caller the last outcome. The program
        /// gives the name with RetryConfig::builder().dead_letters(NAME, ..).
        dead_letter: Given<Arc<str>> = told(name());
    }
}

table! { layered
    /// A response that no server has sent.
    Response("response", "A response") {
        /// Its status, 200 to 599. Must be given here or in a layer below.
        status: Given<StatusCode> = told(Type { read: status, schema: |_| json!({"type": "integer", "minimum": 200, "maximum": 599}) });
        /// Its headers. Default none.
        headers: Given<Arc<HeaderMap>> = told_as(headers(), |_| "given".to_owned());
        /// Its body, a text. Default empty.
        body: Given<Arc<str>> = told_as(body(), |_| "given".to_owned()), default(&"");
    }
}

words! { Exhausted:
    "last" => Exhausted::Last, "fail" => Exhausted::Fail;
    "respond" => "{respond: {status: 503}}", "failover" => "{failover: SERVICE}",
    "dead_letter" => "{dead_letter: NAME}"
}

const ENDS: [&str; 3] = ["respond", "failover", "dead_letter"];

fn one_end() -> Json {
    let alone = ["same_keys", "set"].map(|key| only_with(key, &["failover"]));
    with(exactly_one(&ENDS), json!({"allOf": alone}))
}

pub(super) fn on_exhausted() -> Type<OnExhausted> {
    Type {
        read: read_on_exhausted,
        schema: |defs| word_or_map::<Exhausted, OnExhausted>("a map", defs),
    }
}

fn read_on_exhausted(node: &Node<'_>) -> Option<OnExhausted> {
    let Value::Map(_) = node.value else {
        return Some(OnExhausted {
            end: Some(Given::at(node, node.word()?)),
            ..OnExhausted::default()
        });
    };
    let read = checked(node, |_: &OnExhausted, block| {
        for key in ["same_keys", "set"] {
            if block.has(key) && !block.has("failover") {
                let cause = format!("{key} has no effect without failover");
                block.wrong_at(key, &"", cause);
            }
        }
        let said = ENDS.iter().filter(|key| block.has(key)).count();
        (said != 1).then_some("must hold exactly one of respond, failover and dead_letter")
    })?;
    let respond = read.respond.clone();
    let end = end_of(read);
    Some(OnExhausted {
        end: end.map(|(end, text)| Given::at(node, end).in_words(text)),
        respond,
        ..OnExhausted::default()
    })
}

/// What the map says, and the words for it.
fn end_of(read: OnExhausted) -> Option<(Exhausted, String)> {
    match (read.respond, read.dead_letter, read.failover) {
        (Some(_), ..) => Some((Exhausted::Respond, "respond".to_owned())),
        (_, Some(name), _) => {
            let text = format!("dead_letter {}", name.value);
            Some((Exhausted::DeadLetter(name.value), text))
        }
        (.., Some(service)) => {
            let same_keys = read.same_keys.is_some_and(|same| same.value);
            let more = if same_keys { ", same keys" } else { "" };
            let text = format!("failover {}{more}", service.value);
            let to = Failover {
                service: service.value,
                same_keys,
            };
            Some((Exhausted::Failover(to, read.set.map(|set| set.value)), text))
        }
        _ => None,
    }
}

/// What it holds may be a secret.
fn response(node: &Node<'_>) -> Option<Response> {
    match is_map(node) {
        true => (block::<Response>().read)(node),
        // So that it counts as said.
        false => Some(Response::default()),
    }
}

fn status(node: &Node<'_>) -> Option<StatusCode> {
    let number = node.count(200, 599)?;
    StatusCode::from_u16(u16::try_from(number).ok()?).ok()
}

fn body() -> Type<Arc<str>> {
    Type {
        read: |node| match node.value {
            Value::Text(text) => Some(text.as_str().into()),
            other => {
                let cause = format!("{} is not a text", other.kind());
                node.wrong_unseen(cause);
                None
            }
        },
        schema: |_| json!({"type": "string"}),
    }
}
