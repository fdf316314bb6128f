//! Many services, and layers around layers.

use super::super::World;
use super::super::clients::{Client, Target, Tokens};
use super::super::load::{self, Load};
use super::super::run::{Ended, Run};
use super::super::server::Rules;
use super::super::verdict::Row;
use super::stage::{Contender, Stage, peer};
use super::{Scenario, Worlds};
use http_retry::{RetryBudget, RetryPolicy, ServiceBudgets};
use std::time::Duration;

const SERVICES: u64 = 10;

pub(super) const G: Scenario = Scenario {
    id: "G",
    title: "one of ten services is down, 5 % failures elsewhere",
    worlds: Worlds::All,
    play: g,
};

fn g(world: World) -> Vec<Row> {
    let per_service = || {
        let budgets = ServiceBudgets::new(RetryBudget::builder());
        Tokens::PerService(budgets.expect("the default numbers"))
    };
    let shared = || Tokens::One(RetryBudget::default());
    let down = Duration::from_secs(20)..Duration::from_secs(50);
    let run = |tokens: Tokens, is_down: bool| {
        world.play(async {
            let rules = |service: u64| Rules {
                failures: vec![(Duration::ZERO, 0.05)],
                outage: if is_down && service == 0 {
                    down.clone()
                } else {
                    Duration::ZERO..Duration::ZERO
                },
                ..Rules::default()
            };
            let stage = Stage::new(world, (0..SERVICES).map(rules).collect());
            let client = stage.ours(&RetryPolicy::background(), &tokens);
            let services = usize::try_from(SERVICES).expect("ten");
            let calls = stage
                .offer(&[client], services, &[Load::new(1_000.0, 0..60)])
                .await;
            stage.run(calls)
        })
    };
    let elsewhere = |run: &Run| -> Vec<Ended> {
        run.calls
            .iter()
            .filter(|call| call.number % SERVICES != 0)
            .copied()
            .collect()
    };
    let success = |run: &Run| {
        let during = elsewhere(run)
            .into_iter()
            .filter(|call| down.contains(&call.began));
        Run::of_calls(during.collect()).success()
    };
    let (with, without) = (run(per_service(), true), run(per_service(), false));
    let (with_it, without_it) = (elsewhere(&with), elsewhere(&without));
    let differ = with_it
        .iter()
        .zip(&without_it)
        .filter(|(one, other)| one != other)
        .count();
    let mut rows = vec![
        peer("G", Contender::HttpRetry, &with)
            .at_most("calls elsewhere that differ", differ as f64, 0.0)
            .measure("success elsewhere", success(&with)),
    ];
    if world.peers {
        let one = run(shared(), true);
        let row = Row::new("G", "http-retry, one budget", one.series());
        rows.push(row.measure("success elsewhere", success(&one)));
    }
    rows
}

pub(super) const N: Scenario = Scenario {
    id: "N",
    title: "three layers of retries around a service that fails",
    worlds: Worlds::All,
    play: n,
};

fn n(world: World) -> Vec<Row> {
    let run = |client: &dyn Fn(&Stage) -> Client| {
        world.play(async {
            let stage = Stage::new(world, vec![Rules::down()]);
            let times = Load::new(50.0, 0..60).times(world.arrivals, world.seed);
            let (clients, targets) = ([client(&stage)], [Target::new(0)]);
            stage.run(load::offer(stage.clock, &clients, &targets, times).await)
        })
    };
    let ours = |budget: fn() -> RetryBudget| {
        let policy = RetryPolicy::background();
        run(&|stage| Client::ours_thrice(world, &stage.runtime(), &stage.origin, &policy, budget))
    };
    let (with, without) = (ours(RetryBudget::default), ours(RetryBudget::unlimited));
    let mut rows = vec![
        peer("N", Contender::HttpRetry, &with).at_most(ATTEMPTS, with.attempts_per_call(), 1.1),
        // The budgets cannot be what holds here: one layer alone makes five attempts, three would make 125.
        peer("N, no budgets", Contender::HttpRetry, &without).at_most(
            ATTEMPTS,
            without.attempts_per_call(),
            5.0,
        ),
    ];
    if world.peers {
        let peers = run(&|stage| Client::reqwest_retry_thrice(&stage.origin));
        let row = peer("N, no budgets", Contender::ReqwestRetry, &peers);
        rows.push(row.measure(ATTEMPTS, peers.attempts_per_call()));
    }
    rows
}

const ATTEMPTS: &str = "attempts per request";
