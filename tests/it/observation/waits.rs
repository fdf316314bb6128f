//! Each wait is told once, as long as it was: what the events tell adds up to the time that passed.

use super::*;
use bytes::Bytes;
use futures_util::future::join_all;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use http_retry::RetryBudget;
use http_retry::gate::Gate;
use std::convert::Infallible;
use tokio::time::Instant;
use tower::service_fn;

/// Answers take so long.
const WORK: Duration = Duration::from_millis(40);
/// Everybody is refused so long.
const OUTAGE: Duration = Duration::from_secs(3);
/// Tokio's clock goes in steps of this.
const TICK: Duration = Duration::from_millis(1);

/// Adds up the waits and the attempts that it is told of.
#[derive(Clone, Default)]
struct Sum(Arc<Mutex<Told>>);

#[derive(Clone, Copy, Default)]
struct Told {
    scheduled: Duration,
    at_the_gate: Duration,
    attempts: Duration,
    waits: u32,
}

impl Observer for Sum {
    fn on_event(&self, event: &RetryEvent<'_>) {
        let mut told = self.0.lock().unwrap();
        match event.kind {
            RetryEventKind::RetryScheduled { delay, due, .. } => {
                assert_eq!(due, event.at + delay);
                told.scheduled += delay;
                told.waits += 1;
            }
            RetryEventKind::WaitedAtGate { waited, .. } => {
                told.at_the_gate += waited;
                told.waits += 1;
            }
            RetryEventKind::AttemptEnded(attempt) => told.attempts += attempt.took,
            _ => {}
        }
    }
}

impl Sum {
    fn told(&self) -> Told {
        *self.0.lock().unwrap()
    }
}

#[test]
fn one_retry_is_one_sleep_with_a_gate_or_without() {
    let refused = [
        ("429", Some("5")),
        ("503", Some("5")),
        ("503", None),
        ("429", None),
    ];
    for ((status, after), gate) in refused.into_iter().flat_map(|of| [(of, false), (of, true)]) {
        let builder = RetryPolicy::builder().max_gate_wait(gate.then_some(SECOND * 60));
        let policy = builder.backoff(Backoff::fixed(SECOND)).build().unwrap();
        let runtime = ManualRuntime::new();
        let script = Script::new().status(status.parse().unwrap());
        let script = after
            .into_iter()
            .fold(script, |script, after| script.header("retry-after", after));
        let layer = RetryLayer::new(policy).runtime(runtime.clone());
        let report = by_tower(&layer, script.status(200));
        assert_eq!(report.attempt_count, 2, "{report}");
        assert_eq!(
            runtime.sleeps(),
            [report.waited],
            "{status} {after:?} {gate}"
        );
    }
}

#[test]
fn scheduled_delays_are_all_that_a_call_alone_waits() {
    let busy = |status: u16| {
        let script = Script::new().status(status).header("retry-after", "5");
        script.status(503).status(200)
    };
    for (status, gate) in [(503, false), (429, false), (429, true)] {
        let with_a_gate = || {
            let builder = RetryPolicy::builder().max_gate_wait(gate.then_some(SECOND * 60));
            let backoff = Backoff::fixed(SECOND).jitter(Jitter::None);
            builder.backoff(backoff).build().unwrap()
        };
        let [tower, reqwest] = [Sum::default(), Sum::default()];
        let layer = RetryLayer::new(with_a_gate()).runtime(ManualRuntime::new());
        let by_tower = by_tower(&layer.observer(tower.clone()), busy(status));
        let middleware = RetryMiddleware::new(with_a_gate()).runtime(ManualRuntime::new());
        let by_reqwest = by_reqwest(middleware.observer(reqwest.clone()), busy(status));
        for (sum, report) in [(tower, by_tower), (reqwest, by_reqwest)] {
            let told = sum.told();
            let last = report.attempts.last().unwrap();
            assert_eq!(report.attempt_count, 3, "{report}");
            assert_eq!(last.started, told.scheduled + told.at_the_gate, "{report}");
            assert_eq!(report.waited, last.started, "{report}");
        }
    }
}

/// Twenty callers come within a second, to a server that refuses everybody at first.
#[tokio::test(start_paused = true)]
#[expect(clippy::disallowed_methods, reason = "on tokio's paused clock")]
async fn waits_of_many_at_a_gate_add_up_to_the_time_that_passed() {
    let (gate, budget, start) = (Gate::new(), RetryBudget::default(), Instant::now());
    let answer = move |_: Request<String>| async move {
        let refused = start.elapsed() < OUTAGE;
        tokio::time::sleep(WORK).await;
        let response = if refused {
            Response::builder()
                .status(StatusCode::TOO_MANY_REQUESTS)
                .header("retry-after", "1")
        } else {
            Response::builder()
        };
        Ok::<_, Infallible>(response.body(Full::<Bytes>::default()).unwrap())
    };
    let calls = (0..20).map(|number| {
        let sum = Sum::default();
        let layer = RetryLayer::new(RetryPolicy::rate_limited())
            .gate(gate.clone())
            .budget(budget.clone())
            .observer(sum.clone());
        async move {
            tokio::time::sleep(Duration::from_millis(50) * number).await;
            let (slot, came) = (ReportSlot::default(), Instant::now());
            let mut request = Request::get(URL).body(String::new()).unwrap();
            request.extensions_mut().insert(slot.clone());
            let response = layer.layer(service_fn(answer)).oneshot(request).await;
            assert_eq!(response.unwrap().status(), StatusCode::OK);
            (came.elapsed(), sum.told(), slot.take().unwrap())
        }
    });
    let ended = join_all(calls).await;
    for (took, told, report) in &ended {
        assert_added_up(*took, told, report);
    }
    let told = |of: fn(&Told) -> Duration| {
        let told = ended.iter().map(|(_, told, _)| of(told));
        told.filter(|waited| !waited.is_zero()).count()
    };
    assert!(told(|told| told.at_the_gate) > 10 && told(|told| told.scheduled) > 1);
}

/// The waits that were told are the time that passed, and the report's.
fn assert_added_up(took: Duration, told: &Told, report: &RetryReport) {
    let waited = told.scheduled + told.at_the_gate;
    let passed = took - told.attempts;
    let apart = passed.abs_diff(waited);
    assert!(
        apart <= TICK * (1 + told.waits),
        "{passed:?} is told as {waited:?}"
    );
    assert_eq!(report.waited, waited);
}
