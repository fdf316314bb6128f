//! Batches in a short blip, and a call to a server that restarts.

use super::super::super::World;
use super::super::super::client::Target;
use super::super::super::run::{Ended, Run};
use super::super::super::server::Rules;
use super::super::stage::peer_named;
use super::{Preset, Scenario, calls, mean, numbered, runs, scene, secs, stage};
use std::time::Duration;

const SIZES: [(&str, u64); 5] = [
    ("% of 10", 10),
    ("% of 20", 20),
    ("% of 50", 50),
    ("% of 100", 100),
    ("% of 500", 500),
];
const BLIP_LENGTH: Duration = Duration::from_millis(300);

pub(super) const BLIP: Scenario = scene(
    "blip",
    "a batch at once, while the server answers 503 for 0.3 s",
    |world| {
        const CASES: [(&str, u64, usize); 4] = [
            ("cold", 0, 1),
            ("after 20 s at 100/s", 20, 1),
            ("cold, 100 programs", 0, 100),
            ("after 20 s, 100 programs at 1/s", 20, 100),
        ];
        let mut rows = Vec::new();
        for (case, warm, programs) in CASES {
            let mut row = None;
            let most = if programs > 1 { 3 } else { 5 };
            for (name, size) in SIZES.iter().take(most) {
                let runs = runs(world, |world| blip(world, *size, warm, programs));
                let row = row.get_or_insert_with(|| peer_named(case, "background", &runs[0]));
                *row = row
                    .clone()
                    .at_least(name, 100.0 * mean(&runs, Run::success), 95.0)
                    .measure("attempts a call", mean(&runs, Run::attempts_per_call));
            }
            rows.extend(row);
        }
        rows
    },
);

fn blip(world: World, size: u64, warm: u64, programs: usize) -> Run {
    world.play(async {
        let begin = Duration::from_secs(warm);
        let rules = Rules {
            outage: begin..begin + BLIP_LENGTH,
            ..Rules::default()
        };
        let stage = stage(world, rules);
        let policy = Preset::Background.policy();
        let clients: Vec<_> = (0..programs)
            .map(|_| stage.with_defaults(&policy))
            .collect();
        let rate = 100 / programs as u64;
        let mut ended: Vec<Ended> = Vec::new();
        let mut under_way = tokio::task::JoinSet::new();
        for (program, client) in (0..).zip(&clients) {
            let base = program * 1_000_000;
            let before = (0..warm * rate).map(move |n| {
                let number = base + 100_000 + n;
                (
                    number,
                    Duration::from_millis(n * 1_000 / rate),
                    Target::new(0),
                )
            });
            let batch = (0..size).map(move |n| (base + n, begin, Target::new(0)));
            let times: Vec<_> = before.chain(batch).collect();
            under_way.spawn(calls(stage.clock, client.clone(), times));
        }
        for calls in under_way.join_all().await {
            ended.extend(calls);
        }
        let is_of_batch = |call: &Ended| call.number % 1_000_000 < 100_000;
        ended.retain(is_of_batch);
        stage.run(ended).since(begin)
    })
}

pub(super) const RESTART: Scenario = scene(
    "restart",
    "one call a second to a server that is away for a while",
    |world| {
        const CASES: [(&str, u64); 4] = [("1 s", 1), ("5 s", 5), ("15 s", 15), ("60 s", 60)];
        const PRESETS: [Preset; 4] = [
            Preset::UserFacing,
            Preset::Background,
            Preset::RateLimited,
            Preset::Llm,
        ];
        let rows = CASES.iter().flat_map(|(name, length)| {
            PRESETS.iter().map(move |preset| {
                let runs = runs(world, |world| restart(world, *preset, *length));
                let row = peer_named(name, preset.name(), &runs[0]);
                let done = 100.0 * mean(&runs, Run::success);
                let row = match preset {
                    Preset::Background if *length <= 5 => row.at_least("done, %", done, 95.0),
                    _ => row.measure("done, %", done),
                };
                row.measure("attempts a call", mean(&runs, Run::attempts_per_call))
                    .measure("longest, s", mean(&runs, |run| secs(run.longest_call())))
            })
        });
        rows.collect()
    },
);

fn restart(world: World, preset: Preset, length: u64) -> Run {
    world.play(async {
        let begin = Duration::from_secs(20);
        let rules = Rules {
            outage: begin..begin + Duration::from_secs(length),
            ..Rules::default()
        };
        let stage = stage(world, rules);
        let client = stage.with_defaults(&preset.policy());
        let times = (0..20 + length).map(|n| (n, Duration::from_secs(n), Target::new(0)));
        let ended = calls(stage.clock, client, times).await;
        numbered(&stage.run(ended), 20..20 + length).since(begin)
    })
}
