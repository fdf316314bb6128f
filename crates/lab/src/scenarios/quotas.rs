//! Servers that say when to come back, and jobs that nobody watches on a quota: what the gate of their preset is for.

use super::super::batch::{self, Batch};
use super::super::clients::{Client, Target, Tokens};
use super::super::limiter::{Asks, Limit, Limited};
use super::super::run::Run;
use super::super::server::Rules;
use super::super::verdict::{Bound, Measure, Row};
use super::super::{World, load};
use super::stage::{Contender, Stage, peer, tps_budget};
use super::{Scenario, Worlds};
use http_retry::llm::LlmPreset;
use http_retry::{RetryBudget, RetryPolicy};
use std::iter;
use std::time::Duration;

const WINDOW: Duration = Duration::from_secs(10);
pub(super) const QUOTA: Limited = Limited::by(&[Limit::Window {
    calls: 500,
    length: WINDOW,
    headers: false,
}]);
pub(super) const TOLD_QUOTA: Limited = Limited::by(&[Limit::Window {
    calls: 500,
    length: WINDOW,
    headers: true,
}]);
const CALLS: u64 = 5_000;
const HOUR: Duration = Duration::from_secs(3_600);
/// The last of them come in the tenth window.
const BOUND: Duration = Duration::from_secs(90);

fn run(world: World, quota: Limited, width: u64, contender: Contender) -> Run {
    world.play(async {
        let rules = Rules {
            limited: Some(quota),
            ..Rules::default()
        };
        let stage = Stage::new(world, vec![rules]);
        let client = match contender {
            Contender::NoRetries => Client::bare(&stage.origin),
            Contender::Fleet(_) => {
                let store = stage.store(contender);
                stage.process(&stage.origin, &RetryPolicy::llm(), (&store, None))
            }
            Contender::HttpRetry => {
                stage.ours(&RetryPolicy::llm(), &Tokens::One(RetryBudget::default()))
            }
            Contender::ReqwestRetry => Client::reqwest_retry(&stage.origin),
            Contender::TowerRetry => Client::tower_retry(&stage.origin, &tps_budget()),
        };
        let calls = batch::batch(
            stage.clock,
            &[client],
            Batch::at_once(CALLS, width),
            world.seed,
            HOUR,
        )
        .await;
        stage.run(calls)
    })
}

fn of_bound(run: &Run) -> f64 {
    run.took().as_secs_f64() / BOUND.as_secs_f64()
}

fn done(row: Row, run: &Run) -> Row {
    row.at_least("done", run.done() as f64, CALLS as f64)
}

fn peers(world: World, id: &'static str, quota: Limited) -> impl Iterator<Item = Row> {
    Contender::peers(world).iter().map(move |contender| {
        let run = run(world, quota, 200, *contender);
        peer(id, *contender, &run)
            .measure("done", run.done() as f64)
            .measure("time, of the least", of_bound(&run))
            .measure("rejected per call", run.refused_per_call())
    })
}

pub(super) const C: Scenario = Scenario {
    id: "C",
    title: "5,000 calls on a quota of 500 in 10 s, 200 at once, llm preset",
    worlds: Worlds::EachStack,
    play: c,
};

fn c(world: World) -> Vec<Row> {
    let judged = |id: &'static str, quota: Limited, most_rejected: f64| {
        let run = run(world, quota, 200, Contender::HttpRetry);
        done(peer(id, Contender::HttpRetry, &run), &run)
            .at_most("time, of the least", of_bound(&run), 1.10)
            .at_most("rejected per call", run.refused_per_call(), most_rejected)
            .at_most(
                "longest call, windows",
                run.longest_call().as_secs_f64() / WINDOW.as_secs_f64(),
                1.5,
            )
    };
    let narrow = [
        ("C, 1 at once", 1),
        ("C, 5 at once", 5),
        ("C, 20 at once", 20),
    ];
    let narrow = narrow.map(|(id, width)| {
        let run = run(world, QUOTA, width, Contender::HttpRetry);
        done(peer(id, Contender::HttpRetry, &run), &run)
            .at_most("time, of the least", of_bound(&run), 1.15)
            .measure("rejected per call", run.refused_per_call())
    });
    let wide = [
        judged("C", QUOTA, 0.06),
        judged("C, quota headers", TOLD_QUOTA, 0.01),
    ];
    wide.into_iter()
        .chain(narrow)
        .chain(peers(world, "C", QUOTA))
        .collect()
}

