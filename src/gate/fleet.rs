//! One gate for many processes: the words that a process and the store exchange, and what each makes of them.
//!
//! Each process runs the controller that it would run alone, with its own pace, its own line and its own view of a quota.
//! The fleet adds three things:
//!
//! - **One vote.** Processes report their refusals, and the store counts those in a row. A vote closes the gate of every
//!   process at once.
//! - **One contradiction.** Successes that contradict the cooldown open the gate of all.
//! - **One quota.** Of what remains a process takes its share.
//!
//! So a store that is slow, empty or gone costs nothing but that: no call waits for it. Times are microseconds, of the
//! store's clock in the store and of the runtime's in a process; none crosses from one to the other, only durations do.
//! Every number is a whole one below 2^53, so that the store's script computes the same.

mod join;
mod link;
mod member;
#[cfg(test)]
#[cfg(feature = "testing")]
pub(in crate::gate) mod tests;
#[cfg(feature = "testing")]
mod twin;
mod words;

pub(super) use join::JoinedFleet;
pub(super) use member::{Heard, Member};

pub(crate) use link::{GateFleet, GateLink};
#[cfg(feature = "testing")]
pub(crate) use twin::{SharedGate as StoredGate, step};
pub(crate) use words::{GateAnswer, GatePush, GateWords, NextWords};
