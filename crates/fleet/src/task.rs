//! The task of each budget and gate in a fleet. It is started inside a tokio runtime, and restarted if that runtime
//! ends before the budget or gate does.

use super::status::PeerStatus;
use super::sync::lock;
use http_retry_core::runtime::Runtime;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Wake, Waker};
use std::time::Duration;
use tokio::runtime::Handle;

/// The next action of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextAction<Report> {
    /// Send this report, and pass on its reply.
    Send(Report),
    /// Check again at this time of the runtime, or when woken; `None`: when woken, or after the reply.
    Wait(Option<Duration>),
    /// Stop: the budget or gate is no longer used.
    Gone,
}

/// The interface of a budget or gate in the fleet to the fleet and to its task.
pub(super) trait FleetTask: Send + Sync + 'static {
    fn status(&self) -> PeerStatus;

    /// Makes a report due if there is anything unreported, and returns `true` if so. A gate holds nothing back.
    fn flush(&self) -> bool {
        false
    }

    /// Returns `true` if the store does not have everything yet.
    fn has_unreported(&self) -> bool {
        false
    }

    /// Sends reports until the budget or gate is no longer used.
    fn run(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;

    /// Called if the task ended before that. The reply to a report in flight will not arrive.
    fn stopped(&self);

    /// Sets the waker to wake when there is something to report; `has_run` if a task ran until now.
    fn watch(&self, waker: &Waker, has_run: bool);
}

/// Starts the task now inside a tokio runtime, or else when there is something to report inside one.
pub(super) fn start(task: Arc<dyn FleetTask>) {
    match Handle::try_current() {
        Ok(tokio) => drop(tokio.spawn(Running(Some(task)).run())),
        Err(_) => park(&task, false),
    }
}

/// Lets the task start later. Until then the starter and the task keep each other alive, so one that is never used
/// again is never dropped.
fn park(task: &Arc<dyn FleetTask>, has_run: bool) {
    let starter = Starter(Mutex::new(Some(Arc::clone(task))));
    task.watch(&Waker::from(Arc::new(starter)), has_run);
}

/// A task that runs.
struct Running(Option<Arc<dyn FleetTask>>);

impl Running {
    async fn run(mut self) {
        if let Some(task) = &self.0 {
            task.run().await;
        }
        // The budget or gate is gone, so the drop must not park the task.
        self.0 = None;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The runtime has ended first.
        if let Some(task) = self.0.take() {
            task.stopped();
            park(&task, true);
        }
    }
}

/// A waker that starts a task.
struct Starter(Mutex<Option<Arc<dyn FleetTask>>>);

impl Wake for Starter {
    fn wake(self: Arc<Self>) {
        // Taken, since a waker may be woken more than once.
        let task = lock(&self.0).take();
        if let Some(task) = task {
            start(task);
        }
    }
}

/// Waits until this time, or until the task is woken.
pub(super) async fn idle(runtime: &dyn Runtime, until: Option<Duration>) {
    let left = until.map(|until| until.saturating_sub(runtime.now()));
    let mut sleep = left.map(|left| runtime.sleep(left));
    let mut is_first_poll = true;
    poll_fn(|cx| {
        let is_over = sleep
            .as_mut()
            .is_some_and(|sleep| sleep.as_mut().poll(cx).is_ready());
        // The first poll only registers the waker; any later one is due to a wake or to the timer.
        if std::mem::take(&mut is_first_poll) && !is_over {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    })
    .await;
}
