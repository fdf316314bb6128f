//! The account of a budget in the fleet: the budget's side asks for tokens, the task's side sends reports.

use super::message::{BudgetReply, BudgetReport, StoreTerms};
use super::participant::{Answer, BudgetParticipant};
use crate::status::FleetChange;
use crate::sync::{Arc, AtomicU64, Mutex, MutexGuard, Ordering};
use crate::task::NextAction;
use http_retry_core::policy::Moment;
use http_retry_core::report::LeaveReason;
use http_retry_core::sharing::{AccountReply, BudgetTerms, SharedAccount};
use std::future::Future;
use std::pin::Pin;
use std::sync::PoisonError;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// The account that a [`RetryBudget`](http_retry_core::RetryBudget) pays from; dropped with the budget's last handle.
#[derive(Debug)]
pub(super) struct FleetAccount(Arc<AccountInner>);

/// The task's side of the account, which sends its reports. If it is dropped while the budget is in use, the budget
/// stays alone for ever.
#[derive(Debug)]
pub(super) struct AccountLink(Arc<AccountInner>);

#[derive(Debug)]
struct AccountInner {
    successes: Successes,
    wait: Duration,
    participant: Mutex<BudgetParticipant>,
}

/// The count of successes. It takes no lock, and has a cache line of its own.
#[derive(Debug)]
#[repr(align(128))]
struct Successes(AtomicU64);

/// A retry that waits for the store's reply.
struct PendingPayment {
    account: Arc<AccountInner>,
    number: u64,
    price: u64,
    is_answered: bool,
}

/// Makes the account of a process that the store knows by `id`; a retry waits for at most `wait`.
pub(super) fn account(terms: &BudgetTerms, id: u64, wait: Duration) -> (FleetAccount, AccountLink) {
    let participant = BudgetParticipant::new(StoreTerms::new(terms), id, wait);
    let inner = Arc::new(AccountInner {
        successes: Successes(AtomicU64::new(0)),
        wait,
        participant: Mutex::new(participant),
    });
    (FleetAccount(Arc::clone(&inner)), AccountLink(inner))
}

impl AccountInner {
    fn lock(&self) -> MutexGuard<'_, BudgetParticipant> {
        // Its arithmetic does not panic, so a panic cannot leave it half changed.
        self.participant
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self, now: Duration) -> MutexGuard<'_, BudgetParticipant> {
        let mut participant = self.lock();
        let successes = self.successes.0.load(Ordering::Relaxed);
        participant.settle(successes, now);
        participant
    }
}

impl SharedAccount for FleetAccount {
    fn deposit(&self, _: Duration) {
        // It orders nothing else, and a success that a report misses is in the next one.
        self.0.successes.0.fetch_add(1, Ordering::Relaxed);
    }

    fn withdraw(&self, price: u64, now: Duration) -> bool {
        self.0.settle(now).pay(price)
    }

    fn refund(&self, price: u64) {
        self.0.lock().refund(price);
    }

    fn tokens(&self) -> u64 {
        self.0.lock().tokens()
    }

    fn capacity(&self) -> u64 {
        self.0.lock().capacity()
    }

    fn settle(&self, now: Duration) {
        drop(self.0.settle(now));
    }

    fn ask(&self, price: u64, now: Duration) -> AccountReply {
        let mut participant = self.0.settle(now);
        let answer = participant.ask(price, now);
        let driver = participant.driver_due(now);
        drop(participant);
        // Woken without the lock, which the task takes at once.
        if let Some(driver) = driver {
            driver.wake();
        }
        match answer {
            Answer::Paid => AccountReply::Paid,
            Answer::Refused => AccountReply::Refused,
            Answer::Pending(number) => AccountReply::Pending(Box::pin(PendingPayment {
                account: Arc::clone(&self.0),
                number,
                price,
                is_answered: false,
            })),
        }
    }

    fn wait(&self) -> Duration {
        self.0.wait
    }
}

impl Future for PendingPayment {
    type Output = bool;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<bool> {
        let answer = self.account.lock().poll(self.number, cx.waker());
        self.is_answered = answer.is_ready();
        answer
    }
}

impl Drop for PendingPayment {
    fn drop(&mut self) {
        if !self.is_answered {
            // The answer may have come since the last poll, and a grant must not be lost with the retry.
            self.account.lock().cancel(self.number, self.price);
        }
    }
}

impl AccountLink {
    /// Returns the next report if one is due; at most one is in flight. `waker` is woken as soon as a retry needs a
    /// report.
    pub(super) fn next(&self, at: Moment, waker: &Waker) -> NextAction<BudgetReport> {
        // No budget and no waiting retry holds the account any more. Unreported amounts are lost, which is safe: the
        // other processes have fewer tokens.
        if Arc::strong_count(&self.0) == 1 {
            return NextAction::Gone;
        }
        change(self.0.settle(at.now), |participant| {
            participant.watch(waker);
            participant.next(at)
        })
    }

    /// Replaces the waker without starting anything.
    pub(super) fn watch(&self, waker: &Waker) {
        self.0.lock().watch(waker);
    }

    /// Handles the reply to the last report, even if it is late.
    pub(super) fn replied(
        &self,
        at: Moment,
        reply: Result<BudgetReply, LeaveReason>,
    ) -> Option<FleetChange> {
        change(self.0.settle(at.now), |participant| {
            participant.replied(at, reply)
        })
    }

    /// Pays waiting retries from the allowance: the budget's `wait` has passed with a report in flight.
    pub(super) fn timed_out(&self, at: Moment) -> Option<FleetChange> {
        change(self.0.settle(at.now), |participant| {
            participant.timed_out(at.now)
        })
    }

    /// Makes a report due now if anything is unreported, for programs that end. Returns `true` if so.
    pub(super) fn flush(&self, now: Duration) -> bool {
        if !self.has_unreported(now) {
            return false;
        }
        let driver = self.0.lock().flush_now();
        if let Some(driver) = driver {
            driver.wake();
        }
        true
    }

    /// Returns `true` if the store does not have everything yet.
    pub(super) fn has_unreported(&self, now: Duration) -> bool {
        self.0.settle(now).has_unreported()
    }
}

impl Drop for AccountLink {
    fn drop(&mut self) {
        change(self.0.lock(), BudgetParticipant::end);
    }
}

/// Changes the participant, releases the lock, and then wakes the retries that the change has answered.
fn change<R>(
    mut participant: MutexGuard<'_, BudgetParticipant>,
    change: impl FnOnce(&mut BudgetParticipant) -> R,
) -> R {
    let result = change(&mut participant);
    let wakers = participant.take_wakers();
    drop(participant);
    wakers.into_iter().for_each(Waker::wake);
    result
}
