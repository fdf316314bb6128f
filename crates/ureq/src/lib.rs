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

mod call;
mod dry_run;
mod errors;
mod request;
mod response;
mod retries;
mod runtime;
mod watch;

pub use errors::RequestFailed;
pub use retries::Retries;

#[doc(inline)]
pub use http_retry_core::{
    Backoff, ConfigError, Jitter, Methods, RateLimited, RetryBudget, RetryOverride, RetryPolicy,
    RetryReport, ServiceBudgets, StopReason, attempt,
};
