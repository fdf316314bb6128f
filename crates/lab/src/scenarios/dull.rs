//! Dull scenes: what most programs live in, with the presets and the defaults as they are. No storm, no strange server.
//!
//! A row is the mean of [`SEEDS`] runs, or their worst where its name says so. The design page shows the rows.

mod batches;
mod budgets;
mod queues;
mod refused;

use super::super::World;
use super::super::client::{Client, Target};
use super::super::load::made;
use super::super::run::{Ended, Run};
use super::super::runtime::Clock;
use super::super::server::Rules;
use super::super::verdict::Row;
use super::stage::Stage;
use super::{Scenario, Worlds};
use http_retry::RetryPolicy;
use http_retry::llm::LlmPreset;
use std::time::Duration;
use tokio::task::JoinSet;

/// The runs behind a row.
const SEEDS: u64 = 20;

/// The scenes, in the order of the design page.
pub(super) const ALL: [Scenario; 8] = [
    refused::ALWAYS,
    refused::OTHERS,
    queues::QUEUES,
    queues::DEADLINE,
    budgets::SELDOM,
    budgets::TWO_HOSTS,
    batches::BLIP,
    batches::RESTART,
];

/// A policy as a user names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Preset {
    UserFacing,
    Background,
    BackgroundWithoutGate,
    RateLimited,
    Llm,
}

impl Preset {
    fn name(self) -> &'static str {
        match self {
            Self::UserFacing => "user_facing",
            Self::Background => "background",
            Self::BackgroundWithoutGate => "background, no gate",
            Self::RateLimited => "rate_limited",
            Self::Llm => "llm",
        }
    }

    fn policy(self) -> RetryPolicy {
        match self {
            Self::UserFacing => RetryPolicy::user_facing(),
            Self::Background => RetryPolicy::background(),
            Self::BackgroundWithoutGate => {
                let builder = RetryPolicy::background().to_builder();
                builder.max_gate_wait(None).build().expect("no gate")
            }
            Self::RateLimited => RetryPolicy::rate_limited(),
            Self::Llm => RetryPolicy::llm(),
        }
    }
}

const fn scene(id: &'static str, title: &'static str, play: fn(World) -> Vec<Row>) -> Scenario {
    Scenario {
        id,
        title,
        worlds: Worlds::EachStack,
        play,
    }
}

/// The runs of a row: the same scene from other seeds, and from two where time is short.
fn runs(world: World, play: impl Fn(World) -> Run) -> Vec<Run> {
    let seeds = if world.short { 2 } else { SEEDS };
    seeded(world, seeds, play)
}

/// The runs of a row whose calls are few, so that they take little time, and depend on chance.
fn all_runs(world: World, play: impl Fn(World) -> Run) -> Vec<Run> {
    seeded(world, SEEDS, play)
}

fn seeded(world: World, seeds: u64, play: impl Fn(World) -> Run) -> Vec<Run> {
    let world = |seed| World {
        seed: world.seed * 1_000 + seed,
        ..world
    };
    (0..seeds).map(|seed| play(world(seed))).collect()
}

/// The mean of a number over the runs.
fn mean(runs: &[Run], number: impl Fn(&Run) -> f64) -> f64 {
    runs.iter().map(number).sum::<f64>() / runs.len() as f64
}

/// The largest of a number over the runs.
fn worst(runs: &[Run], number: impl Fn(&Run) -> f64) -> f64 {
    runs.iter().map(number).fold(0.0, f64::max)
}

/// The smallest of a number over the runs.
fn least(runs: &[Run], number: impl Fn(&Run) -> f64) -> f64 {
    runs.iter().map(number).fold(f64::INFINITY, f64::min)
}

/// The calls that a program makes: each at its time, under its number.
async fn calls(
    clock: Clock,
    client: Client,
    times: impl IntoIterator<Item = (u64, Duration, Target)>,
) -> Vec<Ended> {
    let mut under_way = JoinSet::new();
    for (number, time, target) in times {
        let client = client.clone();
        under_way.spawn(async move {
            clock.until(time).await;
            made(clock, number, client, target).await
        });
    }
    under_way.join_all().await
}

/// The calls with these numbers.
fn numbered(run: &Run, numbers: std::ops::Range<u64>) -> Run {
    let calls = run
        .calls
        .iter()
        .filter(|call| numbers.contains(&call.number));
    Run {
        calls: calls.copied().collect(),
        ..run.clone()
    }
}

/// One server.
fn stage(world: World, rules: Rules) -> Stage {
    Stage::new(world, vec![rules])
}

fn secs(run: Duration) -> f64 {
    run.as_secs_f64()
}
