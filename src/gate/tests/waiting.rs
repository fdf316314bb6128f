//! The waiting itself, on clocks of its own.

use crate::gate::{Gate, Kind, Pass, Passed, Patience};
use crate::policy::Moment;
use crate::runtime::{Runtime, Sleep};
use crate::testing::ManualRuntime;
use futures_util::FutureExt;
use futures_util::future::join_all;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const LONG: Patience = Patience {
    deadline: None,
    at_gate: Duration::from_secs(86_400),
};

fn paused() -> (ManualRuntime, Arc<dyn Runtime>) {
    let runtime = ManualRuntime::paused();
    (runtime.clone(), Arc::new(runtime))
}

fn at_once(passed: impl Future<Output = Passed>) -> Pass {
    passed
        .now_or_never()
        .expect("the gate is open")
        .pass
        .unwrap()
}

fn refuse(gate: &Gate, runtime: &Arc<dyn Runtime>, asked: Duration) {
    at_once(gate.pass("a", Kind::Newcomer, LONG, runtime, || ())).refused(asked, None);
}

#[test]
fn an_open_gate_lets_everybody_through_at_once_and_services_are_apart() {
    let (_, runtime) = paused();
    let gate = Gate::new();
    refuse(&gate, &runtime, SECOND);
    assert!(
        gate.clone()
            .pass("a", Kind::Newcomer, LONG, &runtime, || ())
            .now_or_never()
            .is_none()
    );
    at_once(gate.pass("b", Kind::Newcomer, LONG, &runtime, || ())).succeeded(None);
}

#[test]
fn a_wait_ends_when_its_turn_comes() {
    let runtime = ManualRuntime::new();
    let shared: Arc<dyn Runtime> = Arc::new(runtime.clone());
    let gate = Gate::new();
    refuse(&gate, &shared, SECOND * 10);
    let passed = gate
        .pass("a", Kind::Retry, LONG, &shared, || ())
        .now_or_never()
        .unwrap();
    assert!(passed.pass.is_some() && passed.waited >= SECOND * 10 && passed.waited < SECOND * 12);
    assert_eq!(runtime.now(), passed.waited);
}

#[test]
fn a_deadline_ends_a_wait_without_a_pass_and_patience_ends_it_with_one() {
    let shared: Arc<dyn Runtime> = Arc::new(ManualRuntime::new());
    let gate = Gate::new();
    refuse(&gate, &shared, SECOND * 3_600);
    let hurried = Patience {
        deadline: Some(SECOND * 5),
        ..LONG
    };
    let passed = gate
        .pass("a", Kind::Retry, hurried, &shared, || ())
        .now_or_never()
        .unwrap();
    assert!(passed.pass.is_none());
    assert_eq!(passed.waited, SECOND * 5);
    let patient = Patience {
        deadline: None,
        at_gate: SECOND * 300,
    };
    let passed = gate
        .pass("a", Kind::Retry, patient, &shared, || ())
        .now_or_never()
        .unwrap();
    assert!(passed.pass.is_some());
    assert!(passed.waited >= SECOND * 300 && passed.waited <= SECOND * 310);
    passed.pass.unwrap().succeeded(None);
}

#[test]
fn dropped_at_any_await_a_wait_gives_its_place_back_and_a_pass_its_slot() {
    let (clock, runtime) = paused();
    let gate = Gate::new();
    refuse(&gate, &runtime, SECOND);
    let room = gate.room("a", Duration::ZERO);
    let mut waits: Vec<_> = (0..10)
        .map(|_| Box::pin(gate.pass("a", Kind::Newcomer, LONG, &runtime, || ())))
        .collect();
    let mut cx = Context::from_waker(Waker::noop());
    for wait in &mut waits {
        assert!(wait.as_mut().poll(&mut cx).is_pending());
    }
    assert_eq!(room.waiting(), 10);
    waits.truncate(5);
    assert_eq!(room.waiting(), 5);
    clock.advance(SECOND * 2);
    let passes: Vec<_> = waits
        .iter_mut()
        .map(|wait| wait.as_mut().poll(&mut cx))
        .collect();
    drop(waits);
    assert_eq!(room.waiting(), 0);
    let sent = passes.iter().filter(|pass| pass.is_ready()).count();
    assert_eq!(room.in_flight(), u64::try_from(sent).unwrap());
    drop(passes);
    assert_eq!(room.in_flight(), 0);
    // Before its first look a call holds nothing.
    let _busy = gate.room("b", Duration::ZERO);
    let first = at_once(gate.pass("b", Kind::Newcomer, LONG, &runtime, || ()));
    let mut second = Box::pin(gate.pass("b", Kind::Newcomer, LONG, &runtime, || ()));
    assert!(second.as_mut().poll(&mut cx).is_pending());
    drop((first, second));
    let room = gate.room("b", Duration::ZERO);
    assert_eq!((room.waiting(), room.in_flight()), (0, 0));
}

