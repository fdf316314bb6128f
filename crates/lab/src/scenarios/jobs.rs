//! Jobs that nobody watches, on a quota: what the gate of their preset is for.

use super::super::World;
use super::super::batch::{self, Batch};
use super::super::clients::Tokens;
use super::super::limiter::Limited;
use super::super::server::Rules;
use super::super::verdict::{Bound, Measure, Row};
use super::quotas::{QUOTA, TOLD_QUOTA};
use super::stage::Stage;
use super::{Scenario, Worlds};
use http_retry::{RetryBudget, RetryPolicy};
use std::time::Duration;

const CALLS: u64 = 5_000;
/// The last of them come in the tenth window.
const BOUND: Duration = Duration::from_secs(90);
const TOKENS: u32 = 20;
const HOUR: Duration = Duration::from_secs(3_600);

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
