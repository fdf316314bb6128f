//! The tower adapter: a layer for any stack that carries `http::Request<B>`, or `reqwest::Request`.
//!
//! # Order in a stack
//!
//! ```text
//!   error_for_status      sees the final response
//!   circuit breaker       sees one result per request
//! > RetryLayer
//!   concurrency limit     holds no permit while a retry waits
//!   timeout               bounds one attempt
//!   client
//! ```
//!
//! <div class="warning">
//!
//! A layer that follows redirects belongs outside of this one. Below it, this layer does not see that a POST was
//! redirected before it ended with 429 or a refused connection, and sends it again. On `reqwest::Client`, which follows
//! redirects itself, see [`RetryLayer::redirects_watched`].
//!
//! </div>
//!
#![cfg_attr(
    not(feature = "reqwest"),
    doc = "[`RetryLayer::redirects_watched`]: crate#features"
)]

mod future;
mod layer;
mod resume;
mod resume_future;
mod service;

pub use layer::RetryLayer;
pub use resume::{ResumeLayer, ResumeService};
pub use service::Retry;

/// The type parameters of [`RetryLayer`] and [`Retry`], which setters choose. Only a program that writes out the type
/// of its service needs their names.
pub mod marker {
    pub use crate::client::errors::{Boxed, Unchanged};
    pub use crate::client::replay::{CloneBody, CopyBody, RecordBody};
    pub use crate::client::responses::{SameType, Wrapped};
}
