//! The cost of reading an error body, for tests.

pub use crate::error_body::work::of as body_work;
