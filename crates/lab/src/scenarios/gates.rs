//! One batch at each of forty kinds of server that refuse calls: with the gate, and without.

mod kinds;

use super::super::batch::{self, Batch, Pressure};
use super::super::chance::{Use, draw};
use super::super::clients::{Client, Tokens};
use super::super::limiter::{Asks, Limit, Limited};
use super::super::run::Run;
use super::super::server::Rules;
use super::super::verdict::Row;
use super::super::{Stack, World};
use super::stage::{Stage, peer_named};
use super::{Scenario, Worlds};
use http_retry::{Backoff, RetryBudget, RetryPolicy};
use kinds::KINDS;
use std::time::Duration;

/// The time after which the rest of a batch is given up.
const HOUR: Duration = Duration::from_secs(3_600);

/// A batch of calls, a server, and what must hold with the gate.
#[derive(Debug, Clone, Copy)]
struct Kind {
    name: &'static str,
    limited: Limited,
    batch: Batch,
    ideal: Ideal,
    /// The most time, as a multiple of the ideal.
    most_time: f64,
    /// The most refusals per call.
    most_refused: f64,
    /// Seconds and refusals per call with the gate before this one.
    before: Option<(f64, f64)>,
    /// It is played in a short world too.
    in_short: bool,
}

/// The least time that a batch can take.
#[derive(Debug, Clone, Copy)]
enum Ideal {
    /// The time that it takes without a gate: nothing is limited.
    WithoutGate,
    /// So many seconds, whenever the batch begins.
    Seconds(f64),
    /// Until this time of the world.
    After(Duration),
    /// Until the window begins in which the last calls are allowed, and those are made.
    Windows,
}

impl Ideal {
    fn of(self, kind: &Kind, begin: Duration, without_gate: Option<&Run>) -> f64 {
        match self {
            Self::Seconds(seconds) => seconds,
            Self::After(then) => (then - begin).as_secs_f64(),
            Self::Windows => kind.until_the_last_window(begin).as_secs_f64(),
            Self::WithoutGate => without_gate.map_or(f64::NAN, |run| run.took().as_secs_f64()),
        }
    }
}

impl Kind {
    fn play(&self, world: World) -> Vec<Row> {
        let begin = self.begin(world);
        let seldom = world.seed == 1 && world.stack == Stack::Tower && !world.short;
        let needed = matches!(self.ideal, Ideal::WithoutGate);
        let without =
            (needed || seldom).then(|| self.run(world, &without_gate(self.limited.asks), begin));
        let with = self.run(world, &with_gate(), begin);
        let ideal = self.ideal.of(self, begin, without.as_ref());
        let mut rows = vec![self.judged(&with, ideal)];
        rows.extend(without.map(|run| {
            peer_named(self.name, "no gate", &run)
                .measure("time, s", run.took().as_secs_f64())
                .measure("refused per call", run.refused_per_call())
        }));
        rows.extend(self.before.filter(|_| !world.short).map(|(time, refused)| {
            Row::without_series(self.name, "the gate before")
                .measure("time, s", time)
                .measure("refused per call", refused)
        }));
        rows
    }

    fn judged(&self, run: &Run, ideal: f64) -> Row {
        let time = run.took().as_secs_f64();
        peer_named(self.name, "http-retry", run)
            .at_most("sent early", run.early as f64, 0.0)
            .at_least("done", run.done() as f64, self.batch.calls as f64)
            .measure("time, s", time)
            .at_most("time, of the least", time / ideal, self.most_time)
            .at_most(
                "refused per call",
                run.refused_per_call(),
                self.most_refused,
            )
            .measure("longest call, s", run.longest_call().as_secs_f64())
    }

    fn until_the_last_window(&self, begin: Duration) -> Duration {
        let (Some(Limit::Window { calls, length, .. }), Pressure::AtOnce(width)) = (
            self.limited.limits.iter().flatten().next(),
            self.batch.pressure,
        ) else {
            return Duration::ZERO;
        };
        let before = (self.batch.calls - 1) / calls;
        let last = self.batch.calls - before * calls;
        let each = self.limited.round_trip + self.limited.work;
        let times = |number: u64| u32::try_from(number).expect("a small number");
        *length * times(before) - begin + each * times(last.div_ceil(width))
    }

    /// Some time in the first window.
    fn begin(&self, world: World) -> Duration {
        let length = self
            .limited
            .limits
            .iter()
            .flatten()
            .find_map(|limit| match limit {
                Limit::Window { length, .. } | Limit::Route { length, .. } => Some(*length),
                _ => None,
            });
        let drawn = draw(world.seed, Use::Beginning, 0, 0);
        let length = length.unwrap_or(Duration::from_secs(1));
        // Not at its very end, where the ideal would depend on the way to the server.
        let tenths = u64::try_from(length.as_millis() * 9 / 10).expect("a small number");
        Duration::from_millis(drawn % tenths)
    }

    fn run(&self, world: World, policy: &RetryPolicy, begin: Duration) -> Run {
        world.play(async {
            let rules = Rules {
                limited: Some(self.limited),
                ..Rules::default()
            };
            let stage = Stage::new(world, vec![rules]);
            let clients: Vec<Client> = (0..self.batch.processes)
                .map(|_| stage.ours(policy, &Tokens::One(RetryBudget::unlimited())))
                .collect();
            stage.clock.until(begin).await;
            let calls = batch::batch(stage.clock, &clients, self.batch, world.seed, HOUR).await;
            stage.run(calls).from(begin)
        })
    }
}

/// The preset for services with a limit, whose calls wait as long as it takes.
fn with_gate() -> RetryPolicy {
    let builder = RetryPolicy::rate_limited().to_builder().max_gate_wait(HOUR);
    builder.build().expect("an hour")
}

/// The same without a gate: each call waits as it is asked, until it is let through.
fn without_gate(asks: Asks) -> RetryPolicy {
    let backoff = match asks {
        Asks::Nothing => {
            Backoff::exponential(Duration::from_secs(2)).max_delay(Duration::from_secs(60))
        }
        _ => Backoff::none(),
    };
    let builder = RetryPolicy::rate_limited().to_builder().max_gate_wait(None);
    let builder = builder.max_retries(u32::MAX).backoff(backoff);
    builder.build().expect("no gate")
}

fn played(world: World, id: &str) -> Vec<Row> {
    let chosen = KINDS.iter().filter(|(of, _)| *of == id);
    let kinds = chosen.flat_map(|(_, kinds)| kinds.iter());
    let kinds = kinds.filter(|kind| kind.in_short || !world.short);
    kinds.flat_map(|kind| kind.play(world)).collect()
}

macro_rules! scenario {
    ($name:ident, $title:literal) => {
        pub(super) const $name: Scenario = Scenario {
            id: stringify!($name),
            title: $title,
            worlds: Worlds::EachStack,
            play: |world| played(world, stringify!($name)),
        };
    };
}

scenario!(
    O,
    "a batch at servers without a limit that refuse at random"
);
scenario!(P, "a batch at windows");
scenario!(Q, "a batch at windows whose answers say what is left");
scenario!(R, "a batch at buckets and sliding windows");
scenario!(S, "a batch at limits of what is in flight");
scenario!(T, "a batch at limits that change");
scenario!(U, "a batch at limits that no single number describes");
