//! One process's side of a fleet, on a store that answers as a test wants, and on a clock that stands.

#[cfg(feature = "tower")]
mod calls;
#[cfg(feature = "tower")]
mod gates;
#[cfg(feature = "testing")]
mod memory;
pub(crate) mod server;

use super::*;
use crate::budget::Ask;
use crate::budget::fleet::{
    BudgetAnswer, BudgetWords, LeaveReason, StoredBucket, StoredRecord, settle,
};
use crate::gate::{GateAnswer, GateWords};
use crate::policy::{ErrorKind, Moment, Outcome, RequestFacts, RetryPlan, RetryPolicy};
use crate::report::{RetryEvent, RetryEventKind};
use crate::runtime::TokioRuntime;
use names::{BudgetKeys, GateKeys};
use std::collections::HashMap;
use std::sync::Mutex;
use store::{Answer, Hear};
use tokio::runtime::Builder;

const WAIT: Duration = Duration::from_millis(50);
const SECOND: Duration = Duration::from_secs(1);

/// A store in memory that any number of processes share.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Kept>>);

#[derive(Default)]
struct Kept {
    buckets: HashMap<String, Option<StoredBucket>>,
    records: HashMap<String, Option<StoredRecord>>,
    /// How long an answer takes.
    takes: Duration,
    fails: Option<LeaveReason>,
    commands: Vec<BudgetWords>,
}

impl Memory {
    fn with<R>(&self, change: impl FnOnce(&mut Kept) -> R) -> R {
        change(&mut self.0.lock().unwrap())
    }

    fn commands(&self) -> usize {
        self.with(|kept| kept.commands.len())
    }

    fn fleet(&self) -> Fleet {
        Fleet::on(Box::new(self.clone()), ("p".into(), WAIT), String::new())
    }

    fn settles(&self, keys: &BudgetKeys, words: &BudgetWords) -> BudgetAnswer {
        self.with(|kept| {
            let bucket = kept.buckets.entry(keys.budget.clone()).or_default();
            let record = kept.records.entry(keys.record.clone()).or_default();
            let now = i64::try_from(TokioRuntime.now().as_millis()).unwrap();
            settle(bucket, record, words, now)
        })
    }
}

impl Store for Memory {
    fn settle<'a>(
        &'a self,
        keys: &'a BudgetKeys,
        words: &'a BudgetWords,
    ) -> Answer<'a, BudgetAnswer> {
        Box::pin(async move {
            let (takes, fails) = self.with(|kept| {
                kept.commands.push(*words);
                (kept.takes, kept.fails)
            });
            TokioRuntime.sleep(takes).await;
            fails.map_or_else(|| Ok(self.settles(keys, words)), Err)
        })
    }

    fn step<'a>(&'a self, _: &'a GateKeys, _: &'a GateWords) -> Answer<'a, GateAnswer> {
        Box::pin(std::future::ready(Err(LeaveReason::Script)))
    }

    fn listen<'a>(&'a self, _: &'a GateKeys, _: &'a Arc<dyn Hear>) -> Answer<'a, ()> {
        Box::pin(std::future::ready(Err(LeaveReason::Script)))
    }
}

fn plan() -> RetryPlan {
    let facts = RequestFacts::operation().idempotent(true);
    let session = RetryPolicy::background().session(facts, Duration::ZERO);
    let plan = session.plan(&Outcome::error(ErrorKind::Reset), Moment::default());
    plan.unwrap()
}

/// Whether a retry is paid for, and how long that took.
async fn ask(budget: &RetryBudget) -> (bool, Duration) {
    let asked = TokioRuntime.now();
    let paid = match budget.ask(plan(), asked) {
        Ask::Paid(paid) => Some(paid),
        Ask::Refused => None,
        Ask::Asking(asking) => asking.await,
    };
    let took = TokioRuntime.now() - asked;
    (paid.map(crate::budget::PaidRetry::commit).is_some(), took)
}

fn deposit(budget: &RetryBudget, successes: u64) {
    for _ in 0..successes {
        budget.deposit(TokioRuntime.now());
    }
}

async fn pass(time: Duration) {
    TokioRuntime.sleep(time).await;
}

#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    fn in_fleet(fleet: &Fleet) -> (Self, Arc<[Arc<dyn Observer>]>) {
        let heard = Self::default();
        let observer: Arc<dyn Observer> = Arc::new(heard.clone());
        let observers: Arc<[Arc<dyn Observer>]> = Arc::new([observer]);
        let runtime: Arc<dyn Runtime> = Arc::new(TokioRuntime);
        fleet.has(&runtime, &observers);
        fleet.has(&runtime, &observers);
        (heard, observers)
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Observer for Heard {
    fn on_event(&self, event: &RetryEvent<'_>) {
        let what = match event.kind {
            RetryEventKind::FleetLeft { reason } => format!("left: {reason}"),
            RetryEventKind::FleetJoined { .. } => "joined".to_owned(),
            other => format!("{other:?}"),
        };
        let line = format!("{} {what}", event.service);
        self.0.lock().unwrap().push(line);
    }
}

