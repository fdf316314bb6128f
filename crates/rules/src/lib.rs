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

mod condition;
mod error_body;

pub use condition::{Condition, ErrorGroup, Value};
pub use error_body::ReadBody;
#[cfg(feature = "testing")]
pub use error_body::work::of as body_work;
