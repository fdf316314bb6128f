//! What becomes of a request that has no retries left.

use super::action::Failover;
use crate::policy::CannedResponse;
use http::HeaderMap;
use std::sync::Arc;

/// What becomes of a request that was worth another attempt, and has none left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnExhausted {
    /// The caller gets the last outcome. The default.
    #[default]
    Last,
    /// The caller gets an error that [`RequestFailed`](crate::report::RequestFailed) finds; on the tower layer only after
    /// `boxed_errors()`, and else the last outcome.
    Fail,
    /// The caller gets this response.
    Respond(CannedResponse),
    /// The request goes to another service, with these headers there. A document alone says so.
    #[non_exhaustive]
    Failover {
        /// Where it goes.
        to: Failover,
        /// The headers that it has there.
        set: Option<Arc<HeaderMap>>,
    },
    /// An observer gets the request's head and the report, and the caller the last outcome. A document alone says so.
    #[non_exhaustive]
    DeadLetter {
        /// The observer's name.
        name: Arc<str>,
    },
}
