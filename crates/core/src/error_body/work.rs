//! Counts the bytes of a body that are read and the pointers that are compared, in tests only: both must grow linearly
//! with the body, and not quadratically.

#[cfg(not(any(test, feature = "testing")))]
#[inline]
pub(crate) fn add(_: usize) {}

#[cfg(any(test, feature = "testing"))]
pub(crate) use counted::add;
#[cfg(any(test, feature = "testing"))]
pub use counted::of;

#[cfg(any(test, feature = "testing"))]
mod counted {
    use std::cell::Cell;

    thread_local! {
        static WORK: Cell<usize> = const { Cell::new(0) };
    }

    pub(crate) fn add(more: usize) {
        WORK.set(WORK.get().saturating_add(more));
    }

    /// Returns the bytes of error bodies that this thread reads during the call, plus the pointers that it compares.
    /// Use it to test that the work of a table or a classifier grows linearly with a body.
    ///
    /// ```
    /// use http_retry::policy::ErrorBody;
    /// use http_retry::testing::body_work;
    ///
    /// let read = |text: String| body_work(|| drop(ErrorBody::read(text.as_bytes())));
    /// let (small, large) = (read("[".repeat(100)), read("[".repeat(1_000)));
    /// assert!(large <= 11 * small.max(100));
    /// ```
    pub fn of(meanwhile: impl FnOnce()) -> usize {
        let before = WORK.get();
        meanwhile();
        WORK.get().saturating_sub(before)
    }
}