#[test]
fn answers_that_are_there_are_heard_before_another_call_goes() {
    let (_, runtime) = paused();
    let gate = Gate::new();
    let busy = at_once(gate.pass("a", Kind::Newcomer, LONG, &runtime, || ()));
    let mut next = Box::pin(gate.pass("a", Kind::Newcomer, LONG, &runtime, || ()));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(next.as_mut().poll(&mut cx).is_pending());
    busy.refused(SECOND, None);
    assert!(next.as_mut().poll(&mut cx).is_pending());
    assert_eq!(gate.room("a", Duration::ZERO).waiting(), 1);
}

#[test]
fn the_least_recently_used_service_is_forgotten_but_rather_one_that_is_open() {
    let (_, runtime) = paused();
    let gate = Gate::new().max_services(2);
    refuse(&gate, &runtime, SECOND);
    for service in ["b", "c"] {
        at_once(gate.pass(service, Kind::Newcomer, LONG, &runtime, || ())).succeeded(None);
    }
    assert!(
        gate.pass("a", Kind::Newcomer, LONG, &runtime, || ())
            .now_or_never()
            .is_none()
    );
    for number in 0..5_000 {
        at_once(gate.pass(&number.to_string(), Kind::Newcomer, LONG, &runtime, || ()))
            .succeeded(None);
    }
}

/// Time stands still and no wait takes any.
struct Frozen;

impl Runtime for Frozen {
    fn now(&self) -> Duration {
        Duration::ZERO
    }

    fn moment(&self) -> Moment {
        Moment::new(Duration::ZERO)
    }

    fn sleep(&self, _: Duration) -> Sleep {
        Box::pin(std::future::ready(()))
    }
}

#[test]
fn a_wait_comes_to_its_end_though_the_clock_stands_still() {
    let runtime: Arc<dyn Runtime> = Arc::new(Frozen);
    let gate = Gate::new();
    refuse(&gate, &runtime, SECOND * 30);
    for _ in 0..3 {
        let passed = gate
            .pass("a", Kind::Retry, LONG, &runtime, || ())
            .now_or_never();
        passed.unwrap().pass.unwrap().refused(SECOND * 30, None);
    }
}

struct Tokio;

#[expect(clippy::disallowed_methods, reason = "this is where time comes from")]
impl Runtime for Tokio {
    fn now(&self) -> Duration {
        tokio::time::Instant::now()
            .into_std()
            .duration_since(*START)
    }

    fn moment(&self) -> Moment {
        Moment::new(self.now()).with_random(7)
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        Box::pin(tokio::time::sleep(duration))
    }
}

static START: std::sync::LazyLock<std::time::Instant> = std::sync::LazyLock::new(|| {
    #[expect(clippy::disallowed_methods, reason = "an epoch")]
    let now = std::time::Instant::now();
    now.checked_sub(Duration::from_secs(1_000)).unwrap_or(now)
});

async fn one_call(gate: &Gate, runtime: &Arc<dyn Runtime>, started: Duration) -> Duration {
    let passed = gate.pass("a", Kind::Newcomer, LONG, runtime, || ()).await;
    let at = runtime.now().saturating_sub(started);
    runtime.sleep(Duration::from_millis(10)).await;
    passed.pass.unwrap().succeeded(None);
    at
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_tasks_wait_together_and_leave_spread_out() {
    let runtime: Arc<dyn Runtime> = Arc::new(Tokio);
    let gate = Gate::new();
    refuse(&gate, &runtime, SECOND * 30);
    let started = runtime.now();
    let calls = (0..10_000).map(|_| {
        let (gate, runtime) = (gate.clone(), Arc::clone(&runtime));
        tokio::spawn(async move { one_call(&gate, &runtime, started).await })
    });
    let times: Vec<_> = join_all(calls)
        .await
        .into_iter()
        .map(Result::unwrap)
        .collect();
    assert!(times.is_sorted(), "in order");
    assert!(times[0] >= SECOND * 30 && times[9_999] < SECOND * 36 + Duration::from_millis(10));
    let worst = times.iter().enumerate().map(|(i, start)| {
        times[i..]
            .iter()
            .take_while(|at| **at < *start + Duration::from_millis(100))
            .count()
    });
    assert!(worst.max().unwrap() < 200);
}

#[tokio::test(start_paused = true)]
async fn a_slot_that_comes_free_is_taken_at_once() {
    let runtime: Arc<dyn Runtime> = Arc::new(Tokio);
    let gate = Gate::new();
    let quota = |remaining| {
        Some(crate::gate::Quota {
            limit: Some(2),
            remaining,
            reset: SECOND * 600,
        })
    };
    at_once(gate.pass("a", Kind::Newcomer, LONG, &runtime, || ())).succeeded(quota(1));
    let busy = at_once(gate.pass("a", Kind::Newcomer, LONG, &runtime, || ()));
    let waiter = {
        let (gate, runtime) = (gate.clone(), Arc::clone(&runtime));
        tokio::spawn(async move { gate.pass("a", Kind::Newcomer, LONG, &runtime, || ()).await })
    };
    runtime.sleep(SECOND * 5).await;
    busy.answered(quota(1));
    let waited = waiter.await.unwrap().waited;
    assert!(
        waited >= SECOND * 5 && waited <= SECOND * 5 + Duration::from_millis(10),
        "{waited:?}"
    );
}
