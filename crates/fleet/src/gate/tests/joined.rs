//! A fleet whose links to the store a test holds itself.

use crate::gate::link::{GateLink, link};
use http_retry_core::gate::Gate;
use http_retry_core::sharing::GateExt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(super) const WAIT: Duration = Duration::from_millis(50);

/// The keys of one process that have joined: the name of each, what tells it apart, and its link.
#[derive(Default)]
pub(super) struct Joined(pub(super) Mutex<Vec<(String, Option<String>, GateLink)>>);

impl Joined {
    /// The same gate, whose keys join.
    pub(super) fn share(self: &Arc<Self>, gate: Gate) -> Gate {
        let joined = Arc::clone(self);
        gate.with_peers(move |name, part, gate| {
            let (link, peer) = link(gate, WAIT);
            let new = (name.to_owned(), part.map(str::to_owned), link);
            joined.0.lock().unwrap().push(new);
            peer
        })
    }
}
