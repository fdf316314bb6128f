//! One gate of this process in the fleet: a task that listens to its channel, sends what it has to say, and hands it the
//! answers.

use super::Fleet;
use super::core::{Core, idle};
use super::names::GateKeys;
use super::status::Standing;
use super::store::{Hear, Told};
use super::task::{self, Half};
use crate::budget::fleet::{FleetChange, LeaveReason};
use crate::gate::{Gate, GateAnswer, GateFleet, GateLink, GatePush, GateWords, NextWords};
use crate::report::{Ended, Step};
use crate::runtime::{Runtime, within};
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

impl Gate {
    /// Shares each gate of this handle with all processes of the fleet: a 429 in one of them closes it in all, and after
    /// the pause all go on in one order. Call it before you clone the handle, and give all processes the same settings.
    ///
    /// While the store does not answer within the fleet's [`wait`](crate::fleet::FleetBuilder::wait), this process's own
    /// gate decides, which has heard the same.
    #[must_use]
    pub fn shared(self, fleet: &Fleet) -> Self {
        self.in_fleet(Arc::new(Gates(fleet.core())))
    }
}

/// The gates of a fleet.
struct Gates(Arc<Core>);

impl GateFleet for Gates {
    fn wait(&self) -> Duration {
        self.0.wait()
    }

    fn joins(&self, name: &str, apart: Option<&str>, link: GateLink) {
        let keys = GateKeys::new(self.0.prefix(), name, apart);
        let gate = Arc::new(SharedGate::new(Arc::clone(&self.0), name, (keys, link)));
        self.0.add_gate(&gate);
        task::start(gate);
    }
}

/// A gate that is in the fleet, as its task sees it.
pub(super) struct SharedGate {
    core: Arc<Core>,
    service: Arc<str>,
    keys: GateKeys,
    link: GateLink,
    runtime: Arc<dyn Runtime>,
    standing: Mutex<Standing>,
    backoff: Mutex<Backoff>,
}

/// When a subscription that failed is tried again.
#[derive(Debug, Clone, Copy)]
struct Backoff {
    at: Duration,
    next: Duration,
}

const FIRST_BACKOFF: Duration = Duration::from_millis(250);
const LONGEST_BACKOFF: Duration = Duration::from_secs(5);
/// How often a task looks whether its gate is still there.
const LOOK: Duration = Duration::from_secs(60);

/// What listens to the gate's channel.
struct Ear {
    link: GateLink,
    runtime: Arc<dyn Runtime>,
    hears: AtomicBool,
    /// Who is to know that nothing is heard any more.
    task: Mutex<Option<Waker>>,
}

impl SharedGate {
    fn new(core: Arc<Core>, name: &str, (keys, link): (GateKeys, GateLink)) -> Self {
        core.presence().enter(name);
        Self {
            runtime: core.runtime(),
            core,
            service: name.into(),
            keys,
            link,
            standing: Mutex::default(),
            backoff: Mutex::new(Backoff {
                at: Duration::ZERO,
                next: FIRST_BACKOFF,
            }),
        }
    }

