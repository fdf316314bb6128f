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
                outage: match is_down && service == 0 {
                    true => down.clone(),
                    false => Duration::ZERO..Duration::ZERO,
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
        Run::new(during.collect(), Vec::new(), 0).success()
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
    let run = |client: fn(World, &Stage) -> Client| {
        world.play(async {
            let rules = Rules {
                outage: Duration::ZERO..Duration::MAX,
                ..Rules::default()
            };
            let stage = Stage::new(world, vec![rules]);
            let times = Load::new(50.0, 0..60).times(world.arrivals, world.seed);
            let calls = load::offer(
                stage.clock,
                &[client(world, &stage)],
                &[Target::new(0)],
                times,
            )
            .await;
            stage.run(calls)
        })
    };
    let ours = run(|world, stage| {
        Client::ours_thrice(
            world,
            stage.runtime(),
            &stage.origin,
            &RetryPolicy::background(),
        )
    });
    let attempts = ours.attempts_per_call();
    let mut rows =
        vec![peer("N", Contender::HttpRetry, &ours).at_most("attempts per request", attempts, 1.1)];
    if world.peers {
        let peers = run(|_, stage| Client::reqwest_retry_thrice(&stage.origin));
        let row = peer("N", Contender::ReqwestRetry, &peers);
        rows.push(row.measure("attempts per request", peers.attempts_per_call()));
    }
    rows
}
