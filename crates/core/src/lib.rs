#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(test),
    deny(
        clippy::disallowed_methods,
        clippy::arithmetic_side_effects,
        clippy::float_arithmetic
    )
)]

pub mod adapter;
pub mod attempt;
pub mod budget;
mod error;
mod error_body;
mod exchange;
pub mod gate;
mod name_hasher;
mod named;
mod nested;
mod normal_form;
pub mod policy;
pub mod report;
pub mod route;
pub mod runtime;
mod server_hints;
mod sharing;

pub use budget::{RetryBudget, RetryBudgetBuilder, ServiceBudgets};
pub use error::{ConfigError, RateLimited};
pub use policy::{
    Attempt, Backoff, Class, ErrorKind, Jitter, Methods, Outcome, Reach, RequestFacts,
    RetryOverride, RetryPolicy, RetryPolicyBuilder, StopReason, rules,
};
pub use report::{ReportSlot, RetryReport};
