//! The store in memory that programs test their fleets with.

use super::*;
use crate::memory::MemoryStore;
use http_retry_testing::ManualRuntime;

const MILLI: Duration = Duration::from_millis(1);

fn tokens(budget: &RetryBudget) -> u64 {
    budget.available(TokioClock.now())
}

/// A process that has joined.
async fn joined(store: &MemoryStore) -> (Fleet, RetryBudget) {
    let fleet = Fleet::in_memory(store);
    let budget = fleet.budgets().get("a");
    pass(SECOND).await;
    assert!(fleet.status().joined);
    (fleet, budget)
}

#[tokio::test(start_paused = true)]
async fn a_payment_takes_as_long_as_the_latency() {
    let store = MemoryStore::new();
    store.set_latency(MILLI * 20);
    let (_one, one) = joined(&store).await;
    let (_other, other) = joined(&store).await;
    let mut paid = 0;
    for _ in 0..15 {
        let (answer, took) = ask(&one).await;
        assert!(
            !answer || (MILLI * 20..MILLI * 25).contains(&took),
            "{took:?}"
        );
        paid += usize::from(answer) + usize::from(ask(&other).await.0);
    }
    assert_eq!(paid, 20);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_fails_or_hangs_is_left_and_joined_again() {
    let store = MemoryStore::new();
    let (fleet, budget) = joined(&store).await;
    for (trouble, reason, waits) in [
        (
            MemoryStore::hang as fn(&MemoryStore),
            LeaveReason::Timeout,
            WAIT,
        ),
        (
            |store| store.fail(LeaveReason::ReadOnly),
            LeaveReason::ReadOnly,
            Duration::ZERO,
        ),
    ] {
        trouble(&store);
        assert_eq!(ask(&budget).await, (true, waits));
        assert_eq!(fleet.status().reason, Some(reason));
        pass(SECOND * 3).await;
        assert!(!fleet.status().joined);
        store.recover();
        pass(SECOND * 7).await;
        assert!(fleet.status().joined);
    }
    assert_eq!(tokens(&budget), 18);
}

#[tokio::test(start_paused = true)]
async fn lost_or_rolled_back_state_grants_no_second_budget() {
    let store = MemoryStore::new();
    let (_fleet, budget) = joined(&store).await;
    store.save();
    for _ in 0..15 {
        assert!(ask(&budget).await.0);
    }
    store.roll_back();
    assert!(ask(&budget).await.0);
    assert_eq!(tokens(&budget), 4, "a process is charged by its totals");
    store.forget();
    assert!(ask(&budget).await.0);
    assert_eq!(tokens(&budget), 3, "a fleet that was heard of is not new");
    let (_other, other) = joined(&store).await;
    assert_eq!(tokens(&other), 3);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_has_forgotten_is_new_to_a_new_process() {
    let store = MemoryStore::new();
    let (fleet, budget) = joined(&store).await;
    let now = TokioClock.now();
    assert_eq!(budget.capacity(now), Some(20.into()));
    for _ in 0..20 {
        assert!(ask(&budget).await.0);
    }
    drop((fleet, budget));
    let (_late, budget) = joined(&store).await;
    assert_eq!(tokens(&budget), 0);
    store.forget();
    let (_new, budget) = joined(&store).await;
    assert_eq!(tokens(&budget), 20);
}

#[tokio::test(start_paused = true)]
async fn unused_state_expires_in_an_hour() {
    let store = MemoryStore::new();
    for hours in [0, 1] {
        pass(SECOND * 3_600 * hours).await;
        let (_fleet, budget) = joined(&store).await;
        assert_eq!(tokens(&budget), 20);
        for _ in 0..20 {
            assert!(ask(&budget).await.0);
        }
    }
}

#[cfg(feature = "metrics")]
#[test]
fn a_command_is_measured_from_its_start_to_its_reply() {
    use metrics_util::debugging::{DebugValue, DebuggingRecorder};

    let recorder = DebuggingRecorder::new();
    let snapshotter = recorder.snapshotter();
    metrics::with_local_recorder(&recorder, || {
        let mut runtime = Builder::new_current_thread();
        let runtime = runtime.enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            pass(SECOND).await;
            let store = MemoryStore::new();
            store.set_latency(MILLI * 20);
            let (_fleet, budget) = joined(&store).await;
            assert!(ask(&budget).await.0);
        });
    });
    let mut seconds = Vec::new();
    for (key, _, _, value) in snapshotter.snapshot().into_vec() {
        if let DebugValue::Histogram(times) = value {
            assert_eq!(key.key().name(), "http_retry_fleet_seconds");
            seconds.extend(times.into_iter().map(f64::from));
        }
    }
    assert_eq!(seconds.len(), 2);
    let is_latency = |took: &f64| (0.02..0.03).contains(took);
    assert!(seconds.iter().all(is_latency), "{seconds:?}");
}

#[tokio::test]
async fn a_fleet_waits_by_the_clock_of_its_store() {
    let clock = ManualRuntime::paused();
    let store = MemoryStore::on(clock.clone());
    store.set_latency(MILLI * 20);
    let fleet = Fleet::in_memory(&store);
    let _budget = fleet.budgets().get("a");
    // A process speaks first after about a quarter of a second.
    for (passes, joined) in [(0, false), (400, false), (10, false), (10, true)] {
        clock.advance(MILLI * passes);
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        assert_eq!(fleet.status().joined, joined);
    }
}

mod pauses {
    use super::*;
    use http_retry::testing::Script;
    use http_retry::tower::{Retry, RetryLayer};
    use tower::{Layer, ServiceExt};

