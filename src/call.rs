//! One request on its way: the machine of [`policy`](crate::policy) decides, and what is here carries its commands out.
//!
//! In the order of a request's way:
//!
//! 1. [`Call`] is a request whose first attempt is about to go or under way. While nothing is wrong nothing more is made.
//! 2. [`Driver`] is made of it at the first sign of trouble, or if somebody wants to know: it holds the session, the
//!    report and the last outcome, and carries out each [`Command`](crate::policy::Command) until the request is finished.
//! 3. [`Client`] is the door to an HTTP client: it sends an attempt, and says what its errors mean.
//!
//! No file here knows a rule: when to retry, how long to wait and why to stop is the session's business.

mod client;
mod driver;
mod judging;
mod options;
mod retrying;
mod start;

pub(crate) use client::{AttemptResult, Client, ErrorFacts, OwnError, http_error_facts};
pub(crate) use driver::{CallState, Driver};
pub(crate) use options::{RequestOptions, RestOfDownload};
pub(crate) use start::{Call, DriverStart, FirstEnd};

use http::{HeaderMap, HeaderName, Method, Uri};
use std::time::Duration;

/// A request's head, for when nothing else is left of it.
pub(crate) struct KeptHead {
    method: Method,
    uri: String,
    /// The place that the request goes to now, if that is a URI.
    at: Option<Uri>,
    headers: HeaderMap,
    /// The headers that the policies call a credential by which it has gone so far.
    credentials: Vec<HeaderName>,
}

/// The time that an attempt may take, and when it must be over.
#[derive(Debug, Clone, Copy)]
struct Limit {
    most: Duration,
    until: Duration,
}
