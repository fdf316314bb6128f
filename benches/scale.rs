//! Many services, dialects and hosts: routing, loading and memory.
//!
//! ```text
//! cargo bench --all-features --bench scale
//! ```
#![allow(
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark looks at the clock, prints, and says what went wrong by panicking"
)]

mod callgrind;
mod table;

use allocation_counter::measure;
use futures_util::FutureExt;
use http::{HeaderMap, Method, StatusCode, Uri};
use http_retry::config::{Document, RetryConfig};
use http_retry::dialect::{Dialect, Dialects};
use http_retry::gate::Gate;
use http_retry::llm::LlmPreset;
use http_retry::policy::ErrorBody;
use http_retry::route::{RequestHead, Router};
use http_retry::rules::{Condition, Rule};
use http_retry::services::{Service, Services};
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use http_retry::{Outcome, RetryPolicy, RetryPolicyBuilder, ServiceBudgets};
use std::convert::Infallible;
use std::fs;
use std::future::ready;
use std::hint::black_box;
use std::process::Command;
use std::time::Instant;
use table::Target::{self, AtMost};
use tower::{Layer, ServiceExt};

const ROUNDS: usize = 51;
const REQUESTS: usize = 1_000;

fn main() {
    if let Some((case, times)) = callgrind::wanted() {
        return successes(&case, times);
    }
    if !table::is_wanted() {
        return;
    }
    routing();
    dialects();
    bodies();
    rules();
    documents();
    hosts();
    compile_time();
}

fn routing() {
    table::head("nanoseconds to find the route of a request, beside 10 services");
    let few = route_time(10, Kind::Exact);
    for (count, target) in [
        (1, Target::None),
        (1_000, AtMost(1.5)),
        (5_000, AtMost(1.5)),
    ] {
        let what = format!("{count} services");
        table::beside(&what, route_time(count, Kind::Exact), few, target);
    }
    let few = route_time(10, Kind::Wildcard);
    let many = route_time(5_000, Kind::Wildcard);
    // Four lookups instead of one, in tables that no longer fit the nearest cache.
    table::beside("5000 services by *.host", many, few, AtMost(2.0));
    let few = route_time(10, Kind::Stranger);
    let many = route_time(5_000, Kind::Stranger);
    table::beside("5000 services, none of them", many, few, AtMost(1.5));
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Exact,
    Wildcard,
    Stranger,
}

fn route_time(services: usize, kind: Kind) -> f64 {
    let builder = (0..services).fold(
        Services::builder(RetryPolicy::background()),
        |builder, number| {
            let host = match kind {
                Kind::Wildcard => format!("*.s{number}.example.com"),
                Kind::Exact | Kind::Stranger => format!("s{number}.example.com"),
            };
            let name = format!("s{number}");
            builder.service(Service::new(name, RetryPolicy::background()).host(&host))
        },
    );
    let services_built = builder.build().unwrap();
    let uris: Vec<Uri> = (0..REQUESTS)
        .map(|number| {
            let number = number * 7 % services;
            let uri = match kind {
                Kind::Exact => format!("http://s{number}.example.com/a"),
                Kind::Wildcard => format!("http://eu.s{number}.example.com/a"),
                Kind::Stranger => format!("http://t{number}.example.com/a"),
            };
            uri.parse().unwrap()
        })
        .collect();
    per_request(|| {
        for uri in &uris {
            let head = RequestHead::new(&Method::GET, uri);
            black_box(services_built.route(&head, None));
        }
    })
}

/// The nanoseconds of one request, where a round has [`REQUESTS`] of them.
fn per_request(mut round: impl FnMut()) -> f64 {
    let rounds = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        round();
        start.elapsed().as_nanos() as f64 / REQUESTS as f64
    });
    table::median(rounds.collect())
}

fn dialects() {
    table::head("nanoseconds to classify a 403 by the dialect of its host");
    let few = classify_time(10);
    let many = classify_time(5_000);
    table::beside("5000 hosts beside 10", many, few, AtMost(1.5));
}

