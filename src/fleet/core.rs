//! What the tasks of a fleet share, which keeps no budget of it alive.

use super::presence::Presence;
use super::resubscription::Resubscription;
use super::status::{FleetStatus, Standing};
use super::store::Store;
use crate::report::FleetRecorder;
use crate::runtime::{Runtime, TokioRuntime, within};
use std::future::poll_fn;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Poll;
use std::time::Duration;
use tokio::sync::Notify;

pub(super) struct Core {
    pub(super) store: Box<dyn Store>,
    pub(super) prefix: Arc<str>,
    pub(super) wait: Duration,
    pub(super) recorder: FleetRecorder,
    runtime: Mutex<Arc<dyn Runtime>>,
    parts: Mutex<Vec<Weak<dyn Part>>>,
    pub(super) presence: Presence,
    pub(super) resubscription: Mutex<Resubscription>,
    /// How many processes there are, of the service that has the most.
    processes: AtomicI64,
    /// Called whenever a command has ended.
    ended: Notify,
}

/// What of this process is in the fleet: the budget of a service, or a gate of it.
pub(super) trait Part: Send + Sync {
    fn standing(&self) -> Standing;

    /// Sends what is not told yet; whether there is anything. A gate keeps nothing back.
    fn flush(&self) -> bool {
        false
    }

    /// Whether something is not told yet.
    fn has_news(&self) -> bool {
        false
    }
}

impl Core {
    pub(super) fn new(store: Box<dyn Store>, prefix: Arc<str>, wait: Duration) -> Self {
        Self {
            store,
            prefix,
            wait,
            recorder: FleetRecorder::default(),
            runtime: Mutex::new(Arc::new(TokioRuntime)),
            parts: Mutex::default(),
            presence: Presence::default(),
            resubscription: Mutex::default(),
            processes: AtomicI64::new(0),
            ended: Notify::new(),
        }
    }

    pub(super) fn processes(&self) -> i64 {
        self.processes.load(Ordering::Relaxed)
    }

    /// A service has so many processes. One that has more counts for a while.
    pub(super) fn has_heard_of(&self, processes: i64) {
        let most =
            |most: i64| Some(processes.max(most.saturating_sub(most / 16).saturating_sub(1)));
        let order = Ordering::Relaxed;
        // Nothing is left as it was.
        let _ = self.processes.fetch_update(order, order, most);
    }

    pub(super) fn runtime(&self) -> Arc<dyn Runtime> {
        Arc::clone(&lock(&self.runtime))
    }

    /// What begins from now on runs on this clock.
    pub(super) fn set_runtime(&self, runtime: &Arc<dyn Runtime>) {
        *lock(&self.runtime) = Arc::clone(runtime);
    }

    pub(super) fn add<P: Part + 'static>(&self, part: &Arc<P>) {
        let part: Weak<P> = Arc::downgrade(part);
        let mut known = lock(&self.parts);
        known.retain(|known| known.strong_count() > 0);
        known.push(part);
    }

    /// A command has ended, with an answer or without.
    pub(super) fn answered(&self) {
        self.ended.notify_waiters();
    }

    pub(super) fn status(&self) -> FleetStatus {
        let parts = self.parts();
        FleetStatus::of(&parts.iter().map(|part| part.standing()).collect::<Vec<_>>())
    }

    /// Tells the store what it does not know yet, as far as that takes no longer than `wait`.
    pub(super) async fn flush(&self) {
        let parts = self.parts();
        let told = async {
            let mut left: Vec<_> = parts.iter().filter(|part| part.flush()).collect();
            loop {
                let ended = self.ended.notified();
                left.retain(|part| part.has_news());
                if left.is_empty() {
                    return;
                }
                ended.await;
            }
        };
        within(self.runtime().sleep(self.wait), told).await;
    }

    fn parts(&self) -> Vec<Arc<dyn Part>> {
        lock(&self.parts).iter().filter_map(Weak::upgrade).collect()
    }
}

/// Waits until this time, or until the task is woken.
pub(super) async fn idle(runtime: &dyn Runtime, until: Option<Duration>) {
    let left = until.map(|until| until.saturating_sub(runtime.now()));
    let mut sleep = left.map(|left| runtime.sleep(left));
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

/// Whoever panicked while it held the lock left what is whole.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
