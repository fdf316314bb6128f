//! The budget of one service in the fleet, and its task, which sends reports to the store and handles the replies.

mod account;
mod ledger;
mod message;
#[cfg(any(test, feature = "testing"))]
pub(super) mod model;
mod participant;
mod queue;
#[cfg(test)]
mod tests;

pub(super) use message::{BudgetReply, BudgetReport};

use super::names::BudgetKeys;
use super::shared::{Membership, Shared};
use super::status::PeerStatus;
use super::task::{self, FleetTask, NextAction, idle};
use account::AccountLink;
use http_retry_core::budget::RetryBudget;
use http_retry_core::report::LeaveReason;
use http_retry_core::sharing::{BudgetExt, BudgetTerms};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// A budget in the fleet, with the state that its task needs.
struct BudgetTask {
    membership: Membership,
    link: AccountLink,
}

/// Makes a budget for a service and starts its task; the store knows this process by `id`.
pub(super) fn join(
    shared: &Arc<Shared>,
    service: &str,
    terms: BudgetTerms,
    id: u64,
) -> RetryBudget {
    let (account, link) = account::account(&terms, id, shared.wait);
    let membership = Membership::new(Arc::clone(shared), service);
    let task: Arc<dyn FleetTask> = Arc::new(BudgetTask { membership, link });
    shared.add(&task);
    task::start(task);
    RetryBudget::with_account(terms, account)
}

impl BudgetTask {
    async fn send(&self, report: &BudgetReport) {
        let Membership {
            shared, service, ..
        } = &self.membership;
        let keys = BudgetKeys::new(&shared.prefix, service, report.process);
        let reply = shared.store.settle_budget(&keys, report);
        let timed_out = || {
            let change = self.link.timed_out(self.membership.runtime.moment());
            self.membership.record(change, None);
        };
        self.replied(self.membership.ask("budget", reply, timed_out).await);
    }

    fn replied(&self, reply: Result<BudgetReply, LeaveReason>) {
        let processes = reply.as_ref().ok().map(|reply| reply.processes);
        let change = self.link.replied(self.membership.runtime.moment(), reply);
        self.membership.record(change, processes);
        self.membership.shared.command_ended();
    }
}

impl FleetTask for BudgetTask {
    fn status(&self) -> PeerStatus {
        self.membership.status()
    }

    fn flush(&self) -> bool {
        self.link.flush(self.membership.runtime.now())
    }

    fn has_unreported(&self) -> bool {
        self.link.has_unreported(self.membership.runtime.now())
    }

    fn run(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            loop {
                let next = poll_fn(|cx| {
                    let at = self.membership.runtime.moment();
                    Poll::Ready(self.link.next(at, cx.waker()))
                });
                match next.await {
                    NextAction::Send(report) => self.send(&report).await,
                    NextAction::Wait(until) => idle(&*self.membership.runtime, until).await,
                    NextAction::Gone => return,
                }
            }
        })
    }

    fn stopped(&self) {
        self.replied(Err(LeaveReason::Unreachable));
    }

    fn watch(&self, waker: &Waker, _: bool) {
        self.link.watch(waker);
    }
}
