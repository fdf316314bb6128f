//! Retry middleware for HTTP clients: one policy and one shared budget, for reqwest and for any tower or hyper stack.
#![allow(dead_code, unused_imports, rustdoc::broken_intra_doc_links)]

#[deny(clippy::disallowed_methods, clippy::arithmetic_side_effects, clippy::float_arithmetic)]
pub mod budget;
mod error;
#[deny(clippy::disallowed_methods, clippy::arithmetic_side_effects, clippy::float_arithmetic)]
pub mod policy;

pub use budget::{RetryBudget, RetryBudgetBuilder, ServiceBudgets};
pub use error::{AttemptTimeout, ConfigError};
pub use policy::{
    Attempt, Backoff, Cap, Class, Jitter, Methods, Outcome, Reach, RequestFacts, RetryOverride,
    RetryPolicy, RetryPolicyBuilder, StopReason,
};
