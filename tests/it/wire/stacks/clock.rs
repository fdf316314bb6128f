//! Clocks that a test moves.

use crate::in_time::IN_VAIN;
use http_retry::policy::Moment;
use http_retry::runtime::{Runtime, Sleep};
use http_retry::testing::ManualRuntime;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

/// A clock that stands still until it is moved, and knows who waits on it.
#[derive(Debug, Clone)]
pub(crate) struct Clock(Arc<Waits>);

#[derive(Debug)]
struct Waits {
    runtime: ManualRuntime,
    begun: Mutex<Vec<Duration>>,
    /// Held by every wait that there is.
    alive: Arc<()>,
}

impl Clock {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Waits {
            runtime: ManualRuntime::paused().with_random(u64::MAX),
            begun: Mutex::new(Vec::new()),
            alive: Arc::new(()),
        }))
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.0.runtime.advance(by);
    }

    /// The waits that were begun, in order.
    pub(crate) fn begun(&self) -> Vec<Duration> {
        self.0.begun.lock().unwrap().clone()
    }

    /// How many waits there are, begun and neither over nor dropped.
    pub(crate) fn alive(&self) -> usize {
        Arc::strong_count(&self.0.alive) - 1
    }
}

impl Runtime for Clock {
    fn now(&self) -> Duration {
        self.0.runtime.now()
    }

    fn moment(&self) -> Moment {
        self.0.runtime.moment()
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        self.0.begun.lock().unwrap().push(duration);
        let (alive, wait) = (Arc::clone(&self.0.alive), self.0.runtime.sleep(duration));
        Box::pin(async move {
            wait.await;
            drop(alive);
        })
    }
}

/// Tokio's clock, which stands still as long as this lives and moves by [`TokioStopped::advance`] only, even while a
/// test waits for a socket.
#[derive(Debug)]
pub(crate) struct TokioStopped {
    _end: mpsc::Sender<()>,
}

impl TokioStopped {
    pub(crate) fn new() -> Self {
        tokio::time::pause();
        let (end, ended) = mpsc::channel::<()>();
        // A paused clock does not move by itself while a blocking task runs; at last it may, so that a test fails and
        // does not hang.
        tokio::task::spawn_blocking(move || ended.recv_timeout(IN_VAIN));
        Self { _end: end }
    }

    pub(crate) async fn advance(&self, by: Duration) {
        // Timers end with a whole millisecond.
        tokio::time::advance(by + Duration::from_millis(2)).await;
    }
}

/// Lets time pass on tokio's clock, which runs again afterwards, also where nobody waits for the end of this.
pub(crate) async fn let_pass(by: Duration) {
    let _running_again = Paused::now();
    tokio::time::advance(by).await;
}

/// Everything else on this thread goes as far as it can.
pub(crate) async fn let_all_run() {
    for _ in 0..32 {
        tokio::task::yield_now().await;
    }
}

/// The clock stands still until this is dropped.
struct Paused;

impl Paused {
    fn now() -> Self {
        tokio::time::pause();
        Self
    }
}

impl Drop for Paused {
    fn drop(&mut self) {
        tokio::time::resume();
    }
}