    fn process(store: &MemoryStore, answers: Script) -> Retry<Script> {
        let layer = RetryLayer::new(RetryPolicy::rate_limited());
        layer.fleet(&Fleet::in_memory(store)).layer(answers)
    }

    /// Returns the time that a call takes.
    async fn call(process: &Retry<Script>) -> Duration {
        let began = TokioClock.now();
        let get = http::Request::get("http://a/").body(String::new()).unwrap();
        process.clone().oneshot(get).await.unwrap();
        TokioClock.now() - began
    }

    #[tokio::test(start_paused = true)]
    async fn notices_close_gates_if_they_are_delivered() {
        for tells in [true, false] {
            let store = MemoryStore::new();
            store.set_latency(MILLI * 2);
            store.deliver_notices(tells);
            let refused = Script::new().status(200);
            let refuse = |script: Script, _| script.status(429).header("retry-after", "10");
            let refused = (0..4).fold(refused, refuse);
            let one = process(&store, refused.status(200));
            let other = process(&store, Script::new());
            for process in [&one, &other] {
                assert_eq!(call(process).await, Duration::ZERO);
            }
            pass(SECOND).await;
            let (.., waited) =
                tokio::join!(call(&one), call(&one), call(&one), call(&one), async {
                    pass(MILLI * 5).await;
                    call(&other).await
                });
            // It goes as a probe.
            assert!(waited <= MILLI * 210, "{waited:?}");
            assert_eq!(waited > Duration::ZERO, tells);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_beyond_its_limit_holds_no_call() {
        let store = MemoryStore::new();
        let hour = SECOND * 3_600;
        let patient = RetryPolicy::rate_limited().to_builder();
        let patient = patient.max_gate_wait(hour).max_server_delay(hour);
        let patient = RetryLayer::new(patient.build().unwrap());
        let refused = Script::new().status(200).status(429);
        let refused = refused.header("retry-after", "3000").status(200);
        let patient = patient.fleet(&Fleet::in_memory(&store)).layer(refused);
        let impatient = process(&store, Script::new());
        for process in [&patient, &impatient] {
            assert_eq!(call(process).await, Duration::ZERO);
        }
        pass(SECOND).await;
        let (waited, _) = tokio::join!(call(&patient), async {
            for _ in 0..20 {
                pass(SECOND).await;
                assert_eq!(call(&impatient).await, Duration::ZERO);
            }
        });
        assert!(waited >= SECOND * 3_000, "{waited:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_process_that_comes_after_a_pause_is_not_held() {
        let store = MemoryStore::new();
        let refuse = |script: Script, _| script.status(429).header("retry-after", "10");
        let refused = (0..4).fold(Script::new().status(200), refuse);
        let one = process(&store, refused.status(200));
        call(&one).await;
        pass(SECOND).await;
        tokio::join!(call(&one), call(&one), call(&one), call(&one));
        pass(SECOND * 10).await;
        let late = process(&store, Script::new());
        for _ in 0..5 {
            assert_eq!(call(&late).await, Duration::ZERO);
            pass(SECOND / 2).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_gate_joins_with_its_first_reply() {
        let store = MemoryStore::new();
        store.set_latency(MILLI * 20);
        let fleet = Fleet::in_memory(&store);
        let (told, away) = std::sync::mpsc::channel();
        let layer = RetryLayer::new(RetryPolicy::rate_limited()).fleet(&fleet);
        let layer = layer.observe(move |event: &RetryEvent<'_>| {
            if let RetryEventKind::FleetJoined { away, .. } = event.kind {
                told.send(away).unwrap();
            }
        });
        call(&layer.layer(Script::new())).await;
        pass(SECOND).await;
        let away: Vec<_> = away.try_iter().collect();
        assert!(away.len() == 1 && away[0] < SECOND, "{away:?}");
    }

    #[test]
    fn a_gate_joins_again_in_the_next_runtime() {
        let clock = ManualRuntime::paused();
        let store = MemoryStore::on(clock.clone());
        let fleet = Fleet::in_memory(&store);
        let layer = RetryLayer::new(RetryPolicy::rate_limited()).runtime(clock.clone());
        let layer = layer.budget(RetryBudget::unlimited()).fleet(&fleet);
        let process = layer.layer(Script::new());
        for round in 0..3 {
            let runtime = Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                for _ in 0..100 {
                    call(&process).await;
                    clock.advance(MILLI * 10);
                    tokio::task::yield_now().await;
                }
                assert!(fleet.status().joined, "round {round}");
            });
        }
    }

    /// Returns the commands per second of each of this number of processes.
    async fn commands_of_each(processes: u64) -> f64 {
        let store = MemoryStore::new();
        let new = |_| process(&store, Script::new());
        let all: Vec<_> = (0..processes).map(new).collect();
        let mut before = 0;
        for tenth in 0..40 {
            if tenth == 20 {
                before = store.commands();
            }
            for one in &all {
                call(one).await;
            }
            pass(MILLI * 100).await;
        }
        let commands = u32::try_from(store.commands() - before).unwrap();
        f64::from(commands) / f64::from(u32::try_from(processes).unwrap()) / 2.0
    }

    #[tokio::test(start_paused = true)]
    async fn each_of_many_processes_reports_less_often() {
        // One process alone may be a fifth faster with its budget in each interval.
        for (processes, most) in [(1, 9.0), (500, 4.2)] {
            let commands = commands_of_each(processes).await;
            assert!(
                commands > 1.0 && commands <= most,
                "{commands} of {processes}"
            );
        }
    }
}
