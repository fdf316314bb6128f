//! Documents in force, on real sockets.

mod answer;
mod bodies;
mod choosing;
mod clock;
mod dialect_bodies;
mod dialects;
mod exhausted;
mod failover;
mod once;
mod reading;
pub(crate) mod replies;
mod stacks;
mod swaps;
