//! The connection between a gate's key and the fleet: the gate reports to the peer, and the task sends its reports.

use super::message::{GateNotice, GateReply, GateReport};
use super::participant::{GateChange, GateParticipant};
use crate::schedule::flush_interval;
use crate::sync::lock;
use crate::task::NextAction;
use http_retry_core::policy::Moment;
use http_retry_core::sharing::{KeyGate, Peer};
use std::sync::{Arc, Mutex, Weak};
use std::task::Waker;
use std::time::Duration;

/// The peer of one key, which the gate keeps.
struct GatePeer(Mutex<GateParticipant>);

/// The task's side, which sends the key's reports. It keeps neither the gate nor the peer alive.
#[derive(Clone)]
pub(super) struct GateLink {
    gate: KeyGate,
    peer: Weak<GatePeer>,
}

/// Makes the peer of a key; a reply may take at most `wait`.
pub(super) fn link(gate: KeyGate, wait: Duration) -> (GateLink, Arc<dyn Peer>) {
    let peer = Arc::new(GatePeer(Mutex::new(GateParticipant::new(wait))));
    let link = GateLink {
        gate,
        peer: Arc::downgrade(&peer),
    };
    (link, peer)
}

impl Peer for GatePeer {
    fn succeeded(&self, calls: u64, since_refusal: bool) {
        lock(&self.0).succeeded(calls, since_refusal);
    }

    fn refused(&self, delay: Option<Duration>, closed: bool) {
        lock(&self.0).refused(delay, closed);
    }

    fn reopened(&self) {
        lock(&self.0).reopened();
    }

    fn wake(&self) {
        let driver = lock(&self.0).take_due_driver();
        if let Some(driver) = driver {
            driver.wake();
        }
    }
}

impl GateLink {
    /// Returns the next report if it is due; at most one is in flight. `waker` is woken when there is something to
    /// report.
    pub(super) fn next(&self, at: Moment, processes: i64, waker: &Waker) -> NextAction<GateReport> {
        // First, so that the report contains the successes that only the gate has counted.
        if !self.gate.report(at) {
            return NextAction::Gone;
        }
        let sharing = u64::try_from(processes).unwrap_or_default();
        let next = self.act(at, |participant| {
            let share = participant.new_share(sharing, at.random);
            let next = participant.next(at.random, flush_interval(processes), waker);
            (share, next)
        });
        let Some((share, next)) = next else {
            return NextAction::Gone;
        };
        // Outside of `act`, since the gate's lock is taken before the participant's.
        if let Some((processes, rank)) = share {
            self.gate.share_quota(at, processes, rank);
        }
        next
    }

    /// Sets the waker to wake when there is something to report, without starting anything. If a task ran until now,
    /// the next call wakes it.
    pub(super) fn watch(&self, waker: &Waker, has_run: bool) {
        if let Some(peer) = self.peer.upgrade() {
            lock(&peer.0).watch(waker);
            if has_run {
                self.gate.wake_at_next_call();
            }
        }
    }

    /// Handles the reply to the last report, even if it is late; `None` if the store failed. Returns `true` if this
    /// process is in the fleet.
    pub(super) fn replied(&self, at: Moment, reply: Option<GateReply>) -> bool {
        let replied = self.act(at, |participant| match reply {
            Some(reply) => {
                let is_in_fleet = participant.replied(at.random);
                (
                    is_in_fleet,
                    participant.take_notice(reply.notice, false),
                    reply.probe,
                )
            }
            None => {
                participant.failed(at.random);
                (false, GateChange::Nothing, false)
            }
        });
        let Some((is_in_fleet, change, probe)) = replied else {
            return false;
        };
        self.follow(at, change, probe);
        is_in_fleet
    }

    /// Handles a notice that went to all processes.
    pub(super) fn notified(&self, at: Moment, notice: GateNotice) {
        let change = self.act(at, |participant| participant.take_notice(notice, true));
        self.follow(at, change.unwrap_or(GateChange::Nothing), false);
    }

    /// Records that the store notifies this process of closed gates, or no longer does.
    pub(super) fn set_subscribed(&self, at: Moment, is_subscribed: bool) {
        self.act(at, |participant| participant.set_subscribed(is_subscribed));
    }

    /// Applies a change to the gate. The gate's lock is taken before the participant's, so the latter must not be held.
    fn follow(&self, at: Moment, change: GateChange, probe: bool) {
        match change {
            GateChange::Nothing => {}
            GateChange::Closed { cooldown, is_news } => {
                // No question about a cooldown that no call of this process would wait for.
                if self.gate.close(at, cooldown, probe) && is_news {
                    self.act(at, |participant| participant.plan_look(cooldown, at.random));
                }
            }
            GateChange::Contradicted => self.gate.reopen(at),
            GateChange::Over => self.gate.end_pause(at),
        }
    }

    /// Acts on the participant at this time, and wakes its task if there is something to report then.
    fn act<T>(&self, at: Moment, act: impl FnOnce(&mut GateParticipant) -> T) -> Option<T> {
        let peer = self.peer.upgrade()?;
        let mut participant = lock(&peer.0);
        participant.settle(at.now);
        let acted = act(&mut participant);
        // `wake` takes the lock itself.
        drop(participant);
        peer.wake();
        Some(acted)
    }
}
