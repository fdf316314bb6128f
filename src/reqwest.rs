//! The reqwest adapter: a middleware for reqwest-middleware.
//!
//! A `reqwest::Client` is also a tower service, so [`RetryLayer`](crate::tower::RetryLayer) wraps it directly.

#[cfg_attr(
    all(target_arch = "wasm32", target_os = "unknown"),
    path = "reqwest/build_in_browser.rs"
)]
mod build;
mod chain;
mod middleware;
#[cfg(not(all(target_arch = "wasm32", target_os = "unknown")))]
mod redirect_policy;
#[cfg(not(all(target_arch = "wasm32", target_os = "unknown")))]
mod resume;

pub use build::build;
pub use middleware::RetryMiddleware;
#[cfg(not(all(target_arch = "wasm32", target_os = "unknown")))]
pub use {redirect_policy::redirect_policy, resume::SendResumed};
