//! The place that a call has at the gate, and what becomes of it.

use super::controller::Permit;
use super::key::GateKey;
use std::time::Duration;

/// The right to send one call: where it went through, and as which. It must come back by [`Gate::end`](super::Gate::end).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// The number of its slot.
    pub(super) at: u32,
    pub(super) key: GateKey,
    pub(super) permit: Permit,
    /// What its answer says of a quota counts.
    pub(crate) hears_quotas: bool,
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It was refused, and asked to wait so long, if it was.
    Refused(Option<Duration>),
    Succeeded,
    Other,
}
