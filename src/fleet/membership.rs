//! One half of a service of this process in the fleet, its budget or a gate: what it asks the store, and what is said of it.

use super::core::{Core, lock};
use super::status::Standing;
use super::store::Answer;
use crate::budget::fleet::{FleetChange, LeaveReason};
use crate::report::{Ended, Step};
use crate::runtime::{Runtime, within};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The membership of one half of a service.
pub(super) struct Membership {
    pub(super) core: Arc<Core>,
    pub(super) service: Arc<str>,
    pub(super) runtime: Arc<dyn Runtime>,
    standing: Mutex<Standing>,
}

impl Membership {
    pub(super) fn new(core: Arc<Core>, service: &str) -> Self {
        core.presence.enter(service);
        Self {
            runtime: core.runtime(),
            core,
            service: service.into(),
            standing: Mutex::default(),
        }
    }

    pub(super) fn standing(&self) -> Standing {
        *lock(&self.standing)
    }

    /// The answer to a command. From `wait` on nobody waits for it, which is said once, and it counts all the same.
    pub(super) async fn ask<T>(
        &self,
        step: Step,
        mut answer: Answer<'_, T>,
        timed_out: impl FnOnce(),
    ) -> Result<T, LeaveReason> {
        let sent = self.runtime.now();
        let limit = self.runtime.sleep(self.core.wait);
        let (answer, late) = match within(limit, answer.as_mut()).await {
            Some(answer) => (answer, false),
            None => {
                timed_out();
                (answer.await, true)
            }
        };
        self.measure(step, sent, (&answer, late));
        answer
    }

    /// Counts a command that was begun at this time, and whether its answer came late.
    pub(super) fn measure<T>(
        &self,
        step: Step,
        begun: Duration,
        (answer, late): (&Result<T, LeaveReason>, bool),
    ) {
        let ended = Ended {
            step,
            took: self.runtime.now().saturating_sub(begun),
            failed: answer.as_ref().err().copied(),
            late,
        };
        ended.measure();
    }

    /// What the half has come to, if that is new, and how many processes there are, if that was told.
    pub(super) fn tell(&self, change: Option<FleetChange>, processes: Option<i64>) {
        let now = self.runtime.now();
        if let Some(processes) = processes {
            self.core.has_heard_of(processes);
        }
        let mut standing = lock(&self.standing);
        let (last, _) = standing.last();
        standing.hear(change, processes, now);
        drop(standing);
        let presence = &self.core.presence;
        let told = change.and_then(|change| presence.change(&self.service, (last, change), now));
        if let Some(told) = told {
            self.core.recorder.changed(&self.service, now, told);
        }
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        let (last, _) = self.standing().last();
        self.core.presence.leave(&self.service, last);
    }
}
