//! A storm lab: servers that fail, callers that come and a clock that jumps, with real retry layers between them.
//!
//! A [`World`](crate::World) names what a run depends on; the same world gives the same run. [`scenarios`] are the
//! outages, overloads and quotas that http-retry is tested with, beside other retry crates; [`verdict`] has the bounds
//! that must hold, and [`run`] what happened. Nothing here waits in real time or opens a socket.
#![allow(
    clippy::exhaustive_enums,
    clippy::exhaustive_structs,
    reason = "a world and its rows are written and read field by field"
)]

mod call;
mod chance;
mod clients;
mod limiter;
mod load;
mod origin;
pub mod run;
mod runtime;
pub mod scenarios;
mod server;
pub mod verdict;

/// The inputs of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct World {
    /// The seed of all random numbers.
    pub seed: u64,
    /// The arrivals of calls.
    pub arrivals: Arrivals,
    /// The adapter of http-retry in front of the server.
    pub stack: Stack,
    /// `true` if the peers play too.
    pub peers: bool,
    /// `true` if the longest scenarios are shortened.
    pub short: bool,
}

/// The arrivals of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrivals {
    /// At the same distance from each other.
    Even,
    /// Each independent of the others.
    Poisson,
}

/// An adapter of http-retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stack {
    /// The tower layer.
    Tower,
    /// The middleware of reqwest-middleware.
    Reqwest,
}
