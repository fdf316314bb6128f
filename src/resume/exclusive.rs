//! A value used only through `&mut`, so that it is `Sync` whatever it holds.

use std::sync::{Mutex, PoisonError};

/// A value that only `&mut` reaches: `Sync` where the value is `Send`. Its lock is never taken.
pub(super) struct Exclusive<T>(Mutex<T>);

impl<T> Exclusive<T> {
    pub(super) fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    pub(super) fn get(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}
