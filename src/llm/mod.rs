//! Answers of LLM APIs: what every 429 means, requests that are too long, and streams that fail before they begin.
//!
//! [`RetryPolicy::llm`] judges by [`LlmClassifier`]. The rest is off by default:
//!
//! ```
//! use http_retry::RetryPolicy;
//! use http_retry::llm::{HoldStreams, Truncation};
//!
//! let policy = RetryPolicy::llm()
//!     .to_builder()
//!     .truncate(Truncation::keep_tail())
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

use crate::policy::{Preset, RetryPolicy, RetryPolicyBuilder};

impl RetryPolicy {
    /// For calls to a large language model.
    ///
    /// 3 attempts, base 1 s, delays up to 60 s, waits for a server up to 2 min, **all methods**: a completion is a POST
    /// whose only effect is its cost, and quota windows are mostly a minute long. Do not use it for calls that order,
    /// pay or send something. It has the gate: after a 429 all callers of the service wait together, each for at most 5
    /// min in all, and quota headers count from the first answer on. Up to 300 refused attempts count apart
    /// ([`max_refused`](crate::RetryPolicyBuilder::max_refused)), one for each second of these 5 min. Its classifier is
    /// [`LlmClassifier`], so it needs the feature `llm`.
    ///
    /// ```
    /// let worst = http_retry::RetryPolicy::llm().worst_case();
    /// assert_eq!(worst.attempts, Some(3));
    /// assert_eq!(worst.gated_attempts, 300);
    /// ```
    #[must_use]
    pub fn llm() -> Self {
        let builder = Preset::LLM.policy().to_builder();
        builder.dialect(LlmClassifier::new()).unchanged()
    }
}

impl RetryPolicyBuilder {
    /// Cuts the longest text of a request that is too long for the model, and sends it again. Default off: it loses
    /// text of the caller.
    ///
    /// Each cut is a retry without a wait, an event, and a line of the report. It does not cut encoded or signed
    /// bodies, or bodies without a copy in memory: with tower a body must be a `String` or a
    /// [`ReplayBody`](crate::ReplayBody).
    pub fn truncate(self, truncation: Truncation) -> Self {
        self.rewrite(truncation)
    }
}
