#![doc = include_str!("../README.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod call;
mod latencies;
mod layer;
#[cfg_attr(
    not(test),
    deny(clippy::arithmetic_side_effects, clippy::disallowed_methods)
)]
mod race;
mod request;
#[cfg(feature = "reqwest")]
mod reqwest;
mod terms;

pub use call::HedgeFuture;
pub use http_retry_core::policy::{Hedge, HedgeAfter};
pub use layer::{HedgeLayer, HedgeService};
#[cfg(feature = "reqwest")]
pub use reqwest::HedgeMiddleware;
