//! Chance without a state: every number comes from the seed and from what it is drawn for. A call counts its attempts and
//! its numbers, so that they do not depend on what other calls do.

use http_retry::policy::splitmix64;
use std::cell::Cell;
use std::future::Future;
use std::time::Duration;

/// The purpose of a number, so that two uses of one call never share it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Use {
    Arrival,
    Failure,
    Slowness,
    Jitter,
    Way,
    Beginning,
    Task,
}

/// The number for this use, of this thing, for the nth time.
pub(crate) fn draw(seed: u64, what: Use, thing: u64, time: u64) -> u64 {
    [what as u64, thing, time]
        .into_iter()
        .fold(splitmix64(seed), |mixed, word| splitmix64(mixed ^ word))
}

/// From 0 to just below 1.
fn share(draw: u64) -> f64 {
    (draw >> 11) as f64 / (1_u64 << 53) as f64
}

/// Returns `true` with this probability.
pub(crate) fn happens(probability: f64, draw: u64) -> bool {
    share(draw) < probability
}

/// The time to the next of so many events in a second, none of which knows of the others.
pub(crate) fn gap(per_second: f64, draw: u64) -> Duration {
    Duration::from_secs_f64(-(1.0 - share(draw)).ln() / per_second)
}

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
