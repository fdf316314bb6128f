//! A wrapper that makes a value `Sync` by giving access to it only through `&mut`.

use std::sync::{Mutex, PoisonError};

/// A value that is accessed only through `&mut`: `Sync` if the value is `Send`. Its lock is never taken.
///
/// `reqwest::Body::wrap` requires a `Sync` body, and boxed futures are not.
pub(super) struct Exclusive<T>(Mutex<T>);

impl<T> Exclusive<T> {
    pub(super) fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    pub(super) fn get(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}
