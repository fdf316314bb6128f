//! How many bytes of a body are gone over, and how many places compared, counted in tests alone: both must grow with the body
//! and not with its square.

#[cfg(not(test))]
#[inline]
pub(crate) fn add(_: usize) {}

#[cfg(test)]
pub(crate) use counted::{add, of};

#[cfg(test)]
mod counted {
    use std::cell::Cell;

    thread_local! {
        static WORK: Cell<usize> = const { Cell::new(0) };
    }

    /// So many bytes are gone over, or places compared.
    pub(crate) fn add(more: usize) {
        WORK.set(WORK.get() + more);
    }

    /// How much work is done meanwhile.
    pub(crate) fn of(meanwhile: impl FnOnce()) -> usize {
        let before = WORK.get();
        meanwhile();
        WORK.get() - before
    }
}
