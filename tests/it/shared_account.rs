//! Retries that wait for a shared account, as a caller sees them.

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::{Body, Frame};
use http_retry::runtime::Runtime;
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use http_retry::{
    Backoff, Jitter, RetryBody, RetryBudget, RetryPolicy, RetryPolicyBuilder, RetryReport,
    StopReason,
};
use http_retry_core::sharing::{AccountReply, BudgetExt, SharedAccount};
use std::convert::Infallible;
use std::error::Error;
use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tower::{Layer, ServiceExt, service_fn};

const WAIT: Duration = Duration::from_millis(50);
const DELAY: Duration = Duration::from_secs(1);
const TOKEN: u64 = 1_000_000;

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

/// An account whose answers the test gives. By itself the process may spend one token.
#[derive(Clone)]
struct Account(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    tokens: u64,
    is_alone: bool,
    /// The prices that are asked for, each with its answer.
    asked: Vec<(u64, Option<bool>)>,
}

impl Account {
    fn new() -> Self {
        Self(Arc::new(Mutex::new(State {
            tokens: TOKEN,
            ..State::default()
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// The price that is asked for in all.
    fn asked(&self) -> u64 {
        let state = self.state();
        let open = state.asked.iter().filter(|(_, answer)| answer.is_none());
        open.map(|(price, _)| price).sum()
    }

    fn answer(&self, paid: bool) {
        for (_, answer) in &mut self.state().asked {
            answer.get_or_insert(paid);
        }
    }

    /// From now on the process pays alone.
    fn fail(&self) {
        self.state().is_alone = true;
        let enough = self.withdraw(self.asked(), Duration::ZERO);
        self.answer(enough);
    }
}

impl SharedAccount for Account {
    fn deposit(&self, _: Duration) {}

    fn withdraw(&self, price: u64, _: Duration) -> bool {
        let tokens = &mut self.state().tokens;
        let left = tokens.checked_sub(price);
        *tokens = left.unwrap_or(*tokens);
        left.is_some()
    }

    fn refund(&self, price: u64) {
        self.state().tokens += price;
    }

    fn tokens(&self) -> u64 {
        self.state().tokens
    }

    fn capacity(&self) -> u64 {
        20 * TOKEN
    }

    fn ask(&self, price: u64, now: Duration) -> AccountReply {
        if self.state().is_alone {
            return if self.withdraw(price, now) {
                AccountReply::Paid
            } else {
                AccountReply::Refused
            };
        }
        let place = self.state().asked.len();
        self.state().asked.push((price, None));
        let account = self.clone();
        AccountReply::Pending(Box::pin(Payment { account, place }))
    }

    fn wait(&self) -> Duration {
        WAIT
    }
}

/// A retry that asks; dropped, it asks no longer and gives back what it was granted.
struct Payment {
    account: Account,
    place: usize,
}

impl Future for Payment {
    type Output = bool;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<bool> {
        let asked = &mut self.account.state().asked[self.place];
        let Some(paid) = asked.1 else {
            return Poll::Pending;
        };
        *asked = (0, Some(false));
        Poll::Ready(paid)
    }
}

impl Drop for Payment {
    fn drop(&mut self) {
        let mut state = self.account.state();
        let asked = std::mem::replace(&mut state.asked[self.place], (0, Some(false)));
        if let (price, Some(true)) = asked {
            state.tokens += price;
        }
    }
}

/// A program whose budget is shared: its clock, its budget and its account.
struct Program {
    runtime: ManualRuntime,
    budget: RetryBudget,
    account: Account,
    attempts: Arc<AtomicUsize>,
    read: Arc<AtomicUsize>,
}

type Answer = Result<Response<RetryBody<Watched>>, Box<dyn Error + Send + Sync>>;
type Call = Pin<Box<dyn Future<Output = Answer>>>;

impl Program {
    fn new() -> Self {
        let account = Account::new();
        let terms = RetryBudget::builder().terms().unwrap();
        Self {
            runtime: ManualRuntime::paused(),
            budget: RetryBudget::with_account(terms, account.clone()),
            account,
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
    answer.extensions().get::<RetryReport>().unwrap().stop
}

#[test]
fn a_refusal_hands_over_an_untouched_response() {
    let program = Program::new();
    let mut call = program.call(policy(), true);
    assert!(poll(&mut call).is_none());
    assert_eq!(program.account.asked(), TOKEN);
    program.runtime.advance(WAIT / 2);
    assert!(poll(&mut call).is_none());
    program.account.answer(false);
    let response = poll(&mut call).unwrap().unwrap();
    assert_eq!(stop(&response), StopReason::BudgetExhausted);
    assert_eq!((program.attempts(), program.read()), (1, 0));
}

#[test]
fn a_granted_retry_is_due_when_it_was_planned_to_be() {
    let program = Program::new();
    let mut call = program.call(policy(), true);
    assert!(poll(&mut call).is_none());
    program.runtime.advance(WAIT / 2);
    program.account.answer(true);
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
    program.runtime.advance(WAIT);
    assert!(poll(&mut call).is_none());
    program.runtime.advance(DELAY - WAIT);
    // The process had one token of its own.
    poll(&mut call).unwrap().unwrap();
    assert_eq!(program.attempts(), 2);
    program.account.fail();
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
    program.account.fail();
    assert!(poll(&mut call).is_none());
    program.runtime.advance(DELAY);
    poll(&mut call).unwrap().unwrap();
    assert_eq!(program.attempts(), 2);
}

#[test]
fn after_a_timeout_the_account_is_asked_as_well() {
    for (granted, attempts) in [(2 * TOKEN, 2), (0, 1)] {
        let program = Program::new();
        let mut call = program.call(policy().attempt_timeout(DELAY), false);
        assert!(poll(&mut call).is_none());
        program.runtime.advance(DELAY);
        assert!(poll(&mut call).is_none());
        assert_eq!(program.account.asked(), 2 * TOKEN);
        program.account.answer(granted > 0);
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
        assert_eq!(program.account.asked(), 2 * TOKEN);
        program.account.answer(granted > 0);
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
    assert_eq!(program.account.asked(), TOKEN);
    program.account.answer(true);
    drop(call);
    let mut call = program.call(policy(), true);
    assert!(poll(&mut call).is_none());
    program.runtime.advance(DELAY);
    poll(&mut call).unwrap().unwrap();
    assert_eq!(program.attempts(), 4);
}
