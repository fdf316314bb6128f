//! One request in flight: the state machine of [`policy`](crate::policy) decides, and this module carries its commands
//! out.
//!
//! In the order in which a request meets them:
//!
//! 1. [`Call`] is a request whose first attempt is about to be sent or in flight. A success needs nothing more.
//! 2. [`Driver`] replaces it at the first failure, or at once if the request is observed. It holds the session, the
//!    report and the last outcome, and carries out each [`Command`](http_retry_core::adapter::Command) until the
//!    request is finished.
//! 3. [`Client`] is the interface to an HTTP client: it sends an attempt, and reads its errors.
//!
//! No file here contains a rule: the session decides when to retry, how long to wait and why to stop.

mod client;
mod driver;
mod judging;
mod options;
mod retrying;
mod start;

pub(crate) use client::{AttemptResult, Client, ErrorFacts, http_error_facts};
pub(crate) use driver::{CallState, Driver};
pub(crate) use options::{RequestOptions, RestOfDownload};
pub(crate) use start::{Call, DriverStart, FirstEnd};

use http::{HeaderMap, HeaderName, Method, Uri};
use std::time::Duration;

/// A copy of a request's head that outlives the request and its saved copy.
pub(crate) struct KeptHead {
    method: Method,
    uri: String,
    /// The URI that the request is sent to now, if it can be parsed.
    at: Option<Uri>,
    headers: HeaderMap,
    /// The credential headers of every policy that the request has been sent under.
    credentials: Vec<HeaderName>,
}

/// The time limit of an attempt, and the time at which it must be over.
#[derive(Debug, Clone, Copy)]
struct Limit {
    timeout: Duration,
    until: Duration,
}
