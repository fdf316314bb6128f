//! The task of one half of a service: begun inside a tokio runtime, and anew where that runtime ends before the half does.

use super::core::lock;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};
use tokio::runtime::Handle;

/// What a task drives.
pub(super) trait Half: Send + Sync + 'static {
    /// Sends what there is to say, until nobody uses the half any more.
    fn run(&self) -> impl Future<Output = ()> + Send;

    /// The task has ended before that. Of a command that was on its way nobody will hear.
    fn stopped(&self);

    /// Wakes this one when there is something to say; `has_run` if a task drove the half until now.
    fn watch(&self, waker: &Waker, has_run: bool);
}

/// Begins now inside a tokio runtime, else when somebody inside one has something to say.
pub(super) fn start<H: Half>(half: Arc<H>) {
    match Handle::try_current() {
        Ok(tokio) => drop(tokio.spawn(Running(Some(half)).run())),
        Err(_) => park(&half, false),
    }
}

/// Leaves word to begin later. Until then the half keeps this word, and this word the half: one that is never used again
/// is never let go of.
fn park<H: Half>(half: &Arc<H>, has_run: bool) {
    let starter = Starter(Mutex::new(Some(Arc::clone(half))));
    half.watch(&Waker::from(Arc::new(starter)), has_run);
}

/// A half whose task runs.
struct Running<H: Half>(Option<Arc<H>>);

impl<H: Half> Running<H> {
    async fn run(mut self) {
        if let Some(half) = &self.0 {
            half.run().await;
        }
        self.0 = None;
    }
}

impl<H: Half> Drop for Running<H> {
    fn drop(&mut self) {
        if let Some(half) = self.0.take() {
            half.stopped();
            park(&half, true);
        }
    }
}

/// Begins once it is woken.
struct Starter<H: Half>(Mutex<Option<Arc<H>>>);

impl<H: Half> Wake for Starter<H> {
    fn wake(self: Arc<Self>) {
        let half = lock(&self.0).take();
        if let Some(half) = half {
            start(half);
        }
    }
}
