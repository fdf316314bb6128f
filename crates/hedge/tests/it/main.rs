//! Hedging over simulated servers, on tokio's paused clock.

#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test plays callers and server, and says what went wrong by panicking"
)]

mod on_reqwest;
mod schedules;
mod server;
mod tail;
mod told;
mod which;
