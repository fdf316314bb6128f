//! What one decision takes: an outcome in, a plan or a reason to stop out.
//!
//! ```text
//! cargo bench --all-features --bench decision
//! ```
#![allow(
    clippy::cast_precision_loss,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark looks at the clock, prints, and says what went wrong by panicking"
)]

mod table;

use divan::{Bencher, black_box};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use http_retry::policy::{Moment, RetrySession};
use http_retry::{Outcome, RequestFacts, RetryPolicy};
use std::time::{Duration, Instant};
use table::Target::AtMost;

const ROUNDS: usize = 101;
const SESSIONS: usize = 1_000;
const MOST_NANOSECONDS: f64 = 100.0;

fn main() {
    divan::main();
    if !table::is_wanted() {
        return;
    }
    table::head("nanoseconds of one decision (plan)");
    for (what, status, headers) in answers() {
        let took = table::median((0..ROUNDS).map(|_| decide(status, &headers)).collect());
        table::alone(what, took, AtMost(MOST_NANOSECONDS));
    }
}

#[divan::bench]
fn success(bencher: Bencher<'_, '_>) {
    plan(bencher, 0);
}

#[divan::bench]
fn retry(bencher: Bencher<'_, '_>) {
    plan(bencher, 1);
}

#[divan::bench]
fn retry_as_the_server_asks(bencher: Bencher<'_, '_>) {
    plan(bencher, 2);
}

fn plan(bencher: Bencher<'_, '_>, answer: usize) {
    let (_, status, headers) = answers().into_iter().nth(answer).unwrap();
    let outcome = Outcome::response(status, &headers);
    bencher
        .with_inputs(session)
        .bench_refs(|session| session.plan(black_box(&outcome), moment()));
}

fn answers() -> [(&'static str, StatusCode, HeaderMap); 3] {
    let unavailable = StatusCode::SERVICE_UNAVAILABLE;
    let plain = headers();
    let mut asking = headers();
    asking.insert(header::RETRY_AFTER, HeaderValue::from_static("7"));
    [
        ("200", StatusCode::OK, headers()),
        ("503, a retry", unavailable, plain),
        ("503 with Retry-After, a retry", unavailable, asking),
    ]
}

fn headers() -> HeaderMap {
    let pairs = [
        (header::CONTENT_LENGTH, "42"),
        (header::CONTENT_TYPE, "application/json"),
        (header::DATE, "Sat, 21 Nov 2026 10:00:00 GMT"),
        (header::SERVER, "orders"),
    ];
    HeaderMap::from_iter(pairs.map(|(name, value)| (name, HeaderValue::from_static(value))))
}

fn session() -> RetrySession {
    let facts = RequestFacts::of(&Method::GET, &HeaderMap::new());
    RetryPolicy::background().session(facts, Duration::ZERO)
}

fn moment() -> Moment {
    Moment::new(Duration::from_millis(30)).with_random(0x9e37_79b9_7f4a_7c15)
}

/// Nanoseconds of one decision, over many requests that are each at their first outcome.
fn decide(status: StatusCode, headers: &HeaderMap) -> f64 {
    let outcome = Outcome::response(status, headers);
    let sessions: Vec<RetrySession> = (0..SESSIONS).map(|_| session()).collect();
    let started = Instant::now();
    for session in &sessions {
        drop(black_box(session.plan(black_box(&outcome), moment())));
    }
    started.elapsed().as_nanos() as f64 / SESSIONS as f64
}
