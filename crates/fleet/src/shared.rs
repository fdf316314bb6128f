//! The state that the tasks of a fleet share. It keeps none of its budgets alive.

use super::observers::{FleetObservers, measure_command};
use super::schedule::Resubscription;
use super::status::{FleetChange, FleetStatus, PeerStatus, Presence};
use super::store::{Reply, Store};
use super::sync::lock;
use super::task::FleetTask;
use crate::clock::TokioClock;
use http_retry_core::report::LeaveReason;
use http_retry_core::runtime::{Runtime, within};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;
use tokio::sync::Notify;

pub(super) struct Shared {
    pub(super) store: Box<dyn Store>,
    /// The address of the store, for display.
    pub(super) address: String,
    pub(super) prefix: Arc<str>,
    pub(super) wait: Duration,
    pub(super) observers: FleetObservers,
    runtime: Mutex<Arc<dyn Runtime>>,
    tasks: Mutex<Vec<Weak<dyn FleetTask>>>,
    presence: Presence,
    pub(super) resubscription: Mutex<Resubscription>,
    /// The number of processes of the service that has the most.
    processes: AtomicI64,
    /// Notified whenever a command has ended.
    ended: Notify,
}

impl Shared {
    pub(super) fn new(
        store: Box<dyn Store>,
        address: String,
        prefix: Arc<str>,
        wait: Duration,
    ) -> Self {
        Self {
            store,
            address,
            prefix,
            wait,
            observers: FleetObservers::default(),
            runtime: Mutex::new(Arc::new(TokioClock)),
            tasks: Mutex::default(),
            presence: Presence::default(),
            resubscription: Mutex::default(),
            processes: AtomicI64::new(0),
            ended: Notify::new(),
        }
    }

    pub(super) fn processes(&self) -> i64 {
        self.processes.load(Ordering::Relaxed)
    }

    /// Records the number of processes of a service. A larger number of another service fades only slowly.
    fn count_processes(&self, processes: i64) {
        // Each service's reply arrives here; without the slow decay a small one would hide a large one in between.
        let most =
            |most: i64| Some(processes.max(most.saturating_sub(most / 16).saturating_sub(1)));
        let order = Ordering::Relaxed;
        // The closure never returns `None`.
        let _ = self.processes.fetch_update(order, order, most);
    }

    pub(super) fn runtime(&self) -> Arc<dyn Runtime> {
        Arc::clone(&lock(&self.runtime))
    }

    /// Sets the clock of tasks that start from now on.
    pub(super) fn set_runtime(&self, runtime: &Arc<dyn Runtime>) {
        let before = std::mem::replace(&mut *lock(&self.runtime), Arc::clone(runtime));
        // Without the lock: it may be the user's own.
        drop(before);
    }

    pub(super) fn add(&self, task: &Arc<dyn FleetTask>) {
        let mut known = lock(&self.tasks);
        known.retain(|known| known.strong_count() > 0);
        known.push(Arc::downgrade(task));
    }

    /// Records that a command has ended, with or without a reply.
    pub(super) fn command_ended(&self) {
        self.ended.notify_waiters();
    }

    pub(super) fn status(&self) -> FleetStatus {
        let tasks = self.tasks();
        FleetStatus::of(&tasks.iter().map(|task| task.status()).collect::<Vec<_>>())
    }

    /// Sends unreported amounts to the store, for at most `wait`.
    pub(super) async fn flush(&self) {
        let tasks = self.tasks();
        let reported = async {
            // All are made due before the first wait, so that their reports are sent at the same time.
            let mut left: Vec<_> = tasks.iter().filter(|task| task.flush()).collect();
            loop {
                // Before the check, so that a command that ends in between is not missed.
                let ended = self.ended.notified();
                left.retain(|task| task.has_unreported());
                if left.is_empty() {
                    return;
                }
                ended.await;
            }
        };
        within(self.runtime().sleep(self.wait), reported).await;
    }

    fn tasks(&self) -> Vec<Arc<dyn FleetTask>> {
        lock(&self.tasks).iter().filter_map(Weak::upgrade).collect()
    }
}

/// The membership of a service's budget or of one of its gates: its commands to the store, and its status.
pub(super) struct Membership {
    pub(super) shared: Arc<Shared>,
    pub(super) service: Arc<str>,
    pub(super) runtime: Arc<dyn Runtime>,
    status: Mutex<PeerStatus>,
}

impl Membership {
    pub(super) fn new(shared: Arc<Shared>, service: &str) -> Self {
        shared.presence.enter(service);
        Self {
            runtime: shared.runtime(),
            shared,
            service: service.into(),
            status: Mutex::default(),
        }
    }

    pub(super) fn status(&self) -> PeerStatus {
        *lock(&self.status)
    }

    /// Waits for the reply to a command. After `wait` it calls `timed_out` once, and keeps waiting: a late reply counts
    /// too.
    pub(super) async fn ask<T>(
        &self,
        step: &'static str,
        mut reply: Reply<'_, T>,
        timed_out: impl FnOnce(),
    ) -> Result<T, LeaveReason> {
        let sent = self.runtime.now();
        let limit = self.runtime.sleep(self.shared.wait);
        let (reply, late) = match within(limit, reply.as_mut()).await {
            Some(reply) => (reply, false),
            None => {
                timed_out();
                (reply.await, true)
            }
        };
        self.measure(step, sent, reply.as_ref().err().copied(), late);
        reply
    }

    /// Measures a command that was begun at this time.
    pub(super) fn measure(
        &self,
        step: &'static str,
        begun: Duration,
        failed: Option<LeaveReason>,
        late: bool,
    ) {
        let took = self.runtime.now().saturating_sub(begun);
        measure_command(step, took, failed, late);
    }

    /// Records a change, if there is one, and the number of processes, if a reply had it.
    pub(super) fn record(&self, change: Option<FleetChange>, processes: Option<i64>) {
        let now = self.runtime.now();
        if let Some(processes) = processes {
            self.shared.count_processes(processes);
        }
        let mut status = lock(&self.status);
        let last = status.last;
        status.record(change, processes, now);
        // Released first: an observer may ask for the status.
        drop(status);
        let Some(change) = change else { return };
        let presence = &self.shared.presence;
        if let Some(change) = presence.change(&self.service, last, change, now) {
            self.shared.observers.changed(&self.service, now, change);
        }
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        let last = self.status().last;
        self.shared.presence.leave(&self.service, last);
    }
}