#[tokio::test(start_paused = true)]
async fn two_processes_spend_one_budget() {
    let store = Memory::default();
    let budgets = [store.fleet(), store.fleet()].map(|fleet| fleet.budget_of("a"));
    let mut paid = 0;
    for _ in 0..30 {
        for budget in &budgets {
            paid += usize::from(ask(budget).await.0);
        }
    }
    assert_eq!(paid, 20);
    deposit(&budgets[0], 50);
    pass(SECOND).await;
    assert_eq!(ask(&budgets[1]).await, (true, Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn the_same_service_is_one_process_in_every_adapter() {
    let store = Memory::default();
    let fleet = store.fleet();
    let budgets = [fleet.budget_of("a"), fleet.clone().budget_of("a")];
    for budget in &budgets {
        deposit(budget, 1);
    }
    pass(SECOND).await;
    assert_eq!(fleet.status().processes, 1);
    let _other = store.fleet().budget_of("a");
    pass(SECOND).await;
    deposit(&budgets[0], 1);
    pass(SECOND).await;
    let status = fleet.status();
    assert_eq!((status.joined, status.processes), (true, 2));
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_too_long_and_then_nobody_at_all() {
    let store = Memory::default();
    let fleet = store.fleet();
    let (heard, _observers) = Heard::in_fleet(&fleet);
    let budget = fleet.budget_of("a");
    pass(SECOND).await;
    assert_eq!(heard.take(), ["a joined"]);
    store.with(|kept| kept.takes = SECOND);
    let asked = budget.clone();
    let (one, other) = tokio::join!(ask(&budget), ask(&asked));
    assert_eq!((one, other), ((true, WAIT), (true, WAIT)));
    assert_eq!(ask(&budget).await, (true, Duration::ZERO));
    assert_eq!(heard.take(), ["a left: timeout"]);
    assert_eq!(fleet.status().reason, Some(LeaveReason::Timeout));
    pass(SECOND * 10).await;
    assert_eq!(heard.take(), [""; 0]);
    store.with(|kept| kept.takes = Duration::ZERO);
    pass(SECOND * 10).await;
    assert_eq!(heard.take(), ["a joined"]);
    assert!(fleet.status().joined);
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_told_once_and_what_was_spent_alone_is_charged() {
    let store = Memory::default();
    let fleet = store.fleet();
    let (heard, _observers) = Heard::in_fleet(&fleet);
    let budget = fleet.budget_of("a");
    pass(SECOND).await;
    store.with(|kept| kept.fails = Some(LeaveReason::ReadOnly));
    for _ in 0..3 {
        assert_eq!(ask(&budget).await, (true, Duration::ZERO));
    }
    assert_eq!(heard.take(), ["a joined", "a left: read_only"]);
    store.with(|kept| kept.fails = None);
    pass(SECOND * 10).await;
    assert_eq!(heard.take(), ["a joined"]);
    assert_eq!(budget.available(TokioRuntime.now()), 17);
}

#[tokio::test(start_paused = true)]
async fn one_command_at_a_time_serves_all_who_ask() {
    let store = Memory::default();
    store.with(|kept| kept.takes = Duration::from_millis(2));
    let budget = store.fleet().budget_of("a");
    pass(SECOND).await;
    let before = store.commands();
    let asks: Vec<_> = (0..500)
        .map(|_| {
            let budget = budget.clone();
            tokio::spawn(async move { ask(&budget).await })
        })
        .collect();
    let mut paid = 0;
    for asked in asks {
        paid += usize::from(asked.await.unwrap().0);
    }
    assert_eq!(paid, 20);
    assert!(store.commands() - before <= 3, "{}", store.commands());
}

#[tokio::test(start_paused = true)]
async fn a_fleet_says_nothing_where_nothing_has_changed() {
    let store = Memory::default();
    let budget = store.fleet().budget_of("a");
    pass(SECOND).await;
    let before = store.commands();
    pass(SECOND * 60).await;
    assert_eq!(store.commands(), before);
    deposit(&budget, 1);
    pass(SECOND).await;
    assert_eq!(store.commands(), before + 1);
}

#[tokio::test(start_paused = true)]
async fn closing_tells_the_last_and_waits_no_longer_than_it_may() {
    let store = Memory::default();
    let fleet = store.fleet();
    let budget = fleet.budget_of("a");
    pass(SECOND).await;
    deposit(&budget, 7);
    let begun = TokioRuntime.now();
    fleet.close().await;
    assert_eq!(TokioRuntime.now(), begun);
    assert_eq!(
        store.with(|kept| kept.commands.last().unwrap().successes),
        7
    );
    fleet.close().await;
    assert_eq!(TokioRuntime.now(), begun);
    store.with(|kept| kept.takes = SECOND);
    deposit(&budget, 1);
    fleet.close().await;
    assert_eq!(TokioRuntime.now() - begun, WAIT);
}

#[tokio::test(start_paused = true)]
async fn the_task_ends_with_the_last_handle_of_the_budget() {
    let store = Memory::default();
    let fleet = store.fleet();
    let budget = fleet.budget("a", RetryBudget::builder()).unwrap();
    pass(SECOND).await;
    assert_eq!(fleet.status().processes, 1);
    drop(budget);
    pass(SECOND).await;
    assert_eq!(fleet.status(), FleetStatus::default());
    let budget = fleet.budget_of("a");
    let core = Arc::downgrade(&fleet.0.core);
    drop(fleet);
    pass(SECOND).await;
    assert!(core.upgrade().is_some(), "the budget is in use");
    drop(budget);
    pass(SECOND).await;
    assert!(core.upgrade().is_none());
}

#[test]
fn a_budget_made_before_the_runtime_joins_with_the_first_retry() {
    let store = Memory::default();
    let fleet = store.fleet();
    let budget = fleet
        .budget("a", RetryBudget::builder().capacity(3))
        .unwrap();
    for round in 0..3 {
        let mut runtime = Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build().unwrap();
        let paid = runtime.block_on(async {
            // What the runtime before left behind is a process alone, until its next try.
            pass(SECOND).await;
            let paid = ask(&budget).await.0;
            pass(SECOND * 10).await;
            assert!(fleet.status().joined, "round {round}");
            paid
        });
        assert!(paid, "round {round}");
    }
    assert_eq!(budget.available(Duration::from_secs(100_000)), 0);
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
