//! The retry layer among others, on both stacks.

pub(crate) mod clients;
pub(crate) mod clock;

mod breaker;
mod concurrency;
mod extensions;
mod holds;
mod nested;
mod readiness;
mod timeouts;
