//! One service of this process in the fleet: a task that sends what the budget has to say, and hands it the answers.

use super::core::Core;
use super::names::BudgetKeys;
use super::status::Standing;
use crate::budget::fleet::{BudgetAnswer, BudgetLink, BudgetWords, FleetChange, LeaveReason, Next};
use crate::report::{Ended, Step};
use crate::runtime::{Runtime, within};
use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Wake, Waker};
use std::time::Duration;
use tokio::runtime::Handle;

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
        Self {
            runtime: core.runtime(),
            core,
            service: service.into(),
            link,
            standing: Mutex::default(),
        }
    }

    /// Begins now inside a tokio runtime, else when somebody inside one asks for a retry.
    pub(super) fn start(self: Arc<Self>) {
        match Handle::try_current() {
            Ok(tokio) => drop(tokio.spawn(Running(Some(self)).run())),
            Err(_) => self.park(),
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

    /// Leaves word to begin again with the next retry that asks. Until then the budget keeps this value, and this value
    /// the budget: what is never used again is never let go of.
    fn park(self: Arc<Self>) {
        let starter = Waker::from(Arc::new(Starter(Mutex::new(Some(Arc::clone(&self))))));
        self.link.watch(&starter);
    }

    async fn run(&self) {
        loop {
            let next = poll_fn(|cx| Poll::Ready(self.link.next(self.runtime.moment(), cx.waker())));
            match next.await {
                Next::Command(words) => self.send(&words).await,
                Next::Wait(until) => self.idle(until).await,
                Next::Gone => return,
            }
        }
    }

    /// Waits until this time, or until it is woken.
    async fn idle(&self, until: Option<Duration>) {
        let left = until.map(|until| until.saturating_sub(self.runtime.now()));
        let mut sleep = left.map(|left| self.runtime.sleep(left));
        let mut waits = true;
        poll_fn(|cx| {
            let is_over = sleep
                .as_mut()
                .is_some_and(|sleep| sleep.as_mut().poll(cx).is_ready());
            match std::mem::take(&mut waits) && !is_over {
                true => Poll::Pending,
                false => Poll::Ready(()),
            }
        })
        .await;
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
        standing.hear(change, processes, now);
        drop(standing);
        if let Some(change) = change {
            self.core.recorder().changed(&self.service, now, change);
        }
    }
}

/// A member whose task runs. Where the task ends before the budget does, its tokio runtime does: the next retry that asks
/// inside another one begins anew.
struct Running(Option<Arc<Member>>);

impl Running {
    async fn run(mut self) {
        if let Some(member) = &self.0 {
            member.run().await;
        }
        self.0 = None;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(member) = self.0.take() {
            // Of a command that is on its way nobody will hear.
            member.hear(Err(LeaveReason::Unreachable));
            member.park();
        }
    }
}

/// Begins once it is woken.
struct Starter(Mutex<Option<Arc<Member>>>);

impl Wake for Starter {
    fn wake(self: Arc<Self>) {
        let member = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(member) = member {
            member.start();
        }
    }
}
