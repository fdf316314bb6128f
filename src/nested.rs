//! Retry layers notice each other: a mark that is set while an attempt is polled.
//!
//! The mark is a thread-local, so it costs no allocation and works where a request's extensions are private. An attempt
//! that goes on in another task loses it; there only an extension of the request can tell.

use std::cell::Cell;

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Whether the current poll is part of an attempt of a retry layer further out.
pub(crate) fn is_inside() -> bool {
    INSIDE.get()
}

/// Sets the mark until it is dropped.
pub(crate) struct Mark {
    before: bool,
}

impl Mark {
    /// A layer that repeats nothing by itself leaves the mark as it is.
    pub(crate) fn of(repeats: bool) -> Self {
        let before = INSIDE.get();
        INSIDE.set(before || repeats);
        Self { before }
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        INSIDE.set(self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_ends_with_the_poll_even_by_a_panic() {
        let polled = std::panic::catch_unwind(|| {
            let _outer = Mark::of(true);
            let _inner = Mark::of(false);
            assert!(is_inside());
            std::panic::resume_unwind(Box::new(()));
        });
        assert!(polled.is_err() && !is_inside());
    }
}
