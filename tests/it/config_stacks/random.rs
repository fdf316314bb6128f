//! Documents, scripts and requests out of a seed.

use http::Method;
use http_retry::RetryOverride;
use http_retry::config::{Document, RetryConfig};
use http_retry::testing::Script;
use serde_json::{Map, Value, json};
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
        let mut random = Random(seed);
        let fails = random.one_in(2);
        let document = (0..1_000)
            .map(|_| serde_json::from_value(document(&mut random)).unwrap())
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
        1 => RetryOverride::new().max_retries(random.number(4)),
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

fn document(random: &mut Random) -> Value {
    let mut document = json!({
        "version": 1,
        "budgets": {
            "small": {"capacity": 3, "initial": 2, "per_success": 0.5},
            "large": {"capacity": 100, "initial": 100, "timeout_cost": 3},
        },
        "policies": {"named": retry(random, None)},
        "services": {
            "main": {"match": {"host": "main.example"}, "base_url": "http://main.example/v1"},
            "spare": {"base_url": "http://spare.example/below"},
        },
    });
    place(random, &mut document, None);
    place(random, &mut document["services"]["spare"], None);
    let main = &mut document["services"]["main"];
    place(random, main, Some("spare"));
    if random.one_in(2) {
        main["request_overrides"] = json!(random.one_of(&["allow", "fill_only", "deny"]));
    }
    if random.one_in(2) {
        main["routes"] = json!([{"name": "chat", "match": {"path": "/v1/*"}}]);
        place(random, &mut main["routes"][0], Some("spare"));
    }
    document
}

/// What the document, a service and a route have in common.
fn place(random: &mut Random, place: &mut Value, other: Option<&str>) {
    if random.one_in(2) {
        place["retry"] = retry(random, other);
    }
    if random.one_in(2) {
        let rules = 1 + random.below(3);
        place["rules"] = (0..rules).map(|_| rule(random, other)).collect();
    }
    if random.one_in(4) {
        let words = ["classify", "accept", "fail", "by_outcome"];
        place["otherwise"] = match random.one_in(3) {
            true => json!({"retry": retry(random, None)}),
            false => json!(random.one_of(&words)),
        };
    }
}

fn retry(random: &mut Random, other: Option<&str>) -> Value {
    let jitters = [
        json!("none"),
        json!("full"),
        json!("equal"),
        json!("20%"),
        json!({"min": 0.5, "max": 1.5}),
    ];
    let asked = [
        json!("respect"),
        json!("ignore"),
        json!({"max": "2s"}),
        json!({"max": "2s", "over": "clamp"}),
    ];
    let fields = [
        ("max_retries", json!(random.below(5))),
        ("jitter", random.one_of(&jitters)),
        ("cap", json!(random.one_of(&["both", "before", "after"]))),
        ("retry_on", json!([when(random, 1), when(random, 1)])),
        ("stop_on", json!([when(random, 1)])),
        ("retry_after", random.one_of(&asked)),
        ("methods", json!(random.one_of(&["idempotent", "all"]))),
        ("deadline", json!(random.one_of(&["5s", "40s"]))),
        ("attempt_timeout", json!("10s")),
        ("counter", json!(random.one_of(&["request", "rule"]))),
        ("budget", json!(random.one_of(&["small", "large"]))),
        ("on_exhausted", exhausted(random, other)),
    ];
    let mut retry = backoff(random);
    for (name, value) in fields {
        // Lists narrow so much that they are rare.
        let rare = matches!(name, "retry_on" | "stop_on" | "deadline");
        if random.one_in(if rare { 8 } else { 3 }) {
            retry.insert(name.to_owned(), value);
        }
    }
    Value::Object(retry)
}

