//! One service of this process in the fleet: a task that sends what the budget has to say, and hands it the answers.

use super::core::{Core, Part, idle};
use super::membership::Membership;
use super::names::BudgetKeys;
use super::status::Standing;
use super::task::Half;
use crate::budget::fleet::{BudgetAnswer, BudgetLink, BudgetWords, Due, LeaveReason};
use crate::report::Step;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// A budget that is in the fleet, as its task sees it.
pub(super) struct Member {
    membership: Membership,
    link: BudgetLink,
}

impl Member {
    pub(super) fn new(core: Arc<Core>, service: &str, link: BudgetLink) -> Self {
        let membership = Membership::new(core, service);
        Self { membership, link }
    }

    async fn send(&self, words: &BudgetWords) {
        let Membership { core, service, .. } = &self.membership;
        let keys = BudgetKeys::new(&core.prefix, service, words.process);
        let answer = core.store.settle(&keys, words);
        let timed_out = || {
            let change = self.link.timed_out(self.membership.runtime.moment());
            self.membership.tell(change, None);
        };
        self.hear(self.membership.ask(Step::Budget, answer, timed_out).await);
    }

    fn hear(&self, answer: Result<BudgetAnswer, LeaveReason>) {
        let processes = answer.as_ref().ok().map(|answer| answer.processes);
        let change = self.link.answered(self.membership.runtime.moment(), answer);
        self.membership.tell(change, processes);
        self.membership.core.answered();
    }
}

impl Part for Member {
    fn standing(&self) -> Standing {
        self.membership.standing()
    }

    fn flush(&self) -> bool {
        self.link.flush(self.membership.runtime.now())
    }

    fn has_news(&self) -> bool {
        self.link.has_news(self.membership.runtime.now())
    }
}

impl Half for Member {
    async fn run(&self) {
        loop {
            let next = poll_fn(|cx| {
                Poll::Ready(self.link.next(self.membership.runtime.moment(), cx.waker()))
            });
            match next.await {
                Due::Command(words) => self.send(&words).await,
                Due::Wait(until) => idle(&*self.membership.runtime, until).await,
                Due::Gone => return,
            }
        }
    }

    fn stopped(&self) {
        self.hear(Err(LeaveReason::Unreachable));
    }

    fn watch(&self, waker: &Waker, _: bool) {
        self.link.watch(waker);
    }
}
