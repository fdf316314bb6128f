//! The store's step, its script on a real server, and what a process remembers.

#[cfg(http_retry_loom)]
mod loom_model;
mod member;
mod numbers;
mod schedules;
mod script;
mod step;

use super::settle::{StoredBucket, StoredRecord, settle};
use super::*;
