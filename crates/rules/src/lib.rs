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

pub use condition::{Condition, ErrorGroup, Value};
