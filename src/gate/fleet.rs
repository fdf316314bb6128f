//! One gate for many processes: what a process and the store say to each other, and what each of them does.
//!
//! The store holds what is one for all: the pause, the release, the quota. It counts tickets, and when a ticket is due is
//! the same in every process. A process holds what only it can know: its calls, the witnesses of its own refusals, its
//! credit. While the store does not answer, or does not tell of pauses, the process's own gate decides, which has heard
//! the same all along.
//!
//! Times are microseconds: in words and answers since the store's epoch, inside a process since the runtime's. Every number
//! is a whole one below 2^53, so that the store's script computes the same.

mod hears;
mod join;
mod link;
mod member;
mod release;
mod says;
#[cfg(test)]
#[cfg(feature = "testing")]
pub(in crate::gate) mod tests;
#[cfg(feature = "testing")]
mod twin;
mod words;

pub(super) use join::JoinedFleet;
pub(super) use member::Member;

pub(crate) use link::{GateFleet, GateLink, NextWords};
#[cfg(feature = "testing")]
pub(crate) use twin::{SharedGate as StoredGate, step};
pub(crate) use words::{Accuses, GateAnswer, GatePush, GateWords, QuotaWord};
