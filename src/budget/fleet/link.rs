//! The side of whoever sends a shared budget's commands.

use super::change::{FleetChange, LeaveReason};
use super::member::{Due, Member};
use super::words::{BudgetAnswer, FleetTerms};
use crate::budget::account::Account;
use crate::budget::sync::{Arc, MutexGuard};
use crate::budget::{RetryBudget, RetryBudgetBuilder, Shared};
use crate::error::ConfigError;
use crate::policy::Moment;
use std::task::Waker;
use std::time::Duration;

/// One process's half of a shared budget, as whoever sends its commands sees it. It ends when every handle of the budget is
/// gone; dropped before, it leaves the budget alone for ever.
#[derive(Debug)]
pub(crate) struct BudgetLink(Arc<Shared>);

impl RetryBudget {
    /// A budget of a fleet, known to the store by this ID; a retry waits for it for so long.
    pub(crate) fn in_fleet(
        builder: &RetryBudgetBuilder,
        id: u64,
        wait: Duration,
    ) -> Result<(Self, BudgetLink), ConfigError> {
        let (terms, initial) = builder.terms()?;
        let member = Member::new(FleetTerms::new(&terms, initial), id, wait);
        let shared = Arc::new(Shared {
            wait: Some(wait),
            ..Shared::new(terms, Account::Shared(Box::new(member)))
        });
        Ok((Self(Some(Arc::clone(&shared))), BudgetLink(shared)))
    }
}

impl BudgetLink {
    /// The next command, if one is due: at most one is in flight. `waker` is woken as soon as there is one for somebody who
    /// asks.
    pub(crate) fn next(&self, at: Moment, waker: &Waker) -> Due {
        if Arc::strong_count(&self.0) == 1 {
            return Due::Gone;
        }
        let next = change(self.0.settle(at.now), |member| {
            member.watch(waker);
            member.next(at)
        });
        next.unwrap_or(Due::Gone)
    }

    /// Replaces the waker and begins nothing.
    pub(crate) fn watch(&self, waker: &Waker) {
        change(self.0.lock(), |member| member.watch(waker));
    }

    /// What came of the last command, also when it comes late.
    pub(crate) fn answered(
        &self,
        at: Moment,
        answer: Result<BudgetAnswer, LeaveReason>,
    ) -> Option<FleetChange> {
        change(self.0.settle(at.now), |member| member.answered(at, answer))?
    }

    /// The budget's `wait` has passed with a command in flight: who asks is served alone.
    pub(crate) fn timed_out(&self, at: Moment) -> Option<FleetChange> {
        change(self.0.settle(at.now), |member| member.timed_out(at.now))?
    }

    /// Makes a command due now if there is news, for programs that end; whether there is.
    pub(crate) fn flush(&self, now: Duration) -> bool {
        if !self.has_news(now) {
            return false;
        }
        let driver = change(self.0.lock(), Member::flushes_at_once);
        if let Some(driver) = driver.flatten() {
            driver.wake();
        }
        true
    }

    /// Whether there is anything that the store does not know.
    pub(crate) fn has_news(&self, now: Duration) -> bool {
        change(self.0.settle(now), |member| member.has_news()) == Some(true)
    }
}

impl Drop for BudgetLink {
    fn drop(&mut self) {
        change(self.0.lock(), Member::ends);
    }
}

/// Runs this with the member, and wakes who has an answer by it, without the lock.
fn change<R>(
    mut account: MutexGuard<'_, Account>,
    change: impl FnOnce(&mut Member) -> R,
) -> Option<R> {
    let member = account.member()?;
    let result = change(member);
    let wakers = member.take_wakers();
    drop(account);
    wakers.into_iter().for_each(Waker::wake);
    Some(result)
}
