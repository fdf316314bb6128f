//! The adapters' view of a client: requests that can be sent twice, responses that can be read and passed on whole,
//! and the meaning of a failure.

#[cfg_attr(
    any(not(feature = "hyper"), target_family = "wasm"),
    path = "client/no_connection.rs"
)]
pub(crate) mod connection;
pub(crate) mod error_chain;
pub(crate) mod errors;
mod record;
pub(crate) mod replay;
mod replay_body;
pub(crate) mod requests;
#[cfg(feature = "reqwest")]
pub(crate) mod reqwest_requests;
#[cfg(feature = "reqwest")]
#[cfg_attr(
    all(target_arch = "wasm32", target_os = "unknown"),
    path = "client/browser_responses.rs"
)]
pub(crate) mod reqwest_responses;
pub(crate) mod responses;
pub(crate) mod resumable;
mod retry_body;
pub(crate) mod rewrite;
pub(crate) mod saved_headers;

pub use self::{replay::Replay, replay_body::ReplayBody, retry_body::RetryBody};
