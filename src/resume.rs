//! Downloads that go on where they broke.
//!
//! A retry layer repeats a request until its answer's head is there. If the *body* breaks later, the caller has half a
//! file. With this module the caller just goes on reading: the request is sent again for the bytes that are missing, and
//! the body continues with them.
//!
//! On reqwest send the request with `send_resumed` ([`SendResumed`]), on tower put `RetryLayer::resume_downloads` in the
//! place of the layer ([`ResumeLayer`]). Both take the policy, the budget, the gate and the clock of the retry layer.
//!
//! # What is resumed
//!
//! | the request | a GET that can be copied, for the whole or for one range |
//! |---|---|
//! | the answer | 200, or 206 to the request's own range, with one `Content-Length` |
//! | its coding | none: `Accept-Encoding: identity` is sent, unless the request has a header of its own |
//! | its version | a strong `ETag`; without any tag, a `Last-Modified` at least 60 s before the `Date` |
//!
//! An answer without the last is only asked for again as long as no byte of it was handed out. Any other answer has the
//! body that it would have without this module; [`ResumeProgress`] in the extensions of a response tells which it is.
//! Inside another retry layer, and with [`RetryOverride::resume(false)`](crate::RetryOverride::resume), the body is the
//! plain one too.
//!
//! # What happens at a break
//!
//! A body is broken if it ends early, fails, or brings no byte for [`Resume::idle_timeout`] while the caller reads. Then
//! the policy plans a retry and the budget pays for it as for any other: a token, two after a stall. Each new byte
//! begins a new count, so `max_retries` limits how often it is resumed without progress. The token goes back once 64 KiB
//! more have come, or the end: what goes on repeats nothing. The time limits of the policy bound the head of each
//! continuation, not the reading; without an `attempt_timeout` the idle timeout bounds each attempt to get it.
//! [`Resume::deadline`] bounds the whole.
//!
//! The continuation goes through the whole stack again, so that it is signed anew, and asks with `Range` and `If-Range`
//! from 1 KiB before the first missing byte. What comes twice is compared and dropped. An answer that does not prove
//! that it belongs to the first one is an [`Interrupted`] error; its bytes are not handed out.
//!
//! A strong `ETag` is the server's word. If it gives two files the same tag, and they differ only outside of the bytes
//! that are compared, nobody notices.
//!
//! # Several servers
//!
//! A validator counts for one resource of one origin: another server may have the same `ETag: "1"` for another file. So
//! the bytes of a download are all from one place:
//!
//! - If the client followed a redirect to another host or path, the rest is asked for where it led, not at the first URL.
//!   `Authorization`, `Cookie` and what else is for the first server alone are not sent to another one.
//! - A rest that came from another URL than the start, by a redirect or a failover, or that `on_exhausted: respond` made
//!   up, ends the download with [`ResumeFailure::Changed`].
//! - A start that came by a failover is not resumed: a break ends it with [`ResumeFailure::Changed`].
//! - A break for which a rule says `failover` ends the download with `not_retryable`.
//!
//! A redirect often leads to a signed URL that expires. Once it has, the server refuses the rest, usually with a 403, and the
//! download ends with [`ResumeFailure::HeadFailed`]: send the request again from the start. It ends with
//! [`ResumeFailure::Changed`] if a middleware writes another signature or date into the URL of each request; let it sign
//! headers.
//!
//! The layer sees only what the client below shows. A load balancer, a balancing layer such as `tower::balance`, or DNS
//! may lead the rest to another machine under the same URL; the servers behind one URL must give equal validators to equal
//! files only. Nor does an `http::Response` tell its URL, so put a layer that follows redirects outside of this one, not
//! below it. `reqwest::Client` tells it.
//!
#![cfg_attr(
    feature = "reqwest",
    doc = "[`SendResumed`]: crate::reqwest::SendResumed"
)]
#![cfg_attr(not(feature = "reqwest"), doc = "[`SendResumed`]: crate#features")]
#![doc = "[`ResumeLayer`]: crate::tower::ResumeLayer"]
//!
//! # Source
//!
//! RFC 9110 sections 8.8 (validators; 8.8.1 on the resource that they are of), 13 (preconditions; 13.1.5 on `If-Range`) and
//! 14 (ranges).

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
mod response;
mod settings;
mod terms;

pub use crate::policy::ResumeFailure;
pub use body::ResumedBody;
pub use interrupted::Interrupted;
pub use progress::ResumeProgress;
pub use settings::Resume;

pub(crate) use download::{Resend, RestRequest, Sending};
pub(crate) use mark::ResumeValidator;
pub(crate) use response::{Resumable, is_redirected, marked};
pub(crate) use terms::{DownloadOptions, DownloadTerms};