pub(super) const M: Scenario = Scenario {
    id: "M",
    title: "C, where each 429 asks for 1 s and 10 s would be right",
    worlds: Worlds::EachStack,
    play: |world| {
        let quota = Limited {
            asks: Asks::Of(Duration::from_secs(1)),
            ..QUOTA
        };
        let ours = run(world, quota, 200, Contender::HttpRetry);
        let ours = done(peer("M", Contender::HttpRetry, &ours), &ours)
            .at_most("time, of the least", of_bound(&ours), 1.25)
            .at_most("rejected per call", ours.refused_per_call(), 0.09);
        [ours].into_iter().chain(peers(world, "M", quota)).collect()
    },
};

pub(super) const F: Scenario = Scenario {
    id: "F",
    title: "10,000 callers told Retry-After: 30, a budget each",
    worlds: Worlds::EachStack,
    play: f,
};

fn f(world: World) -> Vec<Row> {
    let callers = 10_000;
    let told = Duration::from_secs(30);
    let run = |contender: Contender| {
        world.play(async {
            let rules = Rules {
                closed_until: told,
                ..Rules::default()
            };
            let stage = Stage::new(world, vec![rules]);
            let client = |_| match contender {
                Contender::HttpRetry => stage.ours(
                    &RetryPolicy::background(),
                    &Tokens::One(RetryBudget::default()),
                ),
                _ => Client::tower_retry(&stage.origin, &tps_budget()),
            };
            let clients: Vec<_> = (0..callers).map(client).collect();
            let times = iter::repeat_n(Duration::ZERO, callers);
            let calls = load::offer(stage.clock, &clients, &[Target::new(0)], times).await;
            stage.run(calls)
        })
    };
    let row = |contender: Contender| {
        let run = run(contender);
        let again = run.since(Duration::from_millis(1));
        let early = again.attempts.iter().filter(|at| **at < told).count();
        let worst = again.most_attempts_in(Duration::from_millis(100));
        (
            peer("F", contender, &run),
            early as f64,
            again.attempts.len() as f64,
            worst as f64,
        )
    };
    let (ours, early, again, worst) = row(Contender::HttpRetry);
    let mut rows = vec![
        ours.at_most("before 30 s", early, 0.0)
            .at_least("sent again", again, callers as f64)
            .at_most("worst 100 ms", worst, 249.0),
    ];
    if world.peers {
        let (row, early, again, worst) = row(Contender::TowerRetry);
        let row = row
            .measure("before 30 s", early)
            .measure("sent again", again);
        rows.push(row.measure("worst 100 ms", worst));
    }
    rows
}

const TOKENS: u32 = 20;

pub(super) const V: Scenario = Scenario {
    id: "V",
    title: "5,000 calls on a quota of 500 in 10 s, 200 at once, background preset",
    worlds: Worlds::EachStack,
    play: |world| {
        let with = RetryPolicy::background();
        let without = with.to_builder().max_gate_wait(None).build();
        let without = without.expect("a policy without a gate");
        vec![
            judged(played(world, ("V", "with the gate"), &with, QUOTA)),
            judged(played(
                world,
                ("V, quota headers", "with the gate"),
                &with,
                TOLD_QUOTA,
            )),
            played(world, ("V", "without the gate"), &without, QUOTA),
        ]
    },
};

/// A run by this policy, whose budget gets no tokens but those that it begins with.
fn played(
    world: World,
    (case, contender): (&'static str, &'static str),
    policy: &RetryPolicy,
    quota: Limited,
) -> Row {
    world.play(async {
        let rules = Rules {
            limited: Some(quota),
            ..Rules::default()
        };
        let budget = RetryBudget::builder().capacity(TOKENS).initial(TOKENS);
        let budget = budget.per_success(0).build().expect("within bounds");
        let stage = Stage::new(world, vec![rules]);
        let client = stage.ours(policy, &Tokens::One(budget.clone()));
        let batch = Batch::at_once(CALLS, 200);
        let calls = batch::batch(stage.clock, &[client], batch, world.seed, HOUR).await;
        let run = stage.run(calls);
        let time = run.took().as_secs_f64() / BOUND.as_secs_f64();
        Row::new(case, contender, run.series())
            .measure("done", run.done() as f64)
            .measure("time, of the least", time)
            .measure("rejected per call", run.refused_per_call())
            .measure("tokens left", budget.available(stage.clock.now()) as f64)
    })
}

/// All succeed in time, and nobody has paid for it.
fn judged(row: Row) -> Row {
    let bounds = [
        Bound::AtLeast(CALLS as f64),
        Bound::AtMost(1.10),
        Bound::AtMost(0.06),
        Bound::AtLeast(f64::from(TOKENS)),
    ];
    let judged = row.measures.into_iter().zip(bounds);
    let measures = judged.map(|(measure, bound)| Measure { bound, ..measure });
    Row {
        measures: measures.collect(),
        ..row
    }
}
