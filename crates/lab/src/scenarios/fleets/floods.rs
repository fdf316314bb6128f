//! The commands to a store while everything fails.

use super::super::super::World;
use super::super::super::clients::Client;
use super::super::super::load::Load;
use super::super::super::run::Run;
use super::super::super::server::Rules;
use super::super::stage::{Setup, Stage};
use super::super::{Scenario, Worlds};
use super::{FLEET, row};
use http_retry::gate::Gate;
use http_retry::testing::MemoryStore;
use std::time::Duration;

const PROCESSES: usize = 1_000;
const SECONDS: u64 = 5;
/// The tokens that a fleet begins with.
const TOKENS: f64 = 20.0;

pub(in super::super) const FLOOD: Scenario = Scenario {
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
        let clients: Vec<_> = (0..PROCESSES).map(process).collect();
        let load = Load::new(per_process * PROCESSES as f64, 0..SECONDS);
        let counts = counts(&stage, &store);
        let loads = [load];
        let (calls, counts) = tokio::join!(stage.offer(&clients, 1, &loads), counts);
        (stage.run(calls), counts)
    })
}

async fn counts(stage: &Stage, store: &MemoryStore) -> [f64; 2] {
    let each = |commands: u64| commands as f64 / PROCESSES as f64;
    stage.clock.until(Duration::from_secs(1)).await;
    let first = store.commands();
    stage.clock.until(Duration::from_secs(SECONDS)).await;
    let later = store.commands() - first;
    [each(first), each(later) / (SECONDS - 1) as f64]
}
