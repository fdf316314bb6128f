//! A budget that many processes share: what one of them remembers, and the words that it exchanges with the store.
//!
//! Nothing here asks for the time, sleeps or sends. [`BudgetLink`] gives commands to whoever sends them, and takes the
//! answers.

mod asking;
mod change;
mod link;
mod member;
mod pace;
#[cfg(any(test, feature = "testing"))]
mod settle;
mod share;
#[cfg(test)]
mod tests;
mod totals;
mod waiting;
mod words;

pub(crate) use asking::Asking;
pub(crate) use change::FleetChange;
pub use change::LeaveReason;
pub(crate) use link::BudgetLink;
pub(crate) use member::Due;
pub(super) use member::Member;
pub(crate) use pace::{Backoff, flush};
#[cfg(any(test, feature = "testing"))]
pub(crate) use settle::{StoredBucket, StoredRecord, settle};
pub(crate) use words::{BudgetAnswer, BudgetWords};
#[cfg(test)]
pub(crate) use words::{Flag, FleetTerms};
