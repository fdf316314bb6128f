//! Retry middleware for HTTP clients: one policy and one shared budget, for reqwest and for any tower or hyper stack.
#![cfg_attr(docsrs, feature(doc_cfg))]
// What a smaller feature set leaves unused is checked with all of them on.
#![cfg_attr(
    not(all(
        feature = "tower",
        feature = "reqwest",
        feature = "tracing",
        feature = "testing"
    )),
    allow(dead_code, unused_imports, unused_macros)
)]

mod engine;
mod error;
mod failure;
#[cfg(any(feature = "tower", feature = "reqwest"))]
mod message;
mod nested;
mod retry_loop;
mod wishes;

#[deny(
    clippy::disallowed_methods,
    clippy::arithmetic_side_effects,
    clippy::float_arithmetic
)]
pub mod budget;
pub mod observe;
#[deny(
    clippy::disallowed_methods,
    clippy::arithmetic_side_effects,
    clippy::float_arithmetic
)]
pub mod policy;
#[cfg(feature = "reqwest")]
pub mod reqwest;
pub mod run;
pub mod runtime;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(feature = "tower")]
pub mod tower;

pub use budget::{RetryBudget, RetryBudgetBuilder, ServiceBudgets};
pub use error::{AttemptTimeout, ConfigError};
#[cfg(any(feature = "tower", feature = "reqwest"))]
pub use message::{Answer, Replay, ReplayBody, Resend, RetryBody};
pub use observe::{ReportSlot, RetryReport};
pub use policy::{
    Attempt, Backoff, Cap, Class, Jitter, Methods, Outcome, Reach, RequestFacts, RetryOverride,
    RetryPolicy, RetryPolicyBuilder, StopReason,
};
