//! The gate of one key in the fleet, and its task, which subscribes to its channel, sends reports and handles the
//! replies.
//!
//! Each process runs the same controller as without a fleet, with its own pace, its own queue and its own view of a
//! quota. The fleet adds three things:
//!
//! - **One vote.** Processes report their refusals, and the store counts those in a row. A vote closes the gate of
//!   every process at once.
//! - **One contradiction.** Successes that contradict the cooldown open the gate of all.
//! - **One quota.** Each process takes its share of the rest.
//!
//! So a store that is slow, empty or gone costs only these: no call waits for it. The store counts in microseconds of
//! its own clock, a process in the time of its runtime; only durations are exchanged. Every number is an integer below
//! 2^53, so that the store's script computes the same.

mod link;
mod message;
#[cfg(any(test, feature = "testing"))]
pub(super) mod model;
mod participant;
mod subscription;
#[cfg(test)]
mod tests;

pub(super) use message::{GateNotice, GateReply, GateReport};

use super::names::GateKeys;
use super::shared::{Membership, Shared};
use super::status::{FleetChange, PeerStatus};
use super::store::Subscriber;
use super::sync::lock;
use super::task::{self, FleetTask, NextAction, idle};
use http_retry_core::report::LeaveReason;
use http_retry_core::sharing::{KeyGate, Peer};
use link::GateLink;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;
use subscription::Subscription;

/// A gate in the fleet, with the state that its task needs.
struct GateTask {
    membership: Membership,
    keys: GateKeys,
    link: GateLink,
    begun: Duration,
}

/// The interval at which a task checks that its gate still exists.
const LOOK_INTERVAL: Duration = Duration::from_secs(60);

/// Makes the peer of a key, and starts its task.
pub(super) fn join(
    shared: &Arc<Shared>,
    name: &str,
    part: Option<&str>,
    gate: KeyGate,
) -> Arc<dyn Peer> {
    let membership = Membership::new(Arc::clone(shared), name);
    let keys = GateKeys::new(&shared.prefix, name, part);
    let (link, peer) = link::link(gate, shared.wait);
    let task: Arc<dyn FleetTask> = Arc::new(GateTask {
        begun: membership.runtime.now(),
        membership,
        keys,
        link,
    });
    shared.add(&task);
    task::start(task);
    peer
}

impl GateTask {
    /// Subscribes to the channel, unless it is subscribed already or must wait.
    async fn subscribe(&self, subscription: &Arc<Subscription>) {
        let Membership {
            shared, runtime, ..
        } = &self.membership;
        if subscription.is_live() {
            return;
        }
        let begun = runtime.now();
        let held_back = lock(&shared.resubscription).held_back(begun);
        if let Some(reason) = held_back {
            return self.leave(reason);
        }
        // Before the command, since notices may arrive before the grant.
        subscription.begin(begun);
        let subscriber: Arc<dyn Subscriber> = Arc::clone(subscription) as _;
        let granted = shared.store.subscribe(&self.keys, &subscriber).await;
        self.membership
            .measure("listen", begun, granted.err(), false);
        match granted {
            Ok(()) if subscription.is_live() => self.link.set_subscribed(runtime.moment(), true),
            // The loss is counted already.
            Ok(()) => self.leave(LeaveReason::Unreachable),
            Err(reason) => {
                subscription.fail();
                let at = runtime.moment();
                lock(&shared.resubscription).fail(begun, reason, at);
                self.leave(reason);
            }
        }
    }

    /// Subscribes and sends reports until the gate is gone.
    async fn report(&self, subscription: &Arc<Subscription>) {
        let Membership {
            shared, runtime, ..
        } = &self.membership;
        loop {
            self.subscribe(subscription).await;
            let next = poll_fn(|cx| {
                let processes = shared.processes();
                Poll::Ready(self.link.next(runtime.moment(), processes, cx.waker()))
            });
            match next.await {
                NextAction::Send(report) => self.send(&report).await,
                NextAction::Wait(until) => {
                    // Nothing wakes the task when a gate without anything to report is dropped.
                    let look = runtime.now().saturating_add(LOOK_INTERVAL);
                    let subscribe =
                        (!subscription.is_live()).then(|| lock(&shared.resubscription).retry_at());
                    let until = [until, subscribe]
                        .into_iter()
                        .flatten()
                        .fold(look, Duration::min);
                    idle(&**runtime, Some(until)).await;
                }
                NextAction::Gone => return,
            }
        }
    }

    async fn send(&self, report: &GateReport) {
        let reply = self.membership.shared.store.step_gate(&self.keys, report);
        let timed_out = || self.leave(LeaveReason::Timeout);
        self.replied(self.membership.ask("gate", reply, timed_out).await);
    }

    fn replied(&self, reply: Result<GateReply, LeaveReason>) {
        let failed = reply.as_ref().err().copied();
        let at = self.membership.runtime.moment();
        if self.link.replied(at, reply.ok()) {
            self.join();
        } else if let Some(reason) = failed {
            self.leave(reason);
        }
        self.membership.shared.command_ended();
    }

    fn join(&self) {
        let status = self.status();
        if !status.is_joined() {
            // At first it has been away since its start.
            let since = status.last.map_or(self.begun, |_| status.since);
            let away = self.membership.runtime.now().saturating_sub(since);
            self.membership
                .record(Some(FleetChange::Joined { away }), None);
        }
    }

    fn leave(&self, reason: LeaveReason) {
        if !self.status().has_left() {
            self.membership
                .record(Some(FleetChange::Left { reason }), None);
        }
    }
}

impl FleetTask for GateTask {
    fn status(&self) -> PeerStatus {
        self.membership.status()
    }

    fn run(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            let Membership {
                shared, runtime, ..
            } = &self.membership;
            let subscription =
                Subscription::new(self.link.clone(), Arc::clone(shared), Arc::clone(runtime));
            let mut sleep = None;
            let mut reports = pin!(self.report(&subscription));
            // A notice must not wait for the reply to a report.
            poll_fn(|cx| {
                subscription.poll_inbox(cx, &mut sleep);
                reports.as_mut().poll(cx)
            })
            .await;
        })
    }

    fn stopped(&self) {
        let at = self.membership.runtime.moment();
        self.link.set_subscribed(at, false);
        self.replied(Err(LeaveReason::Unreachable));
    }

    fn watch(&self, waker: &Waker, has_run: bool) {
        self.link.watch(waker, has_run);
    }
}
