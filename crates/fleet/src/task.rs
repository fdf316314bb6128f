//! The task of each budget and gate in a fleet: begun inside a tokio runtime, and anew when that runtime ends before the
//! budget or gate does.

use super::status::PeerStatus;
use super::sync::lock;
use http_retry_core::runtime::Runtime;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Wake, Waker};
use std::time::Duration;
use tokio::runtime::Handle;

/// The next thing for a task to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NextAction<Report> {
    /// Send this report, and hand over its reply.
    Send(Report),
    /// Look again at this time of the runtime, or when woken. `None`: when woken, or after the reply.
    Wait(Option<Duration>),
    /// Nobody uses the budget or gate any more.
    Gone,
}

/// A budget or a gate of this process that is in the fleet, as the fleet and its task see it.
pub(super) trait FleetTask: Send + Sync + 'static {
    fn status(&self) -> PeerStatus;

    /// Makes a report due if the store does not know all. Returns `true` if so. A gate keeps nothing back.
    fn flush(&self) -> bool {
        false
    }

    /// Returns `true` if the store does not know all.
    fn has_unreported(&self) -> bool {
        false
    }

    /// Sends reports until nobody uses the budget or gate any more.
    fn run(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;

    /// The task has ended before that. The reply to a report in flight will not come.
    fn stopped(&self);

    /// Wakes this one when there is something to report; `has_run` if a task ran until now.
    fn watch(&self, waker: &Waker, has_run: bool);
}

/// Begins now inside a tokio runtime, else when somebody inside one has something to report.
pub(super) fn start(task: Arc<dyn FleetTask>) {
    match Handle::try_current() {
        Ok(tokio) => drop(tokio.spawn(Running(Some(task)).run())),
        Err(_) => park(&task, false),
    }
}

/// Lets the task begin later. Until then the starter keeps the task, and the task the starter: one that is never used
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
        self.0 = None;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(task) = self.0.take() {
            task.stopped();
            park(&task, true);
        }
    }
}

/// Begins a task when it is woken.
struct Starter(Mutex<Option<Arc<dyn FleetTask>>>);

impl Wake for Starter {
    fn wake(self: Arc<Self>) {
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
        if std::mem::take(&mut is_first_poll) && !is_over {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    })
    .await;
}
