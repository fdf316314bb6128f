//! Programs of few calls, and programs that call two hosts.

use super::super::super::World;
use super::super::super::client::Target;
use super::super::super::run::Run;
use super::super::super::server::Rules;
use super::super::stage::{Stage, peer_named};
use super::{Preset, Scenario, all_runs, calls, mean, numbered, scene, stage};
use std::time::Duration;

const HOURS: u64 = 8;

pub(super) const SELDOM: Scenario = scene(
    "seldom",
    "one call a minute for eight hours, a part of the attempts fails",
    |world| {
        // The share of failures, and the fewest of 60 calls that are to succeed.
        const SHARES: [(&str, f64, f64); 4] = [
            ("10 %", 0.1, 59.9),
            ("20 %", 0.2, 59.5),
            ("30 %", 0.3, 59.0),
            ("50 %", 0.5, 54.0),
        ];
        const NAMES: [&str; 8] = ["1st hour", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th"];
        let rows = SHARES.iter().map(|(name, share, fewest)| {
            let runs = all_runs(world, |world| seldom(world, *share));
            let row = peer_named(name, Preset::Background.name(), &runs[0]);
            let hours = (0..HOURS).zip(NAMES);
            hours.fold(row, |row, (hour, name)| {
                let of = |run: &Run| numbered(run, hour * 60..hour * 60 + 60).done() as f64;
                row.at_least(name, mean(&runs, of), *fewest)
            })
        });
        rows.collect()
    },
);

fn seldom(world: World, share: f64) -> Run {
    world.play(async {
        let rules = Rules {
            failures: vec![(Duration::ZERO, share)],
            ..Rules::default()
        };
        let stage = stage(world, rules);
        let client = stage.with_defaults(&Preset::Background.policy());
        let times = (0..HOURS * 60).map(|n| (n, Duration::from_secs(60 * n), Target::new(0)));
        let ended = calls(stage.clock, client, times).await;
        stage.run(ended)
    })
}

const CALLS: u64 = 50;

pub(super) const TWO_HOSTS: Scenario = scene(
    "two hosts",
    "50 calls to a dead host, and 50 to one that fails every second attempt",
    |world| {
        const RATES: [(&str, f64); 3] =
            [("10/s each", 10.0), ("1/s each", 1.0), ("0.1/s each", 0.1)];
        let rows = RATES.iter().map(|(name, rate)| {
            let runs = all_runs(world, |world| two_hosts(world, *rate));
            let second = |run: &Run| numbered(run, CALLS..2 * CALLS).done() as f64;
            peer_named(name, Preset::Background.name(), &runs[0])
                .at_least("of the second's 50", mean(&runs, second), 34.0)
                .measure("attempts", mean(&runs, |run| run.attempts.len() as f64))
        });
        rows.collect()
    },
);

fn two_hosts(world: World, rate: f64) -> Run {
    world.play(async {
        let failing = Rules {
            failures: vec![(Duration::ZERO, 0.5)],
            ..Rules::default()
        };
        let stage = Stage::new(world, vec![Rules::down(), failing]);
        let client = stage.with_defaults(&Preset::Background.policy());
        let at = |n: u64| Duration::from_secs_f64(n as f64 / rate);
        let dead = (0..CALLS).map(|n| (n, at(n), Target::new(0)));
        let other = (0..CALLS).map(|n| (CALLS + n, at(n), Target::new(1)));
        let ended = calls(stage.clock, client, dead.chain(other)).await;
        stage.run(ended)
    })
}