    pub(super) fn standing(&self) -> Standing {
        *self.standing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Listens to the channel, if it does not and may try.
    async fn listen(&self, ear: &Arc<Ear>) {
        if ear.hears() || self.runtime.now() < self.backoff().at {
            return;
        }
        let (listener, begun): (Arc<dyn Hear>, _) = (Arc::clone(ear) as _, self.runtime.now());
        ear.hears.store(true, Ordering::SeqCst);
        let listens = self.core.store().listen(&self.keys, &listener).await;
        Ended {
            step: Step::Listen,
            took: self.runtime.now().saturating_sub(begun),
            failed: listens.err(),
            late: false,
        }
        .measure();
        match listens {
            Ok(()) if ear.hears() => {
                self.set_backoff(Backoff {
                    at: Duration::ZERO,
                    next: FIRST_BACKOFF,
                });
                self.link.subscribed(self.runtime.moment(), true);
            }
            Ok(()) => self.fails(LeaveReason::Unreachable),
            Err(reason) => {
                ear.hears.store(false, Ordering::SeqCst);
                self.fails(reason);
            }
        }
    }

    /// The subscription was in vain; it is tried again later, each time more so.
    fn fails(&self, reason: LeaveReason) {
        let (at, Backoff { next, .. }) = (self.runtime.moment(), self.backoff());
        self.set_backoff(Backoff {
            at: at.now.saturating_add(spread(next, at.random)),
            next: next.saturating_mul(2).min(LONGEST_BACKOFF),
        });
        self.leave(reason);
    }

    async fn send(&self, words: &GateWords) {
        let sent = self.runtime.now();
        let mut answer = self.core.store().step(&self.keys, words);
        let limit = self.runtime.sleep(self.core.wait());
        let (answer, late) = match within(limit, answer.as_mut()).await {
            Some(answer) => (answer, false),
            None => {
                self.link.timed_out(self.runtime.moment());
                self.leave(LeaveReason::Timeout);
                (answer.await, true)
            }
        };
        Ended {
            step: Step::Gate,
            took: self.runtime.now().saturating_sub(sent),
            failed: answer.as_ref().err().copied(),
            late,
        }
        .measure();
        self.hear(answer);
    }

    fn hear(&self, answer: Result<GateAnswer, LeaveReason>) {
        let failed = answer.as_ref().err().copied();
        if self.link.answered(self.runtime.moment(), answer.ok()) {
            self.join();
        } else if let Some(reason) = failed {
            self.leave(reason);
        }
        self.core.answered();
    }

    fn join(&self) {
        let (last, since) = self.standing().last();
        if !matches!(last, Some(FleetChange::Joined { .. })) {
            let away = self.runtime.now().saturating_sub(since);
            self.tell(last, FleetChange::Joined { away });
        }
    }

    fn leave(&self, reason: LeaveReason) {
        let (last, _) = self.standing().last();
        if !matches!(last, Some(FleetChange::Left { .. })) {
            self.tell(last, FleetChange::Left { reason });
        }
    }

    fn tell(&self, last: Option<FleetChange>, change: FleetChange) {
        let now = self.runtime.now();
        let mut standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner);
        standing.hear(Some(change), None, now);
        drop(standing);
        self.core.tell(&self.service, (last, change), now);
    }

    fn backoff(&self) -> Backoff {
        *self.backoff.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_backoff(&self, backoff: Backoff) {
        *self.backoff.lock().unwrap_or_else(PoisonError::into_inner) = backoff;
    }
}

impl Half for SharedGate {
    async fn run(&self) {
        let ear = Arc::new(Ear {
            link: self.link.clone(),
            runtime: Arc::clone(&self.runtime),
            hears: AtomicBool::new(false),
            task: Mutex::default(),
        });
        loop {
            self.listen(&ear).await;
            let next = poll_fn(|cx| {
                ear.wakes(cx.waker());
                Poll::Ready(self.link.next(self.runtime.moment(), cx.waker()))
            });
            match next.await {
                NextWords::Command(words) => self.send(&words).await,
                NextWords::Wait(until) => {
                    // Nobody says when a gate that has nothing to say is dropped.
                    let looks = self.runtime.now().saturating_add(LOOK);
                    let listens = (!ear.hears()).then_some(self.backoff().at);
                    let until = [until, listens]
                        .into_iter()
                        .flatten()
                        .fold(looks, Duration::min);
                    idle(&*self.runtime, Some(until)).await;
                }
                NextWords::Gone => return,
            }
        }
    }

    fn stopped(&self) {
        let at = self.runtime.moment();
        self.link.subscribed(at, false);
        self.hear(Err(LeaveReason::Unreachable));
    }

    fn watch(&self, waker: &Waker) {
        self.link.watch(waker);
    }
}

impl Drop for SharedGate {
    fn drop(&mut self) {
        let (last, _) = self.standing().last();
        self.core.presence().leave(&self.service, last);
    }
}

impl Ear {
    fn hears(&self) -> bool {
        self.hears.load(Ordering::SeqCst)
    }

    fn wakes(&self, waker: &Waker) {
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        *task = Some(waker.clone());
    }
}

impl Hear for Ear {
    fn told(&self, told: Told) {
        let number = |number: i64| u64::try_from(number).unwrap_or_default();
        let push = GatePush {
            opening: number(told.opening),
            closed: Duration::from_millis(number(told.milliseconds)),
        };
        self.link.told(self.runtime.moment(), push);
    }

    fn lost(&self) {
        self.hears.store(false, Ordering::SeqCst);
        self.link.subscribed(self.runtime.moment(), false);
        let task = self
            .task
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(task) = task {
            task.wake();
        }
    }
}

/// A fifth more or less, so that processes that failed together do not come back together.
fn spread(interval: Duration, random: u64) -> Duration {
    let fifth = interval / 5;
    let thousandths = u32::try_from(random % 2_001).unwrap_or_default();
    let more = fifth.saturating_mul(thousandths) / 1_000;
    fifth.saturating_mul(4).saturating_add(more)
}
