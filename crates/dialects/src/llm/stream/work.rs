//! Bytes that the stream reader processes, counted in tests alone: the count must be linear in the length of the
//! stream.

#[cfg(not(test))]
#[inline]
pub(super) fn add(_: &[u8]) {}

#[cfg(test)]
pub(super) use counted::{add, of};

#[cfg(test)]
mod counted {
    use std::cell::Cell;

    thread_local! {
        static BYTES: Cell<usize> = const { Cell::new(0) };
    }

    /// Counts bytes that are processed once more.
    pub(in super::super) fn add(bytes: &[u8]) {
        BYTES.set(BYTES.get() + bytes.len());
    }

    /// Returns the number of bytes that are processed once more during this call.
    pub(in super::super) fn of(meanwhile: impl FnOnce()) -> usize {
        let before = BYTES.get();
        meanwhile();
        BYTES.get() - before
    }
}
