//! A response in place of a request's last outcome.

use http::{HeaderMap, StatusCode};
use std::fmt;
use std::sync::Arc;

/// A response that no server has sent.
#[derive(Clone, PartialEq, Eq)]
#[doc(hidden)]
#[cfg_attr(
    not(any(feature = "tower", feature = "reqwest")),
    expect(unreachable_pub, reason = "a trait of the adapters names it")
)]
pub struct CannedResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: Arc<HeaderMap>,
    pub(crate) body: Arc<str>,
}

/// Without headers and body, which may hold a secret.
impl fmt::Debug for CannedResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CannedResponse")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}
