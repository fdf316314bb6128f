//! A batch that processes share, at a quota.

use super::super::super::World;
use super::super::super::clients::{Client, Target, Tokens};
use super::super::super::limiter::Limited;
use super::super::super::load::made;
use super::super::super::run::{Ended, Run};
use super::super::super::runtime::Clock;
use super::super::super::server::Rules;
use super::super::super::verdict::Row;
use super::super::quotas::{QUOTA as SILENT, TOLD_QUOTA};
use super::super::stage::{Contender, Stage};
use super::super::{Scenario, Worlds};
use super::{at_least, at_most, contenders, row};
use http_retry::{RetryBudget, RetryPolicy};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::timeout;

const CALLS: u64 = 5_000;
const AT_ONCE: usize = 200;
const HOUR: Duration = Duration::from_secs(3_600);
/// One in five processes dies, a little after the second window has begun.
const DYING: usize = 5;
const DEATH: Duration = Duration::from_millis(10_100);

pub(in super::super) const QUOTA: Scenario = Scenario {
    id: "quota-fleet",
    title: "5,000 calls on a quota of 500 in 10 s, 200 at once, by so many processes",
    worlds: Worlds::OneOfEachSeed,
    play: |world| {
        let cases = if world.short {
            &CASES[2..3]
        } else {
            &CASES[..]
        };
        cases.iter().flat_map(|case| case.play(world)).collect()
    },
};

/// A batch and what must hold for it.
#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    processes: usize,
    quota: Limited,
    store: Duration,
    dying: bool,
    /// Refusals per call, seconds in all, and seconds of one call.
    most: [f64; 3],
}

const SILENT_20: Case = Case {
    name: "quota, 20 processes",
    processes: 20,
    quota: SILENT,
    store: Duration::from_millis(2),
    dying: false,
    most: [0.06, 97.0, f64::INFINITY],
};

const TOLD_20: Case = Case {
    name: "told quota, 20 processes",
    quota: TOLD_QUOTA,
    most: [0.07, 101.0, f64::INFINITY],
    ..SILENT_20
};

const TOLD_100: Case = Case {
    name: "told quota, 100 processes",
    processes: 100,
    ..TOLD_20
};

const CASES: [Case; 6] = [
    SILENT_20,
    Case {
        name: "quota, 100 processes",
        processes: 100,
        ..SILENT_20
    },
    TOLD_20,
    TOLD_100,
    Case {
        name: "told quota, 20 of 100 die",
        dying: true,
        most: [0.06, f64::INFINITY, 15.0],
        ..TOLD_100
    },
    Case {
        name: "told quota, far store",
        store: Duration::from_millis(20),
        most: [0.06, f64::INFINITY, 25.0],
        ..TOLD_100
    },
];

impl Case {
    fn play(&self, world: World) -> Vec<Row> {
        let contenders = contenders(world, Contender::Fleet(self.store)).into_iter();
        let rows = contenders.map(|contender| {
            let run = self.run(world, contender);
            let [refused, time, longest] = self.most;
            let row = row(self.name, contender, &run);
            let told = ("refused per call", run.refused_per_call());
            let row = at_most(row, contender, told, refused);
            let row = at_most(row, contender, ("time, s", run.took().as_secs_f64()), time);
            let call = ("longest call, s", run.longest_call().as_secs_f64());
            let row = at_most(row, contender, call, longest);
            // Whoever dies takes the calls along that it makes.
            let dying = if self.dying { AT_ONCE / DYING } else { 0 };
            let least = CALLS as f64 - dying as f64;
            at_least(row, contender, ("done", run.done() as f64), least)
        });
        rows.collect()
    }

    fn run(&self, world: World, contender: Contender) -> Run {
        let builder = RetryPolicy::rate_limited().to_builder();
        let policy = builder.max_gate_wait(HOUR).build().expect("an hour");
        world.play(async {
            let rules = Rules {
                limited: Some(self.quota),
                ..Rules::default()
            };
            let stage = Stage::new(world, vec![rules]);
            let store = stage.store(contender);
            let client = |_| match contender {
                Contender::Fleet(_) => stage.process(&stage.origin, &policy, (&store, None)),
                _ => stage.ours(&policy, &Tokens::One(RetryBudget::default())),
            };
            let clients = (0..self.processes).map(client).collect();
            let calls = self.calls(stage.clock, clients).await;
            stage.run(calls)
        })
    }

    /// Makes the calls, each as soon as there is room for it. A process that dies is dropped with all that it has.
    async fn calls(&self, clock: Clock, processes: Vec<Client>) -> Vec<Ended> {
        let (next, ended) = (Arc::default(), Arc::default());
        let mut callers: BTreeMap<usize, Vec<_>> = BTreeMap::new();
        for caller in 0..AT_ONCE {
            let process = caller % self.processes;
            let caller = call_on(
                clock,
                processes[process].clone(),
                Arc::clone(&next),
                Arc::clone(&ended),
            );
            callers.entry(process).or_default().push(caller);
        }
        drop(processes);
        let mut tasks = JoinSet::new();
        for (process, callers) in callers {
            let lives = if self.dying && process % DYING == 0 {
                DEATH
            } else {
                HOUR
            };
            for caller in callers {
                tasks.spawn(timeout(lives, caller));
            }
        }
        tasks.join_all().await;
        let mut ended = ended.lock().expect("nothing panics");
        std::mem::take(&mut *ended)
    }
}

async fn call_on(
    clock: Clock,
    client: Client,
    next: Arc<AtomicU64>,
    ended: Arc<Mutex<Vec<Ended>>>,
) {
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= CALLS {
            return;
        }
        let call = made(clock, number, client.clone(), Target::new(0)).await;
        ended.lock().expect("nothing panics").push(call);
    }
}
