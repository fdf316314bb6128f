//! Retries that a fleet is asked for, as a caller sees them.

use crate::budget::fleet::LeaveReason;
use crate::budget::fleet::{BudgetAnswer, BudgetLink, BudgetWords, Due, Flag};
use crate::runtime::Runtime;
use crate::testing::ManualRuntime;
use crate::tower::RetryLayer;
use crate::{
    Backoff, Jitter, RetryBody, RetryBudget, RetryPolicy, RetryPolicyBuilder, RetryReport,
    StopReason,
};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::{Body, Frame};
use std::convert::Infallible;
use std::error::Error;
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tower::{Layer, ServiceExt, service_fn};

const WAIT: Duration = Duration::from_millis(50);
const DELAY: Duration = Duration::from_secs(1);
const TOKEN: i64 = 1_000_000;

/// A body that counts how often somebody reads it.
#[derive(Default)]
struct Watched(Arc<AtomicUsize>);

impl Body for Watched {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.fetch_add(1, Relaxed);
        Poll::Ready(None)
    }
}

/// A program whose budget is shared: its clock, its budget and the side of whoever sends the commands.
struct Program {
    runtime: ManualRuntime,
    budget: RetryBudget,
    link: BudgetLink,
    attempts: Arc<AtomicUsize>,
    read: Arc<AtomicUsize>,
}

type Answer = Result<Response<RetryBody<Watched>>, Box<dyn Error + Send + Sync>>;
type Call = Pin<Box<dyn Future<Output = Answer>>>;

impl Program {
    fn new() -> Self {
        let (budget, link) = RetryBudget::in_fleet(&RetryBudget::builder(), 7, WAIT).unwrap();
        Self {
            runtime: ManualRuntime::paused(),
            budget,
            link,
            attempts: Arc::default(),
            read: Arc::default(),
        }
    }

    fn layer(&self, policy: RetryPolicyBuilder) -> RetryLayer {
        RetryLayer::new(policy.build().unwrap())
            .runtime(self.runtime.clone())
            .budget(self.budget.clone())
    }

    /// A call to a server that always answers 503, or never anything.
    fn call(&self, policy: RetryPolicyBuilder, answers: bool) -> Call {
        let layer = self.layer(policy);
        let (attempts, read) = (Arc::clone(&self.attempts), Arc::clone(&self.read));
        let client = service_fn(move |_: Request<String>| {
            attempts.fetch_add(1, Relaxed);
            let body = Watched(Arc::clone(&read));
            async move {
                if !answers {
                    pending::<()>().await;
                }
                let mut response = Response::new(body);
                *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
                Ok::<_, Infallible>(response)
            }
        });
        let request = Request::get("http://api.example/")
            .body(String::new())
            .unwrap();
        Box::pin(layer.layer(client).oneshot(request))
    }

    fn command(&self) -> BudgetWords {
        match self.link.next(self.runtime.moment(), Waker::noop()) {
            Due::Command(words) => words,
            next => panic!("{next:?}"),
        }
    }

    fn answers(&self, granted: i64) {
        let answer = BudgetAnswer {
            granted,
            tokens: 0,
            capacity: 20 * TOKEN,
            processes: 1,
            now_ms: 0,
            flag: Flag::Settled,
        };
        self.link.answered(self.runtime.moment(), Ok(answer));
    }

    fn attempts(&self) -> usize {
        self.attempts.load(Relaxed)
    }

    fn read(&self) -> usize {
        self.read.load(Relaxed)
    }
}

fn policy() -> RetryPolicyBuilder {
    let backoff = Backoff::fixed(DELAY).jitter(Jitter::None);
    RetryPolicy::builder().max_retries(1).backoff(backoff)
}

fn poll(call: &mut Call) -> Option<Answer> {
    let mut cx = Context::from_waker(Waker::noop());
    match call.as_mut().poll(&mut cx) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    }
}

fn stop<B>(answer: &Response<B>) -> StopReason {
    answer.extensions().get::<RetryReport>().unwrap().stop()
}

#[test]
fn a_refusal_hands_over_an_untouched_response() {
    let program = Program::new();
    let mut call = program.call(policy(), true);
    assert!(poll(&mut call).is_none());
    assert_eq!(program.command().want, TOKEN);
    program.runtime.advance(WAIT / 2);
    assert!(poll(&mut call).is_none());
    program.answers(0);
    let response = poll(&mut call).unwrap().unwrap();
    assert_eq!(stop(&response), StopReason::BudgetExhausted);
    assert_eq!((program.attempts(), program.read()), (1, 0));
}

