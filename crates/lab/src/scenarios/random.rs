//! Failures that come at random, and budgets that must pay for them.

use super::super::World;
use super::super::load::Load;
use super::super::run::Run;
use super::super::server::Rules;
use super::super::verdict::Row;
use super::stage::{Contender, Setup, peer};
use super::{Scenario, Worlds};
use http_retry::RetryBudget;
use std::ops::Range;
use std::time::Duration;

fn failing(share: f64) -> Rules {
    Rules {
        failures: vec![(Duration::ZERO, share)],
        ..Rules::default()
    }
}

pub(super) const D: Scenario = Scenario {
    id: "D",
    title: "5 % of attempts fail, 500 requests a second, 3 retries",
    worlds: Worlds::All,
    play: |world| {
        let setup = Setup {
            rules: failing(0.05),
            loads: vec![Load::new(500.0, 0..100)],
            policy: Setup::retries(3),
            ..Setup::default()
        };
        rows(world, "D", &setup, |row, run| {
            row.at_least("success", run.success(), 0.9999).at_most(
                "attempts per request",
                run.attempts_per_call(),
                1.06,
            )
        })
    },
};

pub(super) const E: Scenario = Scenario {
    id: "E",
    title: "30 % of attempts fail, 0.2 per success + 10 a second, capacity 100",
    worlds: Worlds::All,
    play: e,
};

/// Every attempt succeeds in 0.7 of all cases, so a layer that spends more tokens has more successes. It shows
/// who spends more than there are.
fn e(world: World) -> Vec<Row> {
    /// Three standard deviations of the difference between two runs.
    const NOISE: f64 = 0.008;
    let setup = Setup {
        rules: failing(0.30),
        loads: vec![Load::new(500.0, 0..100)],
        policy: Setup::retries(3),
        budget: || {
            let builder = RetryBudget::builder().per_success(0.2).per_second(10);
            builder
                .capacity(100)
                .build()
                .expect("numbers within their bounds")
        },
        ..Setup::default()
    };
    let spent = |run: &Run| {
        let retries = run.attempts.len() - run.calls.len();
        let brought = 100.0 + 10.0 * run.took().as_secs_f64() + 0.2 * run.done() as f64;
        retries as f64 / brought
    };
    let each = |run: &Run| run.success() / run.attempts_per_call();
    let (ours, tower) = (
        setup.run(world, Contender::HttpRetry),
        setup.run(world, Contender::TowerRetry),
    );
    let row = peer("E", Contender::HttpRetry, &ours)
        .at_most(
            "attempts per request",
            ours.attempts_per_call(),
            tower.attempts_per_call(),
        )
        .at_least("success per attempt", each(&ours), each(&tower) - NOISE)
        .measure("success", ours.success())
        .at_most("retries, of what there was for them", spent(&ours), 1.0);
    let mut rows = vec![row];
    if world.peers {
        let row = peer("E", Contender::TowerRetry, &tower)
            .measure("attempts per request", tower.attempts_per_call())
            .measure("success per attempt", each(&tower))
            .measure("success", tower.success());
        rows.push(row.measure("retries, of what there was for them", spent(&tower)));
    }
    rows
}

pub(super) const L: Scenario = Scenario {
    id: "L",
    title: "3,000 clients of one request in 10 s, a budget each: an outage, then an hour of 5 % failures, then 20 %",
    worlds: Worlds::OneOfEachSeed,
    play: l,
};

fn l(world: World) -> Vec<Row> {
    let clients = if world.short { 150 } else { 3_000 };
    let [outage, some, many] = [0..300, 300..3_900, 3_900..7_500];
    let time =
        |range: &Range<u64>| Duration::from_secs(range.start)..Duration::from_secs(range.end);
    let setup = Setup {
        rules: Rules {
            service_time: Duration::ZERO,
            round_trip: Duration::ZERO,
            outage: time(&outage),
            failures: vec![(time(&some).start, 0.05), (time(&many).start, 0.20)],
            ..Rules::default()
        },
        loads: vec![Load::new(0.1 * clients as f64, 0..many.end)],
        clients,
        policy: Setup::retries(3),
        ..Setup::default()
    };
    let run = setup.run(world, Contender::HttpRetry);
    let row = peer("L", Contender::HttpRetry, &run)
        .at_most(
            "attempts per request in the outage",
            run.during(&time(&outage)).attempts_per_call(),
            1.7,
        )
        .at_least("success at 5 %", run.during(&time(&some)).success(), 0.99)
        .at_least("success at 20 %", run.during(&time(&many)).success(), 0.90);
    vec![row]
}

/// This crate with its bounds, the peers with their numbers alone.
fn rows(
    world: World,
    id: &'static str,
    setup: &Setup,
    judge: impl Fn(Row, &Run) -> Row,
) -> Vec<Row> {
    let ours = setup.run(world, Contender::HttpRetry);
    let ours = judge(peer(id, Contender::HttpRetry, &ours), &ours);
    let others = Contender::peers(world).iter().map(|contender| {
        let run = setup.run(world, *contender);
        let row = peer(id, *contender, &run).measure("success", run.success());
        row.measure("attempts per request", run.attempts_per_call())
    });
    [ours].into_iter().chain(others).collect()
}
