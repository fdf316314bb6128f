//! The reqwest adapter: a middleware for reqwest-middleware.
//!
//! A `reqwest::Client` is also a tower service, so [`RetryLayer`](crate::tower::RetryLayer) wraps it directly.

mod build;
mod chain;
mod middleware;
mod redirect_policy;
mod resume;

pub use build::build;
pub use middleware::RetryMiddleware;
pub use redirect_policy::redirect_policy;
pub use resume::SendResumed;