#[test]
fn a_granted_retry_is_due_when_it_was_planned_to_be() {
    let program = Program::new();
    let mut call = program.call(policy(), true);
    assert!(poll(&mut call).is_none());
    program.command();
    program.runtime.advance(WAIT / 2);
    program.answers(TOKEN);
    assert!(poll(&mut call).is_none());
    assert!(program.read() > 0);
    program
        .runtime
        .advance(DELAY - WAIT / 2 - Duration::from_nanos(1));
    assert!(poll(&mut call).is_none());
    assert_eq!(program.attempts(), 1);
    program.runtime.advance(Duration::from_nanos(1));
    let response = poll(&mut call).unwrap().unwrap();
    assert_eq!(stop(&response), StopReason::AttemptsExhausted);
    assert_eq!(program.attempts(), 2);
}

#[test]
fn nobody_waits_longer_than_the_bound_for_a_silent_store() {
    let program = Program::new();
    let mut call = program.call(policy(), true);
    assert!(poll(&mut call).is_none());
    program.command();
    program.runtime.advance(WAIT);
    assert!(poll(&mut call).is_none());
    program.runtime.advance(DELAY - WAIT);
    // A process that has never heard of its fleet has one token.
    poll(&mut call).unwrap().unwrap();
    assert_eq!(program.attempts(), 2);
    program.link.timed_out(program.runtime.moment());
    let response = poll(&mut program.call(policy(), true)).unwrap().unwrap();
    assert_eq!(stop(&response), StopReason::BudgetExhausted);
}

#[test]
fn a_request_waits_no_longer_for_the_store_than_it_may() {
    let program = Program::new();
    let soon = Backoff::fixed(WAIT / 5).jitter(Jitter::None);
    let policy = policy().backoff(soon).deadline(WAIT / 2);
    let mut call = program.call(policy, true);
    assert!(poll(&mut call).is_none());
    program.runtime.advance(WAIT / 2);
    let response = poll(&mut call).unwrap().unwrap();
    assert_eq!(stop(&response), StopReason::DeadlineExceeded);
}

#[test]
fn a_store_that_fails_costs_no_call_anything() {
    let program = Program::new();
    let mut call = program.call(policy(), true);
    assert!(poll(&mut call).is_none());
    program.command();
    let failed = Err(LeaveReason::Unreachable);
    program.link.answered(program.runtime.moment(), failed);
    assert!(poll(&mut call).is_none());
    program.runtime.advance(DELAY);
    poll(&mut call).unwrap().unwrap();
    assert_eq!(program.attempts(), 2);
}

#[test]
fn after_a_timeout_the_fleet_is_asked_as_well() {
    for (granted, attempts) in [(2 * TOKEN, 2), (0, 1)] {
        let program = Program::new();
        let mut call = program.call(policy().attempt_timeout(DELAY), false);
        assert!(poll(&mut call).is_none());
        program.runtime.advance(DELAY);
        assert!(poll(&mut call).is_none());
        assert_eq!(program.command().want, 2 * TOKEN);
        program.answers(granted);
        let ended = poll(&mut call);
        assert_eq!(ended.is_some(), granted == 0);
        program.runtime.advance(DELAY);
        let _ = (granted > 0).then(|| poll(&mut call));
        assert_eq!(program.attempts(), attempts);
    }
}

#[test]
fn a_refused_attempt_goes_on_where_no_error_can_say_its_end() {
    for granted in [2 * TOKEN, 0] {
        let program = Program::new();
        let (runtime, attempts) = (program.runtime.clone(), Arc::clone(&program.attempts));
        let slow = service_fn(move |_: Request<String>| {
            attempts.fetch_add(1, Relaxed);
            let answer = runtime.sleep(DELAY * 3);
            async move {
                answer.await;
                Ok::<_, Infallible>(Response::new(String::new()))
            }
        });
        let layer = program.layer(policy().attempt_timeout(DELAY));
        let layer = layer.unchanged_errors().layer(slow);
        let mut call = Box::pin(layer.oneshot(Request::new(String::new())));
        let mut poll = || call.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(poll().is_pending());
        program.runtime.advance(DELAY);
        assert!(poll().is_pending());
        assert_eq!(program.command().want, 2 * TOKEN);
        program.answers(granted);
        assert!(poll().is_pending());
        program.runtime.advance(DELAY * 2);
        assert_eq!(poll().is_ready(), granted == 0);
        assert_eq!(program.attempts(), if granted == 0 { 1 } else { 2 });
    }
}

#[test]
fn a_call_that_is_dropped_asks_no_longer_and_loses_no_grant() {
    let program = Program::new();
    let mut call = program.call(policy(), true);
    assert!(poll(&mut call).is_none());
    drop(call);
    let mut call = program.call(policy(), true);
    assert!(poll(&mut call).is_none());
    assert_eq!(program.command().want, TOKEN);
    program.answers(TOKEN);
    drop(call);
    let mut call = program.call(policy(), true);
    assert!(poll(&mut call).is_none());
    program.runtime.advance(DELAY);
    poll(&mut call).unwrap().unwrap();
    assert_eq!(program.attempts(), 4);
}
