//! A lock that counts how often this thread has taken it, and what calls need none.

use super::*;
use crate::gate::Peer;
use crate::policy::RetryPolicy;
use crate::testing::Script;
use crate::tower::RetryLayer;
use std::cell::Cell;
use std::ops::Range;
use std::sync::LockResult;
use tower::{Layer, ServiceExt};

pub(in crate::gate) use std::sync::MutexGuard;

/// A lock of a gate.
#[derive(Debug, Default)]
pub(in crate::gate) struct Mutex<T>(std::sync::Mutex<T>);

thread_local! {
    static TAKEN: Cell<u64> = const { Cell::new(0) };
}

impl<T> Mutex<T> {
    pub(in crate::gate) fn new(value: T) -> Self {
        Self(std::sync::Mutex::new(value))
    }

    pub(in crate::gate) fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        TAKEN.set(TAKEN.get() + 1);
        self.0.lock()
    }
}

/// How often this thread takes a lock of a gate to do this.
fn taken(work: impl FnOnce()) -> u64 {
    let before = TAKEN.get();
    work();
    TAKEN.get() - before
}

/// How many locks are taken by calls to eight hosts, in so many rounds, of which each has its own answers.
fn locks_of(policy: RetryPolicy, rounds: Range<u32>, answers: fn(u32) -> Script) -> u64 {
    let layer = RetryLayer::new(policy).runtime(ManualRuntime::new());
    let services: Vec<_> = rounds.map(|round| layer.layer(answers(round))).collect();
    taken(|| {
        for service in services {
            for host in 0..8 {
                let url = format!("http://host{host}.example/");
                let request = http::Request::get(url).body(String::new()).unwrap();
                let sent = service.clone().oneshot(request).now_or_never();
                drop(sent.unwrap());
            }
        }
    })
}

#[test]
fn a_call_takes_no_lock_while_nothing_was_refused() {
    let troubled = |_| {
        let api = Script::new()
            .status(200)
            .status(503)
            .status(404)
            .status(529);
        let api = api.error(std::io::ErrorKind::ConnectionReset).status(200);
        // Under background a quota does not count before a refusal.
        let told = api.header("x-ratelimit-remaining", "0");
        let told = told.header("x-ratelimit-reset", "9").status(503);
        told.header("retry-after", "1").status(204)
    };
    assert_eq!(locks_of(RetryPolicy::background(), 0..100, troubled), 0);
    let untold = |_| Script::new().status(200).status(500).status(200);
    assert_eq!(locks_of(RetryPolicy::rate_limited(), 0..100, untold), 0);
}

#[test]
fn a_refusal_takes_a_lock_and_none_is_taken_once_it_is_over() {
    let api = |round| match round {
        0 => Script::new()
            .status(429)
            .header("retry-after", "1")
            .status(200),
        _ => Script::new().status(200),
    };
    let refused = locks_of(RetryPolicy::background(), 0..1, api);
    assert!(refused > 0);
    assert_eq!(locks_of(RetryPolicy::background(), 0..100, api), refused);
}

#[test]
fn a_dropped_call_takes_no_lock() {
    let scene = Scene::new();
    assert_eq!(taken(|| drop(scene.go("a"))), 0);
    assert!(taken(|| scene.refuse("a", SECOND)) > 0);
}

/// A peer that does nothing.
struct Silent;

impl Peer for Silent {
    fn succeeded(&self, _: u64, _: bool) {}
    fn refused(&self, _: Option<Duration>, _: bool) {}
    fn contradicted(&self) {}
    fn wake(&self) {}
}

#[test]
fn a_key_joins_its_fleet_by_its_first_call_and_is_left_alone() {
    use crate::run::Runner;
    use std::{future::ready, io};
    let joined = Arc::new(std::sync::Mutex::new(Vec::new()));
    let names = Arc::clone(&joined);
    let gate = Gate::new().with_peers(move |key| {
        names.lock().unwrap().push(key.name.to_owned());
        Arc::new(Silent)
    });
    let layer = RetryLayer::new(RetryPolicy::background())
        .gate(gate.clone())
        .runtime(ManualRuntime::new());
    let call = |host: &str| {
        let request = http::Request::get(format!("http://{host}.example:80/"));
        let request = request.body(String::new()).unwrap();
        let sent = layer.layer(Script::new().status(200)).oneshot(request);
        assert_eq!(sent.now_or_never().unwrap().unwrap().status(), 200);
    };
    for host in ["a", "b"] {
        call(host);
        assert_eq!(taken(|| (0..100).for_each(|_| call(host))), 0);
    }
    let runner = Runner::on(ManualRuntime::new(), RetryPolicy::background());
    let runner = runner.gate(gate).service("c");
    let run = || {
        let sent = runner.run_by_policy(|_| ready(Ok::<_, io::Error>(())));
        sent.now_or_never().unwrap().unwrap();
    };
    run();
    assert_eq!(taken(|| (0..100).for_each(|_| run())), 0);
    assert_eq!(*joined.lock().unwrap(), ["a.example", "b.example", "c"]);
}
