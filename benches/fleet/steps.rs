//! What the server does a second, and how long one question takes.

use crate::member::{self, Eager, call, fleet, impatient, percentile, processor, status};
use crate::scripts::scripts;
use crate::server::Server;
use crate::table::{self, Target};
use http_retry::tower::RetryLayer;
use http_retry::{RetryBudget, RetryBudgetBuilder};
use std::time::{Duration, Instant};

/// The best of so many runs counts: other programs only make them slower.
const RUNS: usize = 5;
const TIME: Duration = Duration::from_millis(500);
const LANES: usize = 64;
const QUESTIONS: usize = 5_000;
const GATE: &str = include_str!("../../crates/fleet/src/gate.lua");
/// A report: one success, and after it one refusal that asked for no time.
const WORDS: [i64; 5] = [0, 1, 1, 0, -1];

pub(crate) async fn measure(server: &Server) {
    for (lanes, least) in [(1, 5_000.0), (LANES, 20_000.0)] {
        let what = format!("budget steps a second, {lanes} at once, by a fleet's calls");
        rates(&what, budget(server, lanes).await, least);
    }
    let what = format!("gate steps a second, {LANES} at once, the script alone");
    rates(&what, gate(server).await, 10_000.0);
    questions(server).await;
}

fn rates(what: &str, (rate, of_processor): (f64, f64), least: f64) {
    table::alone(what, rate, Target::AtLeast(least));
    let what = "  - of the server's processor";
    table::alone(what, of_processor, Target::None);
}

/// A fleet with so many budgets, each of which asks for a retry, again and again: a step for each.
async fn budget(server: &Server, lanes: usize) -> (f64, f64) {
    let fleet = fleet(server);
    let layers: Vec<_> = (0..lanes)
        .map(|lane| member::layer(&fleet, &format!("lane-{lane}"), plenty()))
        .collect();
    member::joins(&fleet).await;
    best(server, |begun| {
        let layers = layers.iter().cloned();
        let lane = |layer| async move {
            while begun.elapsed() < TIME {
                failing(&layer).await;
            }
        };
        layers.map(|layer| tokio::spawn(lane(layer))).collect()
    })
    .await
}

/// The gate's script as the crate has it, on one connection.
async fn gate(server: &Server) -> (f64, f64) {
    let client = redis::Client::open(server.url()).unwrap();
    let connection = client.get_multiplexed_async_connection().await.unwrap();
    let script = redis::Script::new(GATE);
    best(server, |begun| {
        let lane = |lane: usize| {
            let (mut connection, script) = (connection.clone(), script.clone());
            async move {
                let key = format!("http-retry:1:{{lane-{lane}}}:gate");
                let channel = format!("http-retry:1:{{lane-{lane}}}:closed");
                while begun.elapsed() < TIME {
                    let mut step = script.prepare_invoke();
                    step.key(&key).arg(&WORDS).arg(&channel);
                    let state: Vec<i64> = step.invoke_async(&mut connection).await.unwrap();
                    assert_eq!(state.len(), 3);
                }
            }
        };
        (0..LANES)
            .map(|number| tokio::spawn(lane(number)))
            .collect()
    })
    .await
}

/// The most scripts that lanes make the server run, in a second and in a second of its processor.
async fn best(
    server: &Server,
    lanes: impl Fn(Instant) -> Vec<tokio::task::JoinHandle<()>>,
) -> (f64, f64) {
    let mut best = (0.0_f64, 0.0_f64);
    for _ in 0..RUNS {
        let (before, used, begun) = (scripts(server), processor(server), Instant::now());
        for lane in lanes(begun) {
            lane.await.unwrap();
        }
        let took = begun.elapsed().as_secs_f64();
        let steps = (scripts(server) - before) as f64;
        let used = processor(server) - used;
        best = (best.0.max(steps / took), best.1.max(steps / used));
    }
    best
}

/// Calls whose first attempt fails and whose retry goes at once, beside the same on a budget of this process.
async fn questions(server: &Server) {
    let local = plenty().build().unwrap();
    let local = calls(&RetryLayer::new(impatient()).runtime(Eager).budget(local)).await;
    let fleet = fleet(server);
    let layer = member::layer(&fleet, "questions", plenty());
    member::joins(&fleet).await;
    let before = scripts(server);
    let asked = calls(&layer).await;
    assert!(scripts(server) - before >= QUESTIONS as u64);
    for (percent, most) in [(50, 500.0), (99, 2_000.0)] {
        let [ours, peer] = [&asked, &local].map(|calls| micros(percentile(calls, percent)));
        let what = format!("a call with one question, p{percent}, us; beside one without");
        table::more(&what, ours, peer, most);
    }
}

async fn calls(layer: &RetryLayer) -> Vec<Duration> {
    let mut took = Vec::new();
    for _ in 0..QUESTIONS {
        let begun = Instant::now();
        failing(layer).await;
        took.push(begun.elapsed());
    }
    took.sort();
    took
}

async fn failing(layer: &RetryLayer) {
    call(layer, "http://api.example/", || status(503)).await;
}

/// More tokens than anybody asks for.
fn plenty() -> RetryBudgetBuilder {
    let budget = RetryBudget::builder().capacity(1_000_000);
    budget.initial(1_000_000)
}

pub(crate) fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
