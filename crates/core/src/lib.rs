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
pub mod downloads;
mod error;
mod error_body;
mod exchange;
pub mod gate;
pub mod hedging;
mod name_hasher;
mod named;
mod nested;
mod normal_form;
pub mod policy;
pub mod reading;
pub mod report;
mod request_head;
pub mod route;
pub mod runtime;
mod sealed;
mod server_hints;
pub mod settings;
pub mod sharing;

pub use budget::{RetryBudget, RetryBudgetBuilder, ServiceBudgets};
pub use error::{ConfigError, RateLimited};
pub use policy::backoff::{Backoff, Jitter};
pub use policy::builder::RetryPolicyBuilder;
pub use policy::classify::{Class, ErrorKind, Reach};
pub use policy::decision::StopReason;
pub use policy::outcome::Outcome;
pub use policy::request_facts::{Attempt, RequestFacts};
pub use policy::retry_policy::{Methods, RetryPolicy};
pub use policy::rules;
pub use policy::settings::RetryOverride;
pub use report::{ReportSlot, RetryReport};
