//! The end of a fleet: closed, or with its last handle dropped.

use super::*;

#[tokio::test(start_paused = true)]
async fn close_reports_the_rest_and_waits_no_longer_than_the_limit() {
    let store = Memory::default();
    let fleet = store.fleet();
    let budget = fleet.budgets().get("a");
    pass(SECOND).await;
    deposit(&budget, 7);
    let begun = TokioClock.now();
    fleet.close().await;
    assert_eq!(TokioClock.now(), begun);
    assert_eq!(
        store.with(|state| state.commands.last().unwrap().successes),
        7
    );
    fleet.close().await;
    assert_eq!(TokioClock.now(), begun);
    store.with(|state| state.takes = SECOND);
    deposit(&budget, 1);
    fleet.close().await;
    assert_eq!(TokioClock.now() - begun, WAIT);
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
    let budget = fleet.budgets().get("a");
    let core = Arc::downgrade(&fleet.shared);
    drop(fleet);
    pass(SECOND).await;
    assert!(core.upgrade().is_some(), "the budget is in use");
    drop(budget);
    pass(SECOND).await;
    assert!(core.upgrade().is_none());
}
