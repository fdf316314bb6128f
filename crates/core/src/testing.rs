//! A clock that jumps, for tests.

mod manual_runtime;

pub use crate::error_body::work::of as body_work;
pub use manual_runtime::ManualRuntime;
