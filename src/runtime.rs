//! The clock, the sleep and the randomness of a program, in one value.

#[cfg_attr(
    all(target_arch = "wasm32", target_os = "unknown"),
    path = "runtime/browser.rs"
)]
mod of_tokio;

pub use of_tokio::*;

#[doc(inline)]
pub use http_retry_core::runtime::{Runtime, Sleep, within};
