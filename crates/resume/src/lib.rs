//! Downloads that are resumed at the byte at which they broke.
//!
//! A retry layer repeats a request until the head of its response arrives. If the *body* breaks later, the caller has
//! half a file. With this crate the caller just keeps reading: the request is sent again for the missing bytes, and
//! the body continues with them.
//!
//! On reqwest send the request with `send_resumed` (`SendResumed`); on tower use `RetryLayer::resume_downloads`
//! instead of the layer (`ResumeLayer`). Both take the policy, the budget, the gate and the clock of the retry layer.
//!
//! # What is resumed
//!
//! | request | a GET that can be copied, for the whole file or for one range |
//! |---|---|
//! | response | 200, or 206 to the request's own range, with one `Content-Length` |
//! | content coding | none: `Accept-Encoding: identity` is sent, unless the request has its own header |
//! | validator | a strong `ETag`; without any tag, a `Last-Modified` at least 60 s before the `Date` |
//!
//! A response without a validator is only requested again if none of its bytes were handed out. Any other response has
//! the body that it would have without this crate; [`ResumeProgress`] in the extensions of a response tells which it
//! is. The body is also the plain one inside another retry layer, and with
//! [`RetryOverride::resume(false)`](http_retry_core::RetryOverride::resume).
//!
//! # What happens at a break
//!
//! A body is broken if it ends early, fails, or brings no byte for [`Resume::idle_timeout`] while the caller reads.
//! Then the policy plans a retry and the budget pays for it as for any other: a token, or two after a stall. The count
//! of retries starts anew with each new byte, so `max_retries` limits the resumes without progress. The token is
//! returned after another 64 KiB, or at the end: a resume that makes progress repeats nothing. The time limits of the
//! policy bound the head of each continuation, not the reading; without an `attempt_timeout` the idle timeout bounds
//! each attempt to get it. [`Resume::deadline`] bounds the whole download.
//!
//! The continuation goes through the whole stack again, so that it is signed anew, and asks with `Range` and `If-Range`
//! from 1 KiB before the first missing byte. Bytes that arrive twice are compared and dropped. A response that does not
//! prove that it belongs to the first one is an [`Interrupted`] error; its bytes are not handed out.
//!
//! A strong `ETag` is the server's promise. If a server gives two files the same tag, and they differ only outside of
//! the compared bytes, the difference goes unnoticed.
//!
//! # Several servers
//!
//! A validator is valid for one resource of one origin: another server may use the same `ETag: "1"` for another file.
//! So all bytes of a download come from one place:
//!
//! - If the client followed a redirect to another host or path, the rest is requested at the target, not at the first
//!   URL. `Authorization`, `Cookie` and other headers for the first server alone are not sent to another one.
//! - If the rest comes from another URL than the start, by a redirect or a failover, or is made up by an `on_exhausted`
//!   setting (`respond`), the download ends with [`ResumeFailure::Changed`].
//! - If the start came from a failover, the download is not resumed: a break ends it with [`ResumeFailure::Changed`].
//! - If a rule demands a `failover` after a break, the download ends with `not_retryable`.
//!
//! A redirect often leads to a signed URL that expires. Once it has expired, the server refuses the rest, usually with
//! a 403, and the download ends with [`ResumeFailure::HeadFailed`]: send the request again from the start. The download
//! ends with [`ResumeFailure::Changed`] if a middleware writes another signature or date into the URL of each request;
//! let it sign headers instead.
//!
//! The layer sees only what the client below shows. A load balancer, a balancing layer such as `tower::balance`, or DNS
//! may lead the rest to another machine under the same URL; the servers behind one URL must give equal validators only
//! to equal files. An `http::Response` does not carry its URL, so put a layer that follows redirects outside of this
//! one, not below it. `reqwest::Client` reports the URL.
//!
//! # Source
//!
//! RFC 9110 sections 8.8 (validators; 8.8.1 on the resource that they belong to), 13 (preconditions; 13.1.5 on
//! `If-Range`) and 14 (ranges).

#![cfg_attr(docsrs, feature(doc_cfg))]

mod body;
mod download;
mod exclusive;
#[deny(clippy::arithmetic_side_effects, clippy::disallowed_methods)]
mod head;
mod idle_timer;
mod interrupted;
#[cfg_attr(
    not(test),
    deny(clippy::arithmetic_side_effects, clippy::disallowed_methods)
)]
mod mark;
#[cfg_attr(
    not(test),
    deny(clippy::arithmetic_side_effects, clippy::disallowed_methods)
)]
mod overlap;
mod progress;
mod settings;
mod terms;

pub use body::ResumedBody;
pub use http_retry_core::policy::ResumeFailure;
pub use interrupted::Interrupted;
pub use progress::ResumeProgress;
pub use settings::Resume;

/// The parts of a download that an adapter to a client needs.
///
/// While the request is sent, the adapter makes [`DownloadOptions`](adapter::DownloadOptions) and
/// [prepares](adapter::ResumeValidator::prepare) the headers. If the head of the response gives a
/// [`ResumeValidator`](adapter::ResumeValidator), it wraps the body by [`ResumedBody::new`], with a
/// [`Resend`](adapter::Resend) that requests the rest.
pub mod adapter {
    pub use crate::download::{OtherOrigin, Resend, RestRequest, Sending};
    pub use crate::mark::ResumeValidator;
    pub use crate::terms::{DownloadOptions, DownloadTerms};
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