fn backoff(random: &mut Random) -> Map<String, Value> {
    let growths = [
        json!("none"),
        json!("fixed"),
        json!("linear"),
        json!("exponential"),
        json!(["1s", "3s"]),
    ];
    let fields = [
        ("backoff", random.one_of(&growths)),
        ("base", json!(random.one_of(&["100ms", "1s", "2s 500ms"]))),
        ("factor", json!(random.one_of(&[1.0, 1.5, 3.0]))),
        ("first_step", json!(random.below(2))),
        ("max_delay", json!(random.one_of(&["none", "4s", "1m"]))),
        ("jitter", json!("decorrelated")),
    ];
    let fields = fields.into_iter().filter(|_| random.one_in(3));
    fields
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

fn exhausted(random: &mut Random, other: Option<&str>) -> Value {
    let respond = json!({"respond": {"status": 299, "headers": {"x-own": "1"}, "body": "own"}});
    match (other, random.below(4)) {
        (Some(service), 0) => json!({"failover": service}),
        (_, 1) => respond,
        (_, 2) => json!("fail"),
        _ => json!("last"),
    }
}

fn rule(random: &mut Random, other: Option<&str>) -> Value {
    let mut rule = json!({"when": when(random, 2)});
    let words = ["accept", "fail", "stop", "retry", "continue", "prune"];
    match (random.below(8), other) {
        (0..=2, _) => rule["do"] = json!(random.one_of(&words)),
        (3 | 4, _) => rule["retry"] = retry(random, None),
        (5, _) => rule["retry"] = json!("named"),
        (6, _) | (_, None) => {
            let delays = [json!("2s"), json!("700ms")];
            rule["wait"] = json!({"at_most": 1 + random.below(3)});
            if random.one_in(2) {
                rule["wait"]["delay"] = random.one_of(&delays);
            }
            if random.one_in(3) {
                rule["wait"]["max"] = json!("3s");
            }
        }
        (_, Some(service)) => rule["failover"] = json!(service),
    }
    if rule["do"].is_null() && random.one_in(3) {
        rule["set"] = json!({"headers": {"x-again": "1"}});
    }
    let given = rule
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, value)| !value.is_null());
    Value::Object(
        given
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
    )
}

fn when(random: &mut Random, depth: u32) -> Value {
    if depth > 0 && random.one_in(4) {
        let (one, other) = (when(random, depth - 1), when(random, depth - 1));
        return match random.below(3) {
            0 => json!({"any": [one, other]}),
            1 => json!({"all": [one, other]}),
            _ => json!({"not": one}),
        };
    }
    let tests = [
        ("outcome", json!(random.one_of(&["ok", "error"]))),
        (
            "status",
            random.one_of(&[
                json!("5xx"),
                json!([429, 503]),
                json!("400-409"),
                json!(">=500"),
                json!(202),
            ]),
        ),
        (
            "error",
            random.one_of(&[json!("any"), json!("connect"), json!(["reset", "timeout"])]),
        ),
        (
            "code",
            random.one_of(&[json!("busy"), json!(["RESOURCE_EXHAUSTED", "x"])]),
        ),
        (
            "message",
            random.one_of(&[json!("SLOW down"), json!("reset"), json!("not json")]),
        ),
        (
            "header",
            random.one_of(&[json!("retry-after"), json!({"x-state": "running"})]),
        ),
        (
            "method",
            random.one_of(&[json!("GET"), json!(["POST", "PUT"])]),
        ),
        (
            "attempt",
            random.one_of(&[json!(1), json!("<3"), json!(">=2")]),
        ),
        ("retryable", json!(random.one_in(2))),
        ("idempotent", json!(random.one_in(2))),
    ];
    let mut when = Map::new();
    for _ in 0..1 + random.below(2) {
        let (name, value) = random.one_of(&tests);
        when.insert(name.to_owned(), value);
    }
    Value::Object(when)
}

/// SplitMix64: the same numbers from the same seed, everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn number(&mut self, end: u32) -> u32 {
        u32::try_from(self.below(end.into())).unwrap()
    }

    fn one_in(&mut self, number: u64) -> bool {
        self.below(number) == 0
    }

    fn one_of<T: Clone>(&mut self, choices: &[T]) -> T {
        let place = usize::try_from(self.next()).unwrap() % choices.len();
        choices[place].clone()
    }
}
