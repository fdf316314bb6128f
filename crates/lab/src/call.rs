//! The call that a task is about, so that its numbers do not depend on what other calls do.

use std::cell::Cell;
use std::future::Future;

tokio::task_local! {
    static CALL: Call;
}

#[derive(Debug)]
struct Call {
    number: u64,
    attempts: Cell<u64>,
    jitters: Cell<u64>,
}

/// Runs a call under its number.
pub(crate) async fn numbered<T>(number: u64, call: impl Future<Output = T>) -> T {
    let this = Call {
        number,
        attempts: Cell::new(0),
        jitters: Cell::new(0),
    };
    CALL.scope(this, call).await
}

/// The number of the call, and how many attempts it made before this one.
pub(crate) fn next_attempt() -> (u64, u64) {
    CALL.with(|call| (call.number, count(&call.attempts)))
}

/// The number of the call, and how many numbers were drawn for it before; nothing in a task that is no call's.
pub(crate) fn next_jitter() -> Option<(u64, u64)> {
    let next = |call: &Call| (call.number, count(&call.jitters));
    CALL.try_with(next).ok()
}

/// Returns the number of attempts of the call.
pub(crate) fn attempts() -> u64 {
    CALL.with(|call| call.attempts.get())
}

fn count(counter: &Cell<u64>) -> u64 {
    counter.replace(counter.get() + 1)
}
