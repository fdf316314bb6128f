//! One service of this process in the fleet: a task that sends what the budget has to say, and hands it the answers.

use super::core::{Core, idle};
use super::names::BudgetKeys;
use super::status::Standing;
use super::task::Half;
use crate::budget::fleet::{BudgetAnswer, BudgetLink, BudgetWords, FleetChange, LeaveReason, Next};
use crate::report::{Ended, Step};
use crate::runtime::{Runtime, within};
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};

/// A budget that is in the fleet, as its task sees it.
pub(super) struct Member {
    core: Arc<Core>,
    service: Arc<str>,
    link: BudgetLink,
    runtime: Arc<dyn Runtime>,
    standing: Mutex<Standing>,
}

impl Member {
    pub(super) fn new(core: Arc<Core>, service: &str, link: BudgetLink) -> Self {
        core.presence().enter(service);
        Self {
            runtime: core.runtime(),
            core,
            service: service.into(),
            link,
            standing: Mutex::default(),
        }
    }

    pub(super) fn standing(&self) -> Standing {
        *self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends what is not told yet; whether there is anything.
    pub(super) fn flush(&self) -> bool {
        self.link.flush(self.runtime.now())
    }

    pub(super) fn has_news(&self) -> bool {
        self.link.has_news(self.runtime.now())
    }

    /// Sends a command. From `wait` on nobody waits for the answer, which counts all the same.
    async fn send(&self, words: &BudgetWords) {
        let keys = BudgetKeys::new(self.core.prefix(), &self.service, words.process);
        let sent = self.runtime.now();
        let mut answer = self.core.store().settle(&keys, words);
        let limit = self.runtime.sleep(self.core.wait());
        let (answer, late) = match within(limit, answer.as_mut()).await {
            Some(answer) => (answer, false),
            None => {
                self.tell(self.link.timed_out(self.runtime.moment()), None);
                (answer.await, true)
            }
        };
        let ended = Ended {
            step: Step::Budget,
            took: self.runtime.now().saturating_sub(sent),
            failed: answer.as_ref().err().copied(),
            late,
        };
        ended.measure();
        self.hear(answer);
    }

    fn hear(&self, answer: Result<BudgetAnswer, LeaveReason>) {
        let processes = answer.as_ref().ok().map(|answer| answer.processes);
        let change = self.link.answered(self.runtime.moment(), answer);
        self.tell(change, processes);
        self.core.answered();
    }

    fn tell(&self, change: Option<FleetChange>, processes: Option<i64>) {
        let now = self.runtime.now();
        let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        let (last, _) = standing.last();
        standing.hear(change, processes, now);
        drop(standing);
        if let Some(change) = change {
            self.core.tell(&self.service, (last, change), now);
        }
    }
}

impl Half for Member {
    async fn run(&self) {
        loop {
            let next = poll_fn(|cx| Poll::Ready(self.link.next(self.runtime.moment(), cx.waker())));
            match next.await {
                Next::Command(words) => self.send(&words).await,
                Next::Wait(until) => idle(&*self.runtime, until).await,
                Next::Gone => return,
            }
        }
    }

    fn stopped(&self) {
        self.hear(Err(LeaveReason::Unreachable));
    }

    fn watch(&self, waker: &Waker) {
        self.link.watch(waker);
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let (last, _) = self.standing().last();
        self.core.presence().leave(&self.service, last);
    }
}
