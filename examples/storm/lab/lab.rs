//! A simulated world: servers that fail, callers that come, a clock that jumps; and real retry layers between them.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a world that is set up wrongly ends at once"
)]

mod call;
mod chance;
mod clients;
mod limiter;
mod load;
mod origin;
pub(crate) mod run;
mod runtime;
pub(crate) mod scenarios;
mod server;
pub(crate) mod verdict;

use std::future::Future;

/// What a run depends on, and nothing else: the same world gives the same run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct World {
    pub(crate) seed: u64,
    pub(crate) arrivals: Arrivals,
    pub(crate) stack: Stack,
    /// Whether the peers play too.
    pub(crate) peers: bool,
    /// Whether the longest scenarios are shortened.
    pub(crate) short: bool,
}

/// How calls come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrivals {
    /// At the same distance from each other.
    Even,
    /// Each without regard to the others.
    Poisson,
}

/// Which adapter of this crate is in front of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stack {
    Tower,
    Reqwest,
}

impl World {
    /// Plays something in this world, on a clock of its own.
    pub(crate) fn play<T>(self, story: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime without a driver for sockets")
            .block_on(story)
    }
}
