//! Calls that are refused whenever they are sent, alone and beside others.

use super::super::super::World;
use super::super::super::client::Target;
use super::super::super::run::Run;
use super::super::super::server::{AlwaysRefused, Rules};
use super::super::stage::peer_named;
use super::{Preset, Scenario, calls, least, mean, runs, scene, secs, stage, worst};
use std::time::Duration;

const PRESETS: [Preset; 5] = [
    Preset::UserFacing,
    Preset::Background,
    Preset::BackgroundWithoutGate,
    Preset::RateLimited,
    Preset::Llm,
];

pub(super) const ALWAYS: Scenario = scene(
    "always",
    "one call to a server that always answers 429",
    |world| {
        const ASKS: [(&str, Option<u64>); 6] = [
            ("none", None),
            ("0", Some(0)),
            ("1 s", Some(1)),
            ("5 s", Some(5)),
            ("20 s", Some(20)),
            ("60 s", Some(60)),
        ];
        let rows = ASKS.iter().flat_map(|(asks, seconds)| {
            PRESETS.iter().map(|preset| {
                let runs = runs(world, |world| alone(world, *preset, *seconds));
                let row = peer_named(asks, preset.name(), &runs[0]);
                let requests = mean(&runs, |run| run.attempts.len() as f64);
                let row = match preset {
                    Preset::RateLimited => row.at_most("requests", requests, 60.0),
                    _ => row.measure("requests", requests),
                };
                let row = row.measure("ends after, s", mean(&runs, |run| secs(run.took())));
                let shortest = least(&runs, |run| secs(run.took()));
                match preset {
                    Preset::UserFacing => row.measure("shortest, s", shortest),
                    _ => row.at_least("shortest, s", shortest, 3.0),
                }
            })
        });
        rows.collect()
    },
);

fn alone(world: World, preset: Preset, asks: Option<u64>) -> Run {
    world.play(async {
        let stage = stage(world, refusing(1, asks));
        let client = stage.with_defaults(&preset.policy());
        let call = [(0, Duration::ZERO, Target::new(0))];
        let ended = calls(stage.clock, client, call).await;
        stage.run(ended)
    })
}

fn refusing(count: u64, asks: Option<u64>) -> Rules {
    Rules {
        always_refused: Some(AlwaysRefused {
            calls: 0..count,
            asks,
        }),
        ..Rules::default()
    }
}

/// The number of other calls.
const OTHERS_COUNT: u64 = 40;

pub(super) const OTHERS: Scenario = scene(
    "others",
    "40 calls beside some that are always refused",
    |world| {
        const PRESETS: [Preset; 3] = [Preset::Background, Preset::RateLimited, Preset::Llm];
        const CASES: [(&str, Option<u64>, u64); 8] = [
            ("none, 20/s", None, 20),
            ("1 s, 20/s", Some(1), 20),
            ("5 s, 20/s", Some(5), 20),
            ("20 s, 20/s", Some(20), 20),
            ("none, 2/s", None, 2),
            ("1 s, 2/s", Some(1), 2),
            ("5 s, 2/s", Some(5), 2),
            ("20 s, 2/s", Some(20), 2),
        ];
        const BESIDE: [(u64, &str, &str); 4] = [
            (1, "with 1", "after 1"),
            (5, "with 5", "after 5"),
            (20, "with 20", "after 20"),
            (100, "with 100", "after 100"),
        ];
        let mut rows = Vec::new();
        for (case, asks, rate) in CASES {
            for preset in PRESETS {
                let mut row = None;
                for (count, with, after) in BESIDE {
                    // Those that were refused began at once, or half a minute before the others.
                    for (begin, name) in [(0, with), (30, after)] {
                        let runs = runs(world, |world| {
                            beside(world, preset, asks, (count, rate, begin))
                        });
                        let row =
                            row.get_or_insert_with(|| peer_named(case, preset.name(), &runs[0]));
                        let longest = worst(&runs, |run| secs(run.longest_call()));
                        let done = mean(&runs, |run| run.done() as f64);
                        *row = row.clone().at_most(name, longest, 1.0).at_least(
                            "done",
                            done,
                            OTHERS_COUNT as f64,
                        );
                    }
                }
                rows.extend(row);
            }
        }
        rows
    },
);

/// The other calls.
fn beside(
    world: World,
    preset: Preset,
    asks: Option<u64>,
    (count, rate, begin): (u64, u64, u64),
) -> Run {
    world.play(async {
        let stage = stage(world, refusing(count, asks));
        let client = stage.with_defaults(&preset.policy());
        let refused = (0..count).map(|number| (number, Duration::ZERO, Target::new(0)));
        let refused = tokio::spawn(calls(stage.clock, client.clone(), refused));
        let at = |n: u64| Duration::from_secs(begin) + Duration::from_millis(n * 1_000 / rate + 10);
        let others = (0..OTHERS_COUNT).map(|n| (count + n, at(n), Target::new(0)));
        let ended = calls(stage.clock, client, others).await;
        // What becomes of them takes long, and is another scene.
        refused.abort();
        stage.run(ended)
    })
}
