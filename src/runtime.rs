//! The clock, the sleep and the randomness of a program, in one value.

#[cfg_attr(
    all(target_arch = "wasm32", target_os = "unknown"),
    path = "runtime/browser.rs"
)]
mod of_tokio;

pub use of_tokio::*;

#[doc(inline)]
pub use http_retry_core::runtime::{Runtime, Sleep, within};

use rand::TryRng;
use rand::rngs::SysRng;

/// Returns 128 bits of the system's randomness, if it has any.
fn system_key() -> Option<u128> {
    let half = || SysRng.try_next_u64().ok().map(u128::from);
    half().zip(half()).map(|(high, low)| high << 64 | low)
}
