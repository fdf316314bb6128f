//! Answers of LLM APIs: what every 429 means, requests that are too long, and streams that fail before they begin.
//!
//! [`policy`] judges by [`LlmClassifier`]. The rest is off by default:
//!
//! ```
//! use http_retry::llm::{self, HoldStreams, Truncation};
//!
//! let policy = llm::policy()
//!     .to_builder()
//!     .rewrite(Truncation::keep_tail())
//!     .hold_streams(HoldStreams::new())
//!     .build()?;
//! # Ok::<(), http_retry::ConfigError>(())
//! ```

mod classifier;
mod depth;
mod hold;
mod stream;
#[cfg(test)]
mod tests;
mod truncate;
mod truncation;

pub use classifier::LlmClassifier;
pub use hold::HoldStreams;
pub use truncation::Truncation;

use crate::policy::RetryPolicy;

/// The policy for calls to a large language model: [`RetryPolicy::llm_with`] the [`LlmClassifier`].
///
/// 3 attempts, all methods, waits for a server up to 2 min, and the gate. Do not use it for calls that order, pay or send
/// something.
///
/// ```
/// let worst = http_retry::llm::policy().worst_case();
/// assert_eq!(worst.attempts, Some(3));
/// assert_eq!(worst.gated_attempts, 300);
/// ```
#[must_use]
pub fn policy() -> RetryPolicy {
    RetryPolicy::llm_with(LlmClassifier::new())
}
