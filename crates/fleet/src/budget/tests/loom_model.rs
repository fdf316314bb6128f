//! The interleavings of threads on a shared budget. Built and run like the models in `budget/tests.rs`.

use super::*;
use crate::budget::account::{AccountLink, account};
use http_retry_core::budget::RetryBudget;
use http_retry_core::policy::{Moment, RetryPlan};
use http_retry_core::sharing::{BudgetExt, PaymentResult};
use http_retry_core::{ErrorKind, Outcome, RequestFacts, RetryPolicy};
use loom::thread;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

const WAIT: Duration = Duration::from_millis(50);
const TOKEN: i64 = 1_000_000;

fn plan() -> RetryPlan {
    let facts = RequestFacts::operation().idempotent(true);
    let session = RetryPolicy::background().session(facts, Duration::ZERO);
    let plan = session.plan(&Outcome::error(ErrorKind::Reset), Moment::default());
    plan.unwrap()
}

fn fleet() -> (RetryBudget, AccountLink) {
    let terms = RetryBudget::builder().terms().unwrap();
    let (account, link) = account(&terms, 1, WAIT);
    (RetryBudget::with_account(terms, account), link)
}

fn at(millis: u64) -> Moment {
    Moment::new(Duration::from_millis(millis))
}

fn command(link: &AccountLink, millis: u64) -> Option<BudgetReport> {
    match link.next(at(millis), Waker::noop()) {
        NextAction::Send(report) => Some(report),
        NextAction::Wait(_) | NextAction::Gone => None,
    }
}

fn answer(link: &AccountLink, report: &BudgetReport, millis: u64) {
    let answer = BudgetReply {
        granted: report.want,
        tokens: 0,
        capacity: 20 * TOKEN,
        processes: 1,
        now_ms: 0,
        kind: ReplyKind::Settled,
    };
    link.replied(at(millis), Ok(answer));
}

/// Asks for a retry, and polls once for the answer. Returns `true` if the retry was paid and sent.
fn ask(budget: &RetryBudget) -> bool {
    let mut asking = match budget.ask(plan(), Duration::ZERO) {
        PaymentResult::Paid(paid) => {
            paid.commit();
            return true;
        }
        PaymentResult::Refused => return false,
        PaymentResult::Pending(asking) => asking,
    };
    match Pin::new(&mut asking).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Some(paid)) => {
            paid.commit();
            true
        }
        Poll::Ready(None) | Poll::Pending => false,
    }
}

/// Adds a success. Returns the reported successes and tokens taken, and the tokens that the process still has.
fn ends(budget: &RetryBudget, link: &AccountLink) -> (i64, i64, i64) {
    budget.deposit(Duration::ZERO);
    link.flush(Duration::from_secs(9));
    let report = command(link, 9_000).unwrap();
    link.replied(at(9_000), Err(LeaveReason::Unreachable));
    let in_hand = std::iter::from_fn(|| match budget.ask(plan(), Duration::ZERO) {
        PaymentResult::Paid(paid) => Some(paid.commit()),
        PaymentResult::Refused | PaymentResult::Pending(_) => None,
    });
    (
        report.successes,
        report.taken / TOKEN,
        in_hand.count() as i64,
    )
}

#[test]
fn loom_asks_deposits_and_an_answer_lose_no_token() {
    loom::model(|| {
        let (budget, link) = fleet();
        let (asker, depositor) = (budget.clone(), budget.clone());
        let asked = thread::spawn(move || ask(&asker));
        let deposit = thread::spawn(move || depositor.deposit(Duration::ZERO));
        let mut granted = 0;
        if let Some(report) = command(&link, 1) {
            granted = report.want / TOKEN;
            answer(&link, &report, 2);
        }
        let sent = i64::from(asked.join().unwrap());
        deposit.join().unwrap();
        let (successes, taken, in_hand) = ends(&budget, &link);
        assert_eq!((successes, taken), (2, granted));
        // A process that is alone has no share of a fleet without tokens, and one token before its first reply.
        let own = i64::from(granted == 0);
        assert_eq!(in_hand, granted - sent + own);
    });
}

#[test]
fn loom_a_late_answer_and_a_flush_pay_nobody_twice() {
    loom::model(|| {
        let (budget, link) = fleet();
        let PaymentResult::Pending(asking) = budget.ask(plan(), Duration::ZERO) else {
            panic!("a cold process asks");
        };
        let report = command(&link, 1).unwrap();
        let flusher = budget.clone();
        let late = thread::spawn(move || {
            link.timed_out(at(60));
            answer(&link, &report, 70);
            link
        });
        let deposit = thread::spawn(move || flusher.deposit(Duration::ZERO));
        let alone = asking.pay_alone(Duration::from_millis(50)).is_some();
        let link = late.join().unwrap();
        deposit.join().unwrap();
        let (successes, taken, in_hand) = ends(&budget, &link);
        assert_eq!(successes, 2);
        // One token was granted late. Either it paid, or the process's own token did; the payment is refunded, since
        // nobody committed it.
        assert!(alone);
        assert!((1..=2).contains(&taken));
        assert_eq!(taken, in_hand);
    });
}
