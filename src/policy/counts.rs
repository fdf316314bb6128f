//! What a session counts.

use std::time::Duration;

/// What a request has done so far; a plan holds what it will have done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// All attempts but the first, waits included.
    pub(super) resends: u32,
    pub(super) retries: u32,
    /// The last delay of its own accord.
    pub(super) previous: Duration,
    /// How long it has waited at the gate.
    pub(super) gate_waited: Duration,
    /// How often a rate limit has sent it back there.
    pub(super) refusals: u32,
    /// A server may have processed one of the attempts that were followed by another.
    pub(super) in_doubt: bool,
}

/// What a request has done so far by one rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(super) retries: u32,
    pub(super) waits: u32,
    /// When it waited first.
    pub(super) since: Option<Duration>,
}
