//! The locks and atomics of a fleet; those of its accounts are the standard ones, or those of a model checker.

use std::sync::PoisonError;

#[cfg(not(http_retry_loom))]
pub(super) use std::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicU64, Ordering},
};

#[cfg(http_retry_loom)]
pub(super) use loom::sync::{
    Arc, Mutex, MutexGuard,
    atomic::{AtomicU64, Ordering},
};

/// Locks. A panic with the lock held leaves nothing half changed.
pub(super) fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
