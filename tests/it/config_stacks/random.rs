//! Documents, scripts and requests out of a seed.

mod document;

use crate::random::Random;
use http::Method;
use http_retry::RetryOverride;
use http_retry::config::{Document, RetryConfig};
use http_retry::testing::Script;
use std::io::ErrorKind;
use std::time::Duration;

/// One document, what the server does, and the requests that meet both.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) seed: u64,
    pub(super) document: Document,
    pub(super) orders: Vec<Order>,
    acts: Vec<Act>,
}

#[derive(Debug)]
pub(super) struct Order {
    pub(super) method: Method,
    pub(super) uri: String,
    pub(super) own: Option<RetryOverride>,
}

#[derive(Debug, Clone)]
enum Act {
    Answer(u16, Vec<(&'static str, &'static str)>, &'static str),
    Error(ErrorKind),
}

impl Case {
    /// The first document of the seed's that can be loaded.
    pub(super) fn of(seed: u64) -> Self {
        let mut random = Random::of(seed);
        let fails = random.one_in(2);
        let document = (0..1_000)
            .map(|_| serde_json::from_value(document::of(&mut random)).unwrap())
            .find(|document| RetryConfig::load(document).is_ok());
        let named = random.one_in(2);
        let acts = 1 + random.below(9);
        Self {
            seed,
            document: document.expect("one of so many can be loaded"),
            orders: (0..3).map(|_| order(&mut random, named)).collect(),
            acts: (0..acts).map(|_| act(&mut random, fails)).collect(),
        }
    }

    pub(super) fn script(&self) -> Script {
        self.acts
            .iter()
            .fold(Script::new(), |script, act| match act {
                Act::Error(kind) => script.error(*kind),
                Act::Answer(status, headers, body) => headers
                    .iter()
                    .fold(script.status(*status), |script, (name, value)| {
                        script.header(name, value)
                    })
                    .body(body),
            })
    }

    /// Whether no client fails and no request has settings of its own.
    pub(super) fn is_plain(&self) -> bool {
        let fails = self.acts.iter().any(|act| matches!(act, Act::Error(_)));
        !fails && self.orders.iter().all(|order| order.own.is_none())
    }
}

fn order(random: &mut Random, named: bool) -> Order {
    let own = named && random.one_in(2);
    let own = own.then(|| match random.below(6) {
        0 => RetryOverride::off(),
        1 => RetryOverride::new().max_retries(random.below(4)),
        2 => RetryOverride::new().idempotent(random.one_in(2)),
        3 => RetryOverride::new().deadline(Duration::from_secs(random.below(20))),
        4 => RetryOverride::new().service("spare"),
        _ => RetryOverride::new().service("nobody"),
    });
    let host = random.one_of(&[
        "main.example",
        "main.example",
        "main.example",
        "other.example",
    ]);
    let path = random.one_of(&["/v1/chat?q=1", "/v1/", "/v2/items/7", "/"]);
    Order {
        method: random.one_of(&[Method::GET, Method::PUT, Method::POST, Method::DELETE]),
        uri: format!("http://{host}{path}"),
        own,
    }
}

fn act(random: &mut Random, fails: bool) -> Act {
    if fails && random.one_in(4) {
        return Act::Error(random.one_of(&[
            ErrorKind::ConnectionReset,
            ErrorKind::ConnectionRefused,
            ErrorKind::TimedOut,
            ErrorKind::BrokenPipe,
            ErrorKind::UnexpectedEof,
            ErrorKind::Other,
        ]));
    }
    let statuses = [
        200, 200, 202, 204, 400, 404, 408, 409, 413, 425, 429, 500, 500, 501, 503, 503, 504, 529,
    ];
    let headers: [&[(&str, &str)]; 7] = [
        &[],
        &[],
        &[],
        &[("retry-after", "3")],
        &[("retry-after", "90000")],
        &[("retry-after-ms", "250"), ("x-state", "Running")],
        &[("x-state", "done")],
    ];
    let bodies = [
        "",
        r#"{"error": {"code": "busy", "message": "Slow down, please"}}"#,
        r#"{"status": "RESOURCE_EXHAUSTED"}"#,
        "slow down",
        "not JSON {",
    ];
    Act::Answer(
        random.one_of(&statuses),
        random.one_of(&headers).to_vec(),
        random.one_of(&bodies),
    )
}
