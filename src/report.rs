//! Events while a request runs, and a report when it is over.
//!
//! | you want | take |
//! |---|---|
//! | to see each step of every request as it happens | a function, set by `observe`, or an [`Observer`], set by `observer` |
//! | why one request ended as it did | the [`RetryReport`] in its response's extensions, or a [`ReportSlot`] in the request's |
//! | counters and histograms | `MetricsObserver`, with the feature `metrics` |
//! | the requests that have no retries left | [`DeadLetters`], named by the policy's `on_exhausted` |
//!
//! Events and reports hold no query string, user info, header value or body. A [`DeadLetter`] does, so that the request
//! can be sent again from it.

pub use crate::error::RequestFailed;
#[doc(inline)]
pub use http_retry_core::report::*;
// Once more by its name, so that rustc names the feature if it is off.
#[cfg(feature = "metrics")]
#[doc(inline)]
pub use http_retry_core::report::MetricsObserver;
