//! Queues of jobs on a small limit, and deadlines at a closed gate.

use super::super::super::World;
use super::super::super::batch::{self, Batch};
use super::super::super::client::Target;
use super::super::super::limiter::{Asks, Limited};
use super::super::super::run::Run;
use super::super::super::server::Rules;
use super::super::stage::peer_named;
use super::{Preset, Scenario, calls, least, mean, numbered, runs, scene, secs, stage, worst};
use std::time::Duration;

const JOBS: u64 = 200;
const WORKERS: u64 = 16;

pub(super) const QUEUES: Scenario = scene("queues", "200 jobs by 16 workers on a limit", |world| {
    const PRESETS: [Preset; 4] = [
        Preset::Background,
        Preset::BackgroundWithoutGate,
        Preset::RateLimited,
        Preset::Llm,
    ];
    const NAMED: Asks = Asks::Of(Duration::from_secs(1));
    const CASES: [(&str, u64, u64, Asks); 9] = [
        ("5 in 1 s, none", 5, 1, Asks::Nothing),
        ("5 in 1 s, 1 s", 5, 1, NAMED),
        ("20 in 1 s, none", 20, 1, Asks::Nothing),
        ("20 in 1 s, 1 s", 20, 1, NAMED),
        ("60 in 60 s, none", 60, 60, Asks::Nothing),
        ("60 in 60 s, 1 s", 60, 60, NAMED),
        ("60 in 60 s, right", 60, 60, Asks::Right),
        ("10 in 10 s, none", 10, 10, Asks::Nothing),
        ("10 in 10 s, right", 10, 10, Asks::Right),
    ];
    let rows = CASES.iter().flat_map(|(name, count, seconds, asks)| {
        PRESETS.iter().map(move |preset| {
            let limit = Limited {
                asks: *asks,
                ..Limited::window(*count, Duration::from_secs(*seconds))
            };
            let runs = runs(world, |world| queue(world, *preset, limit));
            let row = peer_named(name, preset.name(), &runs[0]);
            let done = mean(&runs, |run| run.done() as f64);
            let row = match preset {
                Preset::BackgroundWithoutGate => row.measure("done", done),
                _ => row.at_least("done", done, 184.0),
            };
            row.measure("fewest done", least(&runs, |run| run.done() as f64))
                .measure("refusals", mean(&runs, |run| run.refused as f64))
                .measure("s", mean(&runs, |run| secs(run.took())))
                .measure(
                    "longest job, s",
                    worst(&runs, |run| secs(run.longest_call())),
                )
        })
    });
    rows.collect()
});

fn queue(world: World, preset: Preset, limited: Limited) -> Run {
    world.play(async {
        let rules = Rules {
            limited: Some(limited),
            ..Rules::default()
        };
        let stage = stage(world, rules);
        let client = stage.with_defaults(&preset.policy());
        let jobs = Batch::at_once(JOBS, WORKERS);
        let hour = Duration::from_secs(3_600);
        let ended = batch::batch(stage.clock, &[client], jobs, world.seed, hour).await;
        stage.run(ended)
    })
}

pub(super) const DEADLINE: Scenario = scene(
    "deadline",
    "calls with a deadline of 2 s at a gate that is closed for 60 s",
    |world| {
        let presets = [Preset::Background, Preset::RateLimited, Preset::Llm];
        let rows = presets.iter().map(|preset| {
            let runs = runs(world, |world| late(world, *preset));
            let later = |run: &Run| numbered(run, 8..28);
            peer_named("closed for 60 s", preset.name(), &runs[0])
                .at_most(
                    "longest, s",
                    worst(&runs, |run| secs(later(run).longest_call())),
                    0.3,
                )
                .measure("requests", mean(&runs, |run| run.attempts.len() as f64))
        });
        rows.collect()
    },
);

fn late(world: World, preset: Preset) -> Run {
    world.play(async {
        let rules = Rules {
            closed_until: Duration::from_secs(60),
            ..Rules::default()
        };
        let stage = stage(world, rules);
        let builder = preset
            .policy()
            .to_builder()
            .deadline(Duration::from_secs(2));
        let client = stage.with_defaults(&builder.build().expect("a deadline"));
        let first = (0..8).map(|n| (n, Duration::ZERO, Target::new(0)));
        let at = |n: u64| Duration::from_millis(1_000 + 100 * n);
        let later = (0..20).map(|n| (8 + n, at(n), Target::new(0)));
        let ended = calls(stage.clock, client, first.chain(later)).await;
        stage.run(ended)
    })
}
