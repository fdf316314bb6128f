//! What the adapters share of a client: what a request asks for, what can be sent twice, what a failure means, and what
//! can be read of an answer and handed back whole.

#[cfg(any(feature = "tower", feature = "reqwest"))]
mod answer;
#[cfg(all(feature = "tower", feature = "hyper"))]
pub(crate) mod connection;
#[cfg(any(feature = "tower", feature = "reqwest"))]
mod download;
pub(crate) mod error_chain;
#[cfg(any(feature = "tower", feature = "reqwest"))]
mod facts;
#[cfg(any(feature = "tower", feature = "reqwest"))]
pub(crate) mod first_attempt;
#[cfg(any(feature = "tower", feature = "reqwest"))]
mod gate_key;
#[cfg(any(feature = "tower", feature = "reqwest"))]
pub(crate) mod http_sender;
#[cfg(feature = "tower")]
mod kept_response;
#[cfg(any(feature = "tower", feature = "reqwest"))]
pub(crate) mod measure;
#[cfg(any(feature = "tower", feature = "reqwest"))]
pub(crate) mod options;
#[cfg(any(feature = "tower", feature = "reqwest"))]
mod record;
#[cfg(any(feature = "tower", feature = "reqwest"))]
mod replay_body;
#[cfg(any(feature = "tower", feature = "reqwest"))]
pub(crate) mod resend;
#[cfg(any(feature = "tower", feature = "reqwest"))]
mod retry_body;
#[cfg(any(feature = "tower", feature = "reqwest"))]
pub(crate) mod rewrite;
#[cfg(any(feature = "tower", feature = "reqwest"))]
mod saved_headers;
#[cfg(any(feature = "tower", feature = "reqwest"))]
mod saved_request;

#[cfg(any(feature = "tower", feature = "reqwest"))]
pub use self::{replay_body::ReplayBody, resend::Replay, retry_body::RetryBody};

#[cfg(feature = "reqwest")]
pub(crate) use self::answer::of_reqwest as reqwest_response;
#[cfg(feature = "tower")]
pub(crate) use self::kept_response::KeptResponse;
#[cfg(any(feature = "tower", feature = "reqwest"))]
pub(crate) use self::{
    answer::Answer,
    resend::{HasHead, Resend},
};
#[cfg(any(feature = "tower", feature = "reqwest"))]
pub(crate) use download::{DownloadOptions, DownloadTerms, Payment};
