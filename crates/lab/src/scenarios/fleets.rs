//! Fleets: many processes at one service, each for itself, and together with a store in memory. Here are programs that
//! make one request and end, and the commands to a store while everything fails.

mod batches;
mod outages;

use super::super::World;
use super::super::clients::{Client, Target, Tokens};
use super::super::load::{Load, offer_by};
use super::super::run::Run;
use super::super::server::Rules;
use super::super::verdict::Row;
use super::stage::{Contender, Setup, Stage, peer_named};
use super::{Scenario, Worlds};
use http_retry::RetryBudget;
use http_retry::gate::Gate;
use http_retry::report::LeaveReason;
use http_retry::testing::MemoryStore;
use std::iter;
use std::time::Duration;

pub(super) const ALL: [Scenario; 7] = [
    outages::OUTAGE,
    outages::STALL,
    outages::BLIP,
    outages::SMALL,
    RUNS,
    FLOOD,
    batches::QUOTA,
];

/// The latency of a store.
const NEAR: Duration = Duration::from_millis(2);

const FLEET: Contender = Contender::Fleet(NEAR);

/// Processes that share nothing, and a fleet to compare with them; in a short world the fleet alone, which is judged.
fn contenders(world: World, fleet: Contender) -> Vec<Contender> {
    if world.short {
        vec![fleet]
    } else {
        vec![Contender::HttpRetry, fleet]
    }
}

/// A row of processes that share nothing, or are a fleet.
fn row(case: &'static str, contender: Contender, run: &Run) -> Row {
    let name = match contender {
        Contender::HttpRetry => "each for itself",
        other => other.name(),
    };
    peer_named(case, name, run)
}

/// Measures a number, and judges that of a fleet.
fn at_most(row: Row, contender: Contender, (name, value): (&'static str, f64), most: f64) -> Row {
    match contender {
        Contender::Fleet(_) => row.at_most(name, value, most),
        _ => row.measure(name, value),
    }
}

fn at_least(row: Row, contender: Contender, (name, value): (&'static str, f64), least: f64) -> Row {
    match contender {
        Contender::Fleet(_) => row.at_least(name, value, least),
        _ => row.measure(name, value),
    }
}

/// The time from the start of one run to the next.
const BETWEEN_RUNS: Duration = Duration::from_millis(30);
const ATTEMPTS: &str = "attempts per request";

const RUNS: Scenario = Scenario {
    id: "runs-fleet",
    title: "10,000 runs of a program of one request with three retries, in an outage",
    worlds: Worlds::OneOfEachSeed,
    play: |world| {
        let cases = [
            ("10,000 runs", Contender::HttpRetry, false, f64::INFINITY),
            ("10,000 runs", FLEET, false, 1.01),
            ("10,000 runs, store down", FLEET, true, 2.0),
        ];
        let cases = if world.short { &cases[1..] } else { &cases };
        let rows = cases.iter().map(|(case, contender, down, most)| {
            let (contender, down, most) = (*contender, *down, *most);
            let run = one_shots(world, contender, down);
            let attempts = (ATTEMPTS, run.attempts_per_call());
            at_most(row(case, contender, &run), contender, attempts, most)
        });
        rows.collect::<Vec<Row>>()
    },
};

fn one_shots(world: World, contender: Contender, down: bool) -> Run {
    let runs = if world.short { 2_200 } else { 10_000 };
    world.play(async {
        let stage = Stage::new(world, vec![Rules::down()]);
        let store = stage.store(contender);
        if down {
            store.fail(LeaveReason::Unreachable);
        }
        let policy = Setup::retries(3);
        let program = || -> Client {
            match contender {
                Contender::Fleet(_) => stage.process(&stage.origin, &policy, (&store, None)),
                _ => stage.ours(&policy, &Tokens::One(RetryBudget::default())),
            }
        };
        let times = (0..runs).map(|number| BETWEEN_RUNS * number);
        let programs = iter::repeat_with(program);
        let calls = offer_by(stage.clock, programs, &[Target::new(0)], times).await;
        stage.run(calls)
    })
}

const FLOOD_PROCESSES: usize = 1_000;
const FLOOD_SECONDS: u64 = 5;
/// The tokens that a fleet begins with.
const TOKENS: f64 = 20.0;

const FLOOD: Scenario = Scenario {
    id: "flood-fleet",
    title: "100,000 failing requests a second by 1,000 processes: commands of each process in a second",
    worlds: Worlds::OneOfEachSeed,
    play: |world| {
        let (run, [first, later]) = flood(world, false);
        let granted = run.attempts.len() as f64 - run.calls.len() as f64;
        let budgets = row("flood", FLEET, &run)
            .at_most("commands in the first second", first, 2.5)
            .at_most("commands in each later one", later, 1.2)
            .at_most("retries granted", granted, TOKENS)
            .at_least("retries granted", granted, TOKENS);
        if world.short {
            return vec![budgets];
        }
        let (run, [first, later]) = flood(world, true);
        let both = row("flood, gates too", FLEET, &run)
            .measure("commands in the first second", first)
            .measure("commands in each later one", later);
        vec![budgets, both]
    },
};

/// The run, and the number of commands that a process has sent in the first second, and in each after it.
fn flood(world: World, gates: bool) -> (Run, [f64; 2]) {
    let per_process = if world.short { 3.0 } else { 100.0 };
    world.play(async {
        let stage = Stage::new(world, vec![Rules::down()]);
        let (store, policy) = (stage.store(FLEET), Setup::retries(4));
        let process = |_| -> Client {
            let gate = (!gates).then(Gate::new);
            stage.process(&stage.origin, &policy, (&store, gate))
        };
        let clients: Vec<_> = (0..FLOOD_PROCESSES).map(process).collect();
        let load = Load::new(per_process * FLOOD_PROCESSES as f64, 0..FLOOD_SECONDS);
        let counts = counts(&stage, &store);
        let loads = [load];
        let (calls, counts) = tokio::join!(stage.offer(&clients, 1, &loads), counts);
        (stage.run(calls), counts)
    })
}

async fn counts(stage: &Stage, store: &MemoryStore) -> [f64; 2] {
    let each = |commands: u64| commands as f64 / FLOOD_PROCESSES as f64;
    stage.clock.until(Duration::from_secs(1)).await;
    let first = store.commands();
    stage.clock.until(Duration::from_secs(FLOOD_SECONDS)).await;
    let later = store.commands() - first;
    [each(first), each(later) / (FLOOD_SECONDS - 1) as f64]
}
