//! Responses of LLM APIs: the meanings of a 429, requests that are too long, and streams that fail before their first
//! output.
//!
//! [`LlmPreset::llm`] judges by [`LlmClassifier`]. The rest is off by default:
//!
//! ```
//! use http_retry::RetryPolicy;
//! use http_retry::llm::{HoldStreams, LlmPreset, Truncation};
//!
//! let policy = RetryPolicy::llm()
//!     .to_builder()
//!     .rewrite(Truncation::keep_tail())
//!     .hold_streams(HoldStreams::new())
//!     .build()?;
//! # Ok::<(), http_retry::ConfigError>(())
//! ```

mod classifier;
mod hold;
mod json;
mod stream;
#[cfg(test)]
mod tests;
mod truncate;

pub use classifier::LlmClassifier;
pub use hold::HoldStreams;
pub use truncate::Truncation;

use http_retry_core::{Backoff, Methods, RetryPolicy};
use std::time::Duration;

/// The preset for calls to a large language model.
///
/// ```
/// use http_retry::RetryPolicy;
/// use http_retry::llm::LlmPreset;
///
/// let worst = RetryPolicy::llm().worst_case();
/// assert_eq!(worst.attempts, Some(3));
/// assert_eq!(worst.gated_attempts, 300);
/// ```
pub trait LlmPreset {
    /// Returns the preset for calls to a large language model.
    ///
    /// 3 attempts, base 1 s, delays up to 60 s, server delays up to 2 min, **all methods**: a completion is a POST
    /// whose only effect is its cost, and quota windows are mostly a minute long. Do not use it for calls that order,
    /// pay or send something. The gate is on: after several 429s in a row all callers of the service wait together, each
    /// for at most 5 min in total, and quota headers count from the first response on. Up to 300 refused attempts are counted
    /// separately ([`max_refused`](http_retry_core::RetryPolicyBuilder::max_refused)), one for each second of these 5
    /// min. Its classifier is [`LlmClassifier`].
    #[must_use]
    fn llm() -> Self;
}

impl LlmPreset for RetryPolicy {
    fn llm() -> Self {
        let backoff =
            Backoff::exponential(Duration::from_secs(1)).max_delay(Duration::from_secs(60));
        let preset = Self::builder()
            .max_retries(2)
            .max_refused(300)
            .backoff(backoff)
            .max_server_delay(Duration::from_secs(2 * 60))
            .max_gate_wait(Duration::from_secs(5 * 60))
            .quotas_at_once(true)
            .methods(Methods::All)
            .dialect(LlmClassifier::new())
            .preset("llm");
        // These settings pass the builder's checks (a test asserts it), so the default is never used.
        preset.unwrap_or_default()
    }
}
