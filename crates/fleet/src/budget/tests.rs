//! The store's step, its script on a real server, and one process's part.

#[cfg(http_retry_loom)]
mod loom_model;
mod numbers;
mod participant;
mod schedules;
mod script;
mod step;

use super::message::{BudgetReply, BudgetReport, ReplyKind, StoreTerms};
use super::model::{StoredBucket, StoredRecord, settle};
use crate::status::FleetChange;
use crate::task::NextAction;
use http_retry_core::report::LeaveReason;
