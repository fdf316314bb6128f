//! One budget of many processes.

use super::*;
use http_retry_core::sharing::BudgetExt;

#[tokio::test(start_paused = true)]
async fn two_processes_spend_one_budget() {
    let store = Memory::default();
    let budgets = [store.fleet(), store.fleet()].map(|fleet| fleet.budgets().get("a"));
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
    let budgets = [fleet.budgets().get("a"), fleet.clone().budgets().get("a")];
    for budget in &budgets {
        deposit(budget, 1);
    }
    pass(SECOND).await;
    assert_eq!(fleet.status().processes, 1);
    let _other = store.fleet().budgets().get("a");
    pass(SECOND).await;
    deposit(&budgets[0], 1);
    pass(SECOND).await;
    let status = fleet.status();
    assert_eq!((status.joined, status.processes), (true, 2));
}

#[tokio::test(start_paused = true)]
async fn after_one_timeout_no_retry_waits() {
    let store = Memory::default();
    let fleet = store.fleet();
    let (log, _observers) = EventLog::in_fleet(&fleet);
    let budget = fleet.budgets().get("a");
    pass(SECOND).await;
    assert_eq!(log.take(), ["a joined"]);
    store.with(|state| state.takes = SECOND);
    let asked = budget.clone();
    let (one, other) = tokio::join!(ask(&budget), ask(&asked));
    assert_eq!((one, other), ((true, WAIT), (true, WAIT)));
    assert_eq!(ask(&budget).await, (true, Duration::ZERO));
    assert_eq!(log.take(), ["a left: timeout"]);
    assert_eq!(fleet.status().reason, Some(LeaveReason::Timeout));
    pass(SECOND * 10).await;
    assert_eq!(log.take(), [""; 0]);
    store.with(|state| state.takes = Duration::ZERO);
    pass(SECOND * 10).await;
    assert_eq!(log.take(), ["a joined"]);
    assert!(fleet.status().joined);
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_reported_once_and_spending_alone_is_charged() {
    let store = Memory::default();
    let fleet = store.fleet();
    let (log, _observers) = EventLog::in_fleet(&fleet);
    let budget = fleet.budgets().get("a");
    pass(SECOND).await;
    store.with(|state| state.fails = Some(LeaveReason::ReadOnly));
    for _ in 0..3 {
        assert_eq!(ask(&budget).await, (true, Duration::ZERO));
    }
    assert_eq!(log.take(), ["a joined", "a left: read_only"]);
    store.with(|state| state.fails = None);
    pass(SECOND * 10).await;
    assert_eq!(log.take(), ["a joined"]);
    assert_eq!(budget.available(TokioClock.now()), 17);
}

#[tokio::test(start_paused = true)]
async fn one_command_at_a_time_serves_all_retries() {
    let store = Memory::default();
    store.with(|state| state.takes = Duration::from_millis(2));
    let budget = store.fleet().budgets().get("a");
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
async fn a_retry_that_is_dropped_while_it_asks_costs_nothing() {
    let store = Memory::default();
    let budget = store.fleet().budgets().get("a");
    pass(SECOND).await;
    let asks = || match budget.ask(plan(), TokioClock.now()) {
        PaymentResult::Pending(asking) => asking,
        decided => panic!("{decided:?}"),
    };
    drop(asks());
    pass(SECOND).await;
    let wanted = |state: &mut StoreState| state.commands.iter().any(|report| report.want > 0);
    assert!(!store.with(wanted));

    // Dropped while the command is under way: what the store grants pays the next retry.
    store.with(|state| state.takes = WAIT / 2);
    let asking = asks();
    pass(WAIT / 4).await;
    assert!(store.with(wanted));
    drop(asking);
    pass(SECOND).await;
    assert_eq!(ask(&budget).await, (true, Duration::ZERO));
    let mut paid = 1;
    while ask(&budget).await.0 {
        paid += 1;
    }
    assert_eq!(paid, 20);
}

#[tokio::test(start_paused = true)]
async fn an_idle_fleet_sends_nothing() {
    let store = Memory::default();
    let budget = store.fleet().budgets().get("a");
    pass(SECOND).await;
    let before = store.commands();
    pass(SECOND * 60).await;
    assert_eq!(store.commands(), before);
    deposit(&budget, 1);
    pass(SECOND).await;
    assert_eq!(store.commands(), before + 1);
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
            // The last runtime ended with the process alone, until its next try.
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
