//! The tower adapter: a layer for any stack that carries `http::Request<B>`, or `reqwest::Request`.
//!
//! # Order in a stack
//!
//! ```text
//!   error_for_status      sees the final answer
//!   circuit breaker       sees one result per request
//! > RetryLayer
//!   concurrency limit     holds no permit while a retry waits
//!   timeout               bounds one attempt
//!   client
//! ```
//!
//! A layer that follows redirects belongs outside of this one: inside, its errors hide which request failed.

mod future;
mod layer;
mod service;

pub use layer::RetryLayer;
pub use service::{Boxed, Errors, Retry, Unchanged};
