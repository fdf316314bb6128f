//! A storm lab: servers that fail, callers that come and a clock that jumps, with real retry layers between them.
//!
//! [`storm`] is one service in trouble under retries of any kind, and [`run`] what happened in it. With the feature
//! `scenarios`, `scenarios` are the outages, overloads and quotas that http-retry is tested with, beside other retry
//! crates, and `verdict` has the bounds that must hold. The same seed gives the same run. Nothing here waits in real
//! time or opens a socket.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(feature = "scenarios"),
    allow(
        dead_code,
        reason = "a storm has one limit and one stack, and scenarios many"
    )
)]
#![allow(
    clippy::exhaustive_enums,
    clippy::exhaustive_structs,
    reason = "a world and its rows are written and read field by field"
)]

#[cfg(feature = "scenarios")]
mod batch;
mod chance;
mod client;
#[cfg(feature = "scenarios")]
mod clients;
mod limiter;
mod load;
mod origin;
pub mod run;
pub mod runtime;
#[cfg(feature = "scenarios")]
pub mod scenarios;
mod server;
pub mod storm;
#[cfg(feature = "scenarios")]
pub mod verdict;

/// The inputs of a run.
#[cfg(feature = "scenarios")]
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
#[cfg(feature = "scenarios")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stack {
    /// The tower layer.
    Tower,
    /// The middleware of reqwest-middleware.
    Reqwest,
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
