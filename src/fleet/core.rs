//! What the tasks of a fleet share, which keeps no budget of it alive.

use super::member::Member;
use super::status::FleetStatus;
use super::store::Store;
use crate::report::FleetRecorder;
use crate::runtime::{Runtime, TokioRuntime, within};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::Notify;

pub(super) struct Core {
    store: Box<dyn Store>,
    prefix: Arc<str>,
    wait: Duration,
    recorder: FleetRecorder,
    runtime: Mutex<Arc<dyn Runtime>>,
    members: Mutex<Vec<Weak<Member>>>,
    /// Called whenever a command has ended.
    ended: Notify,
}

impl Core {
    pub(super) fn new(store: Box<dyn Store>, prefix: Arc<str>, wait: Duration) -> Self {
        Self {
            store,
            prefix,
            wait,
            recorder: FleetRecorder::default(),
            runtime: Mutex::new(Arc::new(TokioRuntime)),
            members: Mutex::default(),
            ended: Notify::new(),
        }
    }

    pub(super) fn store(&self) -> &dyn Store {
        &*self.store
    }

    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    pub(super) fn wait(&self) -> Duration {
        self.wait
    }

    pub(super) fn recorder(&self) -> &FleetRecorder {
        &self.recorder
    }

    pub(super) fn runtime(&self) -> Arc<dyn Runtime> {
        Arc::clone(&lock(&self.runtime))
    }

    /// What begins from now on runs on this clock.
    pub(super) fn set_runtime(&self, runtime: &Arc<dyn Runtime>) {
        *lock(&self.runtime) = Arc::clone(runtime);
    }

    pub(super) fn add(&self, member: &Arc<Member>) {
        let mut members = lock(&self.members);
        members.retain(|member| member.strong_count() > 0);
        members.push(Arc::downgrade(member));
    }

    /// A command has ended, with an answer or without.
    pub(super) fn answered(&self) {
        self.ended.notify_waiters();
    }

    pub(super) fn status(&self) -> FleetStatus {
        let standings: Vec<_> = self
            .members()
            .iter()
            .map(|member| member.standing())
            .collect();
        FleetStatus::of(&standings)
    }

    /// Tells the store what it does not know yet, as far as that takes no longer than `wait`.
    pub(super) async fn flush(&self) {
        let members = self.members();
        let told = async {
            let mut left: Vec<_> = members.iter().filter(|member| member.flush()).collect();
            loop {
                let ended = self.ended.notified();
                left.retain(|member| member.has_news());
                if left.is_empty() {
                    return;
                }
                ended.await;
            }
        };
        within(self.runtime().sleep(self.wait), told).await;
    }

    fn members(&self) -> Vec<Arc<Member>> {
        lock(&self.members)
            .iter()
            .filter_map(Weak::upgrade)
            .collect()
    }
}

/// Whoever panicked while it held the lock left what is whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