fn classify_time(hosts: usize) -> f64 {
    let dialects = (0..hosts).fold(Dialects::by_host(), |dialects, number| {
        dialects.host(format!("h{number}.git.example"), Dialect::github())
    });
    let policy = RetryPolicy::background().to_builder().dialect(dialects);
    let policy = policy.build().unwrap();
    let headers = HeaderMap::from_iter([("x-ratelimit-remaining".parse().unwrap(), 0.into())]);
    let heads: Vec<RequestHead<'_>> = (0..REQUESTS)
        .map(|number| {
            let uri = format!("http://h{}.git.example/user", number * 7 % hosts);
            RequestHead::new(&Method::GET, &uri.parse().unwrap()).into_owned()
        })
        .collect();
    per_request(|| {
        for head in &heads {
            let outcome = Outcome::response(StatusCode::FORBIDDEN, &headers).of_request(head);
            black_box(policy.classify(outcome));
        }
    })
}

fn bodies() {
    table::head("microseconds to judge a 429 with 64 KiB of JSON by llm, beside a full parse");
    let items: Vec<serde_json::Value> = (0..720)
        .map(|id| serde_json::json!({"id": id, "name": format!("item {id}"), "tags": ["red", "green"], "score": 0.5, "ok": true}))
        .collect();
    let error = serde_json::json!({"code": "rate_limit_exceeded", "message": "try again in 20s"});
    let text = serde_json::json!({"error": error, "items": items}).to_string();
    let (policy, headers) = (RetryPolicy::llm(), HeaderMap::new());
    let judge = 1_000.0
        * milliseconds(11, || {
            let body = ErrorBody::read(text.as_bytes());
            let refused = Outcome::response(StatusCode::TOO_MANY_REQUESTS, &headers);
            black_box(policy.classify(refused.with_body(&body)));
        });
    let parse = 1_000.0
        * milliseconds(11, || {
            black_box(serde_json::from_str::<serde_json::Value>(&text).unwrap());
        });
    table::beside(&format!("{} bytes", text.len()), judge, parse, AtMost(1.0));
}

fn rules() {
    if !callgrind::is_there() {
        return;
    }
    table::head("instructions of a 200 through a policy with rules, beside one without");
    let none = callgrind::per_call("0 rules").unwrap();
    for (case, target) in [
        ("1000 rules on failures", AtMost(1.02)),
        ("1 rules on paths", Target::None),
        ("1000 rules on paths", AtMost(3.5)),
    ] {
        let some = callgrind::per_call(case).unwrap();
        table::beside(case, some, none, target);
    }
}

/// Sends requests that succeed at once.
fn successes(case: &str, times: u64) {
    let mut words = case.split(' ');
    let count: usize = words.next().unwrap().parse().unwrap();
    let of_failures = case.ends_with("failures");
    let rules = (0..count).map(|number| {
        let path = Condition::path(format!("/p{number}/*")).unwrap();
        let failed = Condition::status(500..=599).unwrap();
        let when = if of_failures { path.and(failed) } else { path };
        Rule::when(when).stop()
    });
    let policy = rules.fold(RetryPolicy::builder(), RetryPolicyBuilder::rule);
    let layer = RetryLayer::new(policy.build().unwrap()).runtime(ManualRuntime::new());
    let service = layer.layer(tower::service_fn(|_: http::Request<String>| {
        ready(Ok::<_, Infallible>(http::Response::new(String::new())))
    }));
    for _ in 0..times {
        let request = http::Request::get("http://a.example/b").body(String::new());
        let sent = service.clone().oneshot(request.unwrap()).now_or_never();
        black_box(sent.unwrap().unwrap());
    }
}

fn documents() {
    table::head("milliseconds for a document, beside one of 10,000 services");
    let (few, patch_of_few) = document_times(10_000);
    for count in [1_000, 100_000] {
        let (load, patch) = document_times(count);
        let of_as_many = few * count as f64 / 10_000.0;
        // What fits the caches loads faster.
        let target = if count > 10_000 {
            AtMost(1.2)
        } else {
            Target::None
        };
        table::beside(&format!("load of {count}"), load, of_as_many, target);
        table::beside(
            &format!("patch of one of {count}"),
            patch,
            patch_of_few,
            AtMost(2.0),
        );
    }
    table::alone("load of 10000", few, Target::None);
    table::alone("patch of one of 10000", patch_of_few, AtMost(2.0));
}

