//! What a reader of streams goes over, counted in tests alone: it must grow with the stream and not with its square.

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

    /// These bytes, which were read before, are gone over again.
    pub(in super::super) fn add(bytes: &[u8]) {
        BYTES.set(BYTES.get() + bytes.len());
    }

    /// How many bytes are gone over again meanwhile.
    pub(in super::super) fn of(meanwhile: impl FnOnce()) -> usize {
        let before = BYTES.get();
        meanwhile();
        BYTES.get() - before
    }
}
