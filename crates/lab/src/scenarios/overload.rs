//! A server that has more to do than it can.

use super::super::World;
use super::super::load::Load;
use super::super::run::Run;
use super::super::server::Rules;
use super::super::verdict::Row;
use super::stage::{Contender, Setup, peer};
use super::{Scenario, Worlds};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(1);

pub(super) const H: Scenario = Scenario {
    id: "H",
    title: "1 % and 30 % of answers ten times as slow, 1 s attempt timeout",
    worlds: Worlds::All,
    play: |world| {
        let mut rows = slow_answers(world, "H, 1 %", 0.01);
        rows.extend(slow_answers(world, "H, 30 %", 0.30));
        rows
    },
};

/// 100 workers, of which 89 are busy if 30 % of answers take 1.2 s and nobody asks again.
fn slow_answers(world: World, id: &'static str, slow: f64) -> Vec<Row> {
    let setup = Setup {
        rules: Rules {
            workers: Some(100),
            service_time: Duration::from_millis(120),
            slow,
            ..Rules::default()
        },
        loads: vec![Load::new(200.0, 0..60)],
        patience: Some(PATIENCE),
        ..Setup::default()
    };
    let ours = setup.run(world, Contender::HttpRetry);
    let row = peer(id, Contender::HttpRetry, &ours);
    let (attempts, success) = (ours.attempts_per_call(), ours.success());
    let row = if slow < 0.1 {
        row.at_most("attempts per request", attempts, 1.02)
            .measure("success", success)
    } else {
        row.at_most("attempts per request", attempts, 1.10)
            .at_least("success", success, 0.70)
    };
    let others = Contender::peers(world)
        .iter()
        .chain(&[Contender::NoRetries]);
    let others = others.map(|contender| {
        let run = setup.run(world, *contender);
        let row =
            peer(id, *contender, &run).measure("attempts per request", run.attempts_per_call());
        row.measure("success", run.success())
    });
    [row].into_iter().chain(others).collect()
}

pub(super) const J: Scenario = Scenario {
    id: "J",
    title: "1,500 requests a second on 1,000, 503 with Retry-After: 1, 120 s",
    worlds: Worlds::OneOfEachSeed,
    play: j,
};

fn j(world: World) -> Vec<Row> {
    let end = if world.short { 40 } else { 120 };
    let setup = Setup {
        rules: Rules {
            workers: Some(50),
            service_time: Duration::from_millis(50),
            longest_queue: Some(Duration::from_millis(500)),
            ..Rules::default()
        },
        loads: vec![Load::new(1_500.0, 0..end), Load::new(800.0, end..end + 20)],
        patience: Some(PATIENCE),
        ..Setup::default()
    };
    let overload = Duration::from_secs(120);
    let success = |run: &Run| {
        let during = run
            .calls
            .iter()
            .filter(|call| call.began < overload)
            .copied();
        Run::of_calls(during.collect()).success()
    };
    let without = setup.run(world, Contender::NoRetries);
    let lost = |run: &Run| success(&without) - success(run);
    let later = |run: &Run| {
        let well_again = without.last_unserved(PATIENCE);
        run.last_unserved(PATIENCE)
            .saturating_sub(well_again)
            .as_secs_f64()
    };
    let ours = setup.run(world, Contender::HttpRetry);
    let row = peer("J", Contender::HttpRetry, &ours)
        .at_most("attempts per request", ours.attempts_per_call(), 1.10)
        .at_most("success lost", lost(&ours), 0.005)
        .at_most("well again later by, s", later(&ours), 2.0);
    let others = Contender::peers(world).iter().map(|contender| {
        let run = setup.run(world, *contender);
        peer("J", *contender, &run)
            .measure("attempts per request", run.attempts_per_call())
            .measure("success lost", lost(&run))
            .measure("well again later by, s", later(&run))
    });
    [row].into_iter().chain(others).collect()
}
