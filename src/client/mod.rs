//! What the adapters share of a client: what a request asks for, what can be sent twice, what a failure means, and what
//! can be read of an answer and handed back whole.

mod answer;
#[cfg(feature = "hyper")]
pub(crate) mod connection;
mod download;
pub(crate) mod error_chain;
mod facts;
pub(crate) mod first_attempt;
mod gate_key;
pub(crate) mod http_sender;
mod kept_response;
pub(crate) mod measure;
pub(crate) mod options;
mod record;
mod replay_body;
pub(crate) mod resend;
mod retry_body;
pub(crate) mod rewrite;
mod saved_headers;
mod saved_request;

pub use self::{replay_body::ReplayBody, resend::Replay, retry_body::RetryBody};

#[cfg(feature = "reqwest")]
pub(crate) use self::answer::of_reqwest as reqwest_response;
pub(crate) use self::kept_response::KeptResponse;
pub(crate) use self::{
    answer::Answer,
    resend::{HasHead, Resend},
};
pub(crate) use download::{DownloadOptions, DownloadTerms, Payment};
