//! The reqwest adapter: a middleware for reqwest-middleware.
//!
//! A `reqwest::Client` is a tower service as well, so [`RetryLayer`](crate::tower::RetryLayer) goes on it directly.

mod middleware;

pub use middleware::RetryMiddleware;
