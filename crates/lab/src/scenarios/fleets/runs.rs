//! Programs that make one request and end.

use super::super::super::World;
use super::super::super::clients::{Client, Target, Tokens};
use super::super::super::load::offer_by;
use super::super::super::run::Run;
use super::super::super::server::Rules;
use super::super::super::verdict::Row;
use super::super::stage::{Contender, Setup, Stage};
use super::super::{Scenario, Worlds};
use super::{FLEET, at_most, row};
use http_retry::RetryBudget;
use http_retry::report::LeaveReason;
use std::iter;
use std::time::Duration;

/// One begins after the other, so far apart.
const BETWEEN: Duration = Duration::from_millis(30);
const ATTEMPTS: &str = "attempts per request";

pub(in super::super) const RUNS: Scenario = Scenario {
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
            let run = run(world, contender, down);
            let attempts = (ATTEMPTS, run.attempts_per_call());
            at_most(row(case, contender, &run), contender, attempts, most)
        });
        rows.collect::<Vec<Row>>()
    },
};

fn run(world: World, contender: Contender, down: bool) -> Run {
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
        let times = (0..runs).map(|number| BETWEEN * number);
        let programs = iter::repeat_with(program);
        let calls = offer_by(stage.clock, programs, &[Target::new(0)], times).await;
        stage.run(calls)
    })
}
