//! Agents with retries against a server in memory, on a clock that jumps.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test says what went wrong by panicking"
)]

mod bodies;
mod calls;
mod conformance;
mod schedules;
mod server;
mod several;
mod spellings;
mod timing;
mod wire;
