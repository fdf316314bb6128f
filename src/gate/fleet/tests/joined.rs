//! A fleet whose links to the store a test holds itself.

use crate::gate::fleet::{GateFleet, GateLink};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub(in crate::gate) const WAIT: Duration = Duration::from_millis(50);
const FLUSH: Duration = Duration::from_millis(250);

/// The keys of one process that have joined.
#[derive(Default)]
pub(in crate::gate) struct Joined(
    pub(in crate::gate) Mutex<Vec<(String, Option<String>, GateLink)>>,
    /// How many processes there are.
    pub(in crate::gate) AtomicU64,
);

impl GateFleet for Joined {
    fn wait(&self) -> Duration {
        WAIT
    }

    fn flush(&self) -> Duration {
        FLUSH
    }

    fn processes(&self) -> u64 {
        self.1.load(Ordering::Relaxed)
    }

    fn joins(&self, name: &str, apart: Option<&str>, link: GateLink) {
        let apart = apart.map(str::to_owned);
        self.0.lock().unwrap().push((name.to_owned(), apart, link));
    }
}
