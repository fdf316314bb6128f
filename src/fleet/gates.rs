//! One gate of this process in the fleet: a task that listens to its channel, sends what it has to say, and hands it the
//! answers.

use super::core::{Core, Part, idle, lock};
use super::inbox::Inbox;
use super::membership::Membership;
use super::names::GateKeys;
use super::status::Standing;
use super::store::Hear;
use super::task::{self, Half};
use crate::budget::fleet::{FleetChange, LeaveReason, flush};
use crate::gate::{GateAnswer, GateFleet, GateLink, GatePush, GateWords, NextWords};
use crate::report::Step;
use crate::runtime::{Runtime, Sleep};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
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

    fn processes(&self) -> u64 {
        self.0.processes().try_into().unwrap_or_default()
    }

    fn joins(&self, name: &str, apart: Option<&str>, link: GateLink) {
        let membership = Membership::new(Arc::clone(&self.0), name);
        let gate = Arc::new(SharedGate {
            begun: membership.runtime.now(),
            membership,
            keys: GateKeys::new(&self.0.prefix, name, apart),
            link,
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
}

/// How often a task looks whether its gate is still there.
const LOOK: Duration = Duration::from_secs(60);

/// What listens to the gate's channel.
struct Ear {
    link: GateLink,
    core: Arc<Core>,
    runtime: Arc<dyn Runtime>,
    hears: AtomicBool,
    /// When the subscription was granted.
    granted: Mutex<Duration>,
    inbox: Mutex<Inbox>,
    /// The task that reads the inbox, and renews the subscription.
    task: Mutex<Option<Waker>>,
}

impl SharedGate {
    /// Listens to the channel, if it does not and may try.
    async fn listen(&self, ear: &Arc<Ear>) {
        let Membership { core, runtime, .. } = &self.membership;
        if ear.hears() {
            return;
        }
        let begun = runtime.now();
        let held_back = lock(&core.resubscription).held_back(begun);
        if let Some(reason) = held_back {
            return self.leave(reason);
        }
        let listener: Arc<dyn Hear> = Arc::clone(ear) as _;
        *lock(&ear.granted) = begun;
        ear.hears.store(true, Ordering::SeqCst);
        let listens = core.store.listen(&self.keys, &listener).await;
        self.membership
            .measure(Step::Listen, begun, (&listens, false));
        match listens {
            Ok(()) if ear.hears() => self.link.subscribed(runtime.moment(), true),
            // Who was told of the loss has counted it.
            Ok(()) => self.leave(LeaveReason::Unreachable),
            Err(reason) => {
                ear.hears.store(false, Ordering::SeqCst);
                lock(&core.resubscription).fails(begun, reason, &**runtime);
                self.leave(reason);
            }
        }
    }

    /// Subscribes and sends commands, until the gate is gone.
    async fn speak(&self, ear: &Arc<Ear>) {
        loop {
            self.listen(ear).await;
            let next = poll_fn(|cx| {
                Poll::Ready(self.link.next(self.membership.runtime.moment(), cx.waker()))
            });
            match next.await {
                NextWords::Command(words) => self.send(&words).await,
                NextWords::Wait(until) => {
                    // Nobody says when a gate that has nothing to say is dropped.
                    let looks = self.membership.runtime.now().saturating_add(LOOK);
                    let listens = (!ear.hears()).then(|| self.resubscribes_at());
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

    async fn send(&self, words: &GateWords) {
        let answer = self.membership.core.store.step(&self.keys, words);
        let timed_out = || self.leave(LeaveReason::Timeout);
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

    /// Returns when the gate may subscribe again.
    fn resubscribes_at(&self) -> Duration {
        lock(&self.membership.core.resubscription).retry_at()
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
            core: Arc::clone(&self.membership.core),
            runtime: Arc::clone(&self.membership.runtime),
            hears: AtomicBool::new(false),
            granted: Mutex::default(),
            inbox: Mutex::default(),
            task: Mutex::default(),
        });
        let mut sleep = None;
        let mut speaks = pin!(self.speak(&ear));
        // A message must not wait for the response to a command.
        poll_fn(|cx| {
            *lock(&ear.task) = Some(cx.waker().clone());
            ear.read(cx, &mut sleep);
            speaks.as_mut().poll(cx)
        })
        .await;
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

    /// Reads the inbox if it is due, or sleeps until it is.
    fn read(&self, cx: &mut Context<'_>, sleep: &mut Option<Sleep>) {
        let now = self.runtime.now();
        let Some(due) = lock(&self.inbox).due(now) else {
            *sleep = None;
            return;
        };
        if due > now {
            let sleep = sleep.get_or_insert_with(|| self.runtime.sleep(due.saturating_sub(now)));
            if sleep.as_mut().poll(cx).is_pending() {
                return;
            }
        }
        *sleep = None;
        let at = self.runtime.moment();
        let push = lock(&self.inbox).read(at.now);
        if let Some(push) = push {
            self.link.told(at, push);
        }
    }
}

impl Hear for Ear {
    fn told(&self, push: GatePush) {
        let is_first = lock(&self.inbox).add(push, self.runtime.now());
        if is_first {
            if let Some(task) = &*lock(&self.task) {
                task.wake_by_ref();
            }
        }
    }

    fn lost(&self) {
        let at = self.runtime.moment();
        if self.hears.swap(false, Ordering::SeqCst) {
            let granted = *lock(&self.granted);
            lock(&self.core.resubscription).loses(granted, &*self.runtime);
        }
        self.link.subscribed(at, false);
        let task = lock(&self.task).take();
        if let Some(task) = task {
            task.wake();
        }
    }
}
