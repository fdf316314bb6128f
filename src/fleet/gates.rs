//! One gate of this process in the fleet: a task that listens to its channel, sends what it has to say, and hands it the
//! answers.

use super::core::{Core, Part, idle, lock};
use super::membership::Membership;
use super::names::GateKeys;
use super::status::Standing;
use super::store::Hear;
use super::task::{self, Half};
use crate::budget::fleet::{Backoff, FleetChange, LeaveReason, flush};
use crate::gate::{GateAnswer, GateFleet, GateLink, GatePush, GateWords, NextWords};
use crate::report::Step;
use crate::runtime::Runtime;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

/// The gates of a fleet.
pub(super) struct Gates(pub(super) Arc<Core>);

impl GateFleet for Gates {
    fn wait(&self) -> Duration {
        self.0.wait
    }

    fn flush(&self) -> Duration {
        flush(self.0.processes())
    }

    fn joins(&self, name: &str, apart: Option<&str>, link: GateLink) {
        let membership = Membership::new(Arc::clone(&self.0), name);
        let gate = Arc::new(SharedGate {
            begun: membership.runtime.now(),
            membership,
            keys: GateKeys::new(&self.0.prefix, name, apart),
            link,
            retry: Mutex::default(),
        });
        self.0.add(&gate);
        task::start(gate);
    }
}

/// A gate that is in the fleet, as its task sees it.
pub(super) struct SharedGate {
    membership: Membership,
    keys: GateKeys,
    link: GateLink,
    begun: Duration,
    /// When a subscription that failed is tried again, and how much later the next time.
    retry: Mutex<(Duration, Backoff)>,
}

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
    /// Listens to the channel, if it does not and may try.
    async fn listen(&self, ear: &Arc<Ear>) {
        let Membership { core, runtime, .. } = &self.membership;
        if ear.hears() || runtime.now() < self.retries_at() {
            return;
        }
        let (listener, begun): (Arc<dyn Hear>, _) = (Arc::clone(ear) as _, runtime.now());
        ear.hears.store(true, Ordering::SeqCst);
        let listens = core.store.listen(&self.keys, &listener).await;
        self.membership
            .measure(Step::Listen, begun, (&listens, false));
        match listens {
            Ok(()) if ear.hears() => {
                *lock(&self.retry) = Default::default();
                self.link.subscribed(runtime.moment(), true);
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
        let at = self.membership.runtime.moment();
        let mut retry = lock(&self.retry);
        retry.0 = retry.1.fails(at);
        drop(retry);
        self.leave(reason);
    }

    async fn send(&self, words: &GateWords) {
        let answer = self.membership.core.store.step(&self.keys, words);
        let timed_out = || {
            self.link.timed_out(self.membership.runtime.moment());
            self.leave(LeaveReason::Timeout);
        };
        self.hear(self.membership.ask(Step::Gate, answer, timed_out).await);
    }

    fn hear(&self, answer: Result<GateAnswer, LeaveReason>) {
        let failed = answer.as_ref().err().copied();
        if self
            .link
            .answered(self.membership.runtime.moment(), answer.ok())
        {
            self.join();
        } else if let Some(reason) = failed {
            self.leave(reason);
        }
        self.membership.core.answered();
    }

    fn join(&self) {
        let (last, since) = self.standing().last();
        if !matches!(last, Some(FleetChange::Joined { .. })) {
            let since = last.map_or(self.begun, |_| since);
            let away = self.membership.runtime.now().saturating_sub(since);
            self.membership
                .tell(Some(FleetChange::Joined { away }), None);
        }
    }

    fn leave(&self, reason: LeaveReason) {
        let (last, _) = self.standing().last();
        if !matches!(last, Some(FleetChange::Left { .. })) {
            self.membership
                .tell(Some(FleetChange::Left { reason }), None);
        }
    }

    fn retries_at(&self) -> Duration {
        lock(&self.retry).0
    }
}

impl Part for SharedGate {
    fn standing(&self) -> Standing {
        self.membership.standing()
    }
}

impl Half for SharedGate {
    async fn run(&self) {
        let ear = Arc::new(Ear {
            link: self.link.clone(),
            runtime: Arc::clone(&self.membership.runtime),
            hears: AtomicBool::new(false),
            task: Mutex::default(),
        });
        loop {
            self.listen(&ear).await;
            let next = poll_fn(|cx| {
                *lock(&ear.task) = Some(cx.waker().clone());
                Poll::Ready(self.link.next(self.membership.runtime.moment(), cx.waker()))
            });
            match next.await {
                NextWords::Command(words) => self.send(&words).await,
                NextWords::Wait(until) => {
                    // Nobody says when a gate that has nothing to say is dropped.
                    let looks = self.membership.runtime.now().saturating_add(LOOK);
                    let listens = (!ear.hears()).then(|| self.retries_at());
                    let until = [until, listens]
                        .into_iter()
                        .flatten()
                        .fold(looks, Duration::min);
                    idle(&*self.membership.runtime, Some(until)).await;
                }
                NextWords::Gone => return,
            }
        }
    }

    fn stopped(&self) {
        let at = self.membership.runtime.moment();
        self.link.subscribed(at, false);
        self.hear(Err(LeaveReason::Unreachable));
    }

    fn watch(&self, waker: &Waker, has_run: bool) {
        self.link.watch(waker, has_run);
    }
}

impl Ear {
    fn hears(&self) -> bool {
        self.hears.load(Ordering::SeqCst)
    }
}

impl Hear for Ear {
    fn told(&self, push: GatePush) {
        self.link.told(self.runtime.moment(), push);
    }

    fn lost(&self) {
        self.hears.store(false, Ordering::SeqCst);
        self.link.subscribed(self.runtime.moment(), false);
        let task = lock(&self.task).take();
        if let Some(task) = task {
            task.wake();
        }
    }
}