/// The milliseconds of a load, and those of a patch of one service.
fn document_times(services: usize) -> (f64, f64) {
    let document = document(services);
    let loads = (0..3).map(|_| {
        let start = Instant::now();
        let config = RetryConfig::load(&document).unwrap();
        let load = start.elapsed().as_secs_f64() * 1_000.0;
        drop(config);
        load
    });
    let load = table::median(loads.collect());
    let config = RetryConfig::load(&document).unwrap();
    let changes = [1, 2].map(change);
    let mut turn = 0;
    let name = format!("s{}", services / 2);
    let patch = milliseconds(51, || {
        turn += 1;
        config
            .patch_service(&name, changes.get(turn % 2).unwrap())
            .unwrap();
    });
    (load, patch)
}

fn document(services: usize) -> Document {
    let services: serde_json::Map<String, serde_json::Value> = (0..services)
        .map(|number| {
            let service = serde_json::json!({
                "match": {"host": format!("s{number}.example.com")},
                "retry": {"max_retries": 3, "base": "200ms"},
                "rules": [{"when": {"status": 409}, "retry": {"max_retries": 1}}],
            });
            (format!("s{number}"), service)
        })
        .collect();
    let document = serde_json::json!({"version": 1, "retry": "background", "services": services});
    serde_json::from_value(document).unwrap()
}

fn change(retries: u32) -> Document {
    serde_json::from_value(serde_json::json!({"retry": {"max_retries": retries}})).unwrap()
}

/// The median of an odd number of runs.
fn milliseconds(runs: usize, mut run: impl FnMut()) -> f64 {
    let times = (0..runs).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed().as_secs_f64() * 1_000.0
    });
    table::median(times.collect())
}

/// Calls to many hosts, each refused once, leave no more behind than the tables have room for.
fn hosts() {
    table::head("bytes kept of hosts with a budget and a gate each");
    let (many, few) = (hosts_bytes(100_000), hosts_bytes(10_000));
    table::beside("100000 hosts beside 10000", many, few, AtMost(1.25));
}

fn hosts_bytes(hosts: usize) -> f64 {
    let runtime = ManualRuntime::new();
    let (budgets, gate) = (ServiceBudgets::default(), Gate::new());
    let policy = RetryPolicy::llm().to_builder().max_retries(0).build();
    let layer = RetryLayer::new(policy.unwrap())
        .budgets(budgets)
        .gate(gate)
        .runtime(runtime);
    let script = || Script::new().status(429).header("retry-after", "30");
    let taken = measure(|| {
        for number in 0..hosts {
            let uri = format!("http://h{number}.example/");
            let request = http::Request::get(uri).body(String::new()).unwrap();
            let sent = layer.layer(script()).oneshot(request).now_or_never();
            drop(sent.unwrap());
        }
    });
    taken.bytes_current as f64
}

/// Builds the family with `reqwest` from nothing, one crate at a time, and reads what cargo says of each.
fn compile_time() {
    table::head("seconds to compile, dev profile, one job");
    let target = concat!(env!("CARGO_MANIFEST_DIR"), "/target/compile-time");
    drop(fs::remove_dir_all(target));
    let build = "build --quiet --jobs 1 --timings --package http-retry --no-default-features --features reqwest";
    let status = Command::new(env!("CARGO"))
        .args(build.split(' '))
        .args(["--target-dir", target])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status();
    assert!(status.unwrap().success());
    let page = fs::read_to_string(format!("{target}/cargo-timings/cargo-timing.html")).unwrap();
    let (_, units) = page.split_once("UNIT_DATA = ").unwrap();
    let (units, _) = units.split_once("];").unwrap();
    let units: Vec<serde_json::Value> = serde_json::from_str(&format!("{units}]")).unwrap();
    let seconds = |name: &str| {
        let of_crate = units.iter().filter(|unit| unit["name"] == name);
        of_crate
            .filter_map(|unit| unit["duration"].as_f64())
            .sum::<f64>()
    };
    let (core, root) = (seconds("http-retry-core"), seconds("http-retry"));
    table::beside(
        "http-retry and its core, beside reqwest",
        core + root,
        seconds("reqwest"),
        AtMost(1.0),
    );
}
