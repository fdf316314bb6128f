//! One process's side of a fleet, with a scripted store and a paused clock.

mod budgets;
mod calls;
mod ends;
mod gates;
mod listening;
mod memory;
pub(crate) mod server;

use super::*;
use crate::clock::TokioClock;
use budget::model::{StoredBucket, StoredRecord, settle};
use budget::{BudgetReply, BudgetReport};
use gate::model::{StoredGate, step};
use gate::{GateReply, GateReport};
use http_retry_core::policy::{Moment, RetryPlan};
use http_retry_core::report::{LeaveReason, RetryEvent, RetryEventKind};
use http_retry_core::sharing::{BudgetExt, PaymentResult};
use http_retry_core::{ErrorKind, Outcome, RequestFacts, RetryPolicy};
use names::{BudgetKeys, GateKeys};
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;
use store::{Reply, Store, Subscriber};
use tokio::runtime::Builder;

const WAIT: Duration = Duration::from_millis(50);
const SECOND: Duration = Duration::from_secs(1);

/// A store in memory that any number of processes share.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<StoreState>>);

#[derive(Default)]
struct StoreState {
    buckets: HashMap<String, Option<StoredBucket>>,
    records: HashMap<String, Option<StoredRecord>>,
    /// The latency of a reply.
    takes: Duration,
    fails: Option<LeaveReason>,
    commands: Vec<BudgetReport>,
}

impl Memory {
    fn with<R>(&self, change: impl FnOnce(&mut StoreState) -> R) -> R {
        change(&mut self.0.lock().unwrap())
    }

    fn commands(&self) -> usize {
        self.with(|state| state.commands.len())
    }

    fn fleet(&self) -> Fleet {
        Fleet::builder()
            .prefix("p")
            .wait(WAIT)
            .on(Box::new(self.clone()), String::new())
    }

    fn settles(&self, keys: &BudgetKeys, report: &BudgetReport) -> BudgetReply {
        self.with(|state| {
            let bucket = state.buckets.entry(keys.budget.clone()).or_default();
            let record = state.records.entry(keys.record.clone()).or_default();
            let now = i64::try_from(TokioClock.now().as_millis()).unwrap();
            settle(bucket, record, report, now)
        })
    }
}

impl Store for Memory {
    fn settle_budget<'a>(
        &'a self,
        keys: &'a BudgetKeys,
        report: &'a BudgetReport,
    ) -> Reply<'a, BudgetReply> {
        Box::pin(async move {
            let (takes, fails) = self.with(|state| {
                state.commands.push(*report);
                (state.takes, state.fails)
            });
            TokioClock.sleep(takes).await;
            fails.map_or_else(|| Ok(self.settles(keys, report)), Err)
        })
    }

    fn step_gate<'a>(&'a self, _: &'a GateKeys, _: &'a GateReport) -> Reply<'a, GateReply> {
        Box::pin(std::future::ready(Err(LeaveReason::Script)))
    }

    fn subscribe<'a>(&'a self, _: &'a GateKeys, _: &'a Arc<dyn Subscriber>) -> Reply<'a, ()> {
        Box::pin(std::future::ready(Err(LeaveReason::Script)))
    }
}

/// The plan of a call that begins and fails now.
fn plan() -> RetryPlan {
    let facts = RequestFacts::operation().idempotent(true);
    let now = Moment::new(TokioClock.now());
    let session = RetryPolicy::background().session(facts, now.now);
    let plan = session.plan(&Outcome::error(ErrorKind::Reset), now);
    plan.unwrap()
}

/// Asks for a retry. Returns `true` if it is paid for, and the time that the answer took.
async fn ask(budget: &RetryBudget) -> (bool, Duration) {
    let begun = TokioClock.now();
    let paid = match budget.ask(plan(), begun) {
        PaymentResult::Paid(paid) => Some(paid),
        PaymentResult::Refused => None,
        PaymentResult::Pending(asking) => asking.await,
    };
    let took = TokioClock.now() - begun;
    (
        paid.map(http_retry_core::budget::PaidRetry::commit)
            .is_some(),
        took,
    )
}

fn deposit(budget: &RetryBudget, successes: u64) {
    for _ in 0..successes {
        budget.deposit(TokioClock.now());
    }
}

async fn pass(time: Duration) {
    TokioClock.sleep(time).await;
}

#[derive(Clone, Default)]
struct EventLog(Arc<Mutex<Vec<String>>>);

impl EventLog {
    fn in_fleet(fleet: &Fleet) -> (Self, Arc<[Arc<dyn Observer>]>) {
        let log = Self::default();
        let observer: Arc<dyn Observer> = Arc::new(log.clone());
        let observers: Arc<[Arc<dyn Observer>]> = Arc::new([observer]);
        let runtime: Arc<dyn Runtime> = Arc::new(TokioClock);
        fleet.joined_by(&runtime, &observers);
        fleet.joined_by(&runtime, &observers);
        (log, observers)
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Observer for EventLog {
    fn on_event(&self, event: &RetryEvent<'_>) {
        let what = match event.kind {
            RetryEventKind::FleetLeft { reason, .. } => format!("left: {reason}"),
            RetryEventKind::FleetJoined { .. } => "joined".to_owned(),
            other => format!("{other:?}"),
        };
        let line = format!("{} {what}", event.service);
        self.0.lock().unwrap().push(line);
    }
}

#[test]
fn a_fleet_shows_no_password() {
    let fleet = Fleet::redis("redis://alice:hunter2@cache:7000/3").unwrap();
    let shown = format!("{fleet:?}");
    assert_eq!(
        shown,
        r#"Fleet { store: "cache:7000", prefix: "http-retry", wait: 50ms, .. }"#
    );
    let client = ::redis::Client::open("redis://alice:hunter2@cache:7000/3").unwrap();
    assert_eq!(format!("{:?}", Fleet::redis_client(client)), shown);
}
