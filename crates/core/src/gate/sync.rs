//! The locks and atomics of a gate: those of std, those of a model checker, or in tests locks that are counted.

#[cfg(all(test, not(http_retry_loom)))]
pub(super) use super::tests::locks::{Mutex, MutexGuard};
#[cfg(not(http_retry_loom))]
pub(super) use std::sync::atomic::{AtomicU64, Ordering};
#[cfg(not(any(test, http_retry_loom)))]
pub(super) use std::sync::{Mutex, MutexGuard};

#[cfg(http_retry_loom)]
pub(super) use loom::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicU64, Ordering},
};
