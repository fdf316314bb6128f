//! Answers of LLM APIs: what every 429 means, requests that are too long, and streams that fail before they begin.
//!
//! With the feature `llm` on, [`RetryPolicy::llm`] judges by [`LlmClassifier`]. The rest is off unless asked for:
//!
//! ```
//! use http_retry::RetryPolicy;
//! use http_retry::llm::{HoldStreams, Keep, Truncation};
//!
//! let policy = RetryPolicy::llm()
//!     .to_builder()
//!     .truncate(Truncation::new(Keep::Tail))
//!     .hold_streams(HoldStreams::new())
//!     .build()?;
//! # Ok::<(), http_retry::ConfigError>(())
//! ```

mod classifier;
mod codes;
mod context;
mod counts;
mod hold;
mod judge;
mod stream;
#[cfg(test)]
mod tests;
mod truncate;
mod truncation;
mod window;

pub use classifier::LlmClassifier;
pub use hold::HoldStreams;
pub use truncate::Keep;
pub use truncation::Truncation;

use crate::policy::{Preset, RetryPolicy, RetryPolicyBuilder};

impl RetryPolicy {
    /// For calls to a large language model.
    ///
    /// 3 attempts, base 1 s, delays up to 60 s, a server's wish up to 2 min, **all methods**: a completion is a POST
    /// without an effect but its cost, and its quota windows are mostly a minute long. Do not use it for calls that
    /// order, pay or send something. The gate is on: after a 429 all callers of the service wait together, each for at
    /// most 5 min in all. With the feature `llm` its classifier is `llm::LlmClassifier`.
    #[must_use]
    pub fn llm() -> Self {
        let builder = Preset::LLM.policy().to_builder();
        builder.classifier(LlmClassifier::new()).unchanged()
    }
}

impl RetryPolicyBuilder {
    /// Cuts the longest text of a request that is too long for the model, and sends it again. Default off: it loses what
    /// the caller wrote.
    ///
    /// Each cut is a retry that waits for nothing, an event, and a line of the report. Bodies that are encoded or signed
    /// are left alone, and so are those of which no copy in memory is at hand: with tower a body must be a `String` or a
    /// [`ReplayBody`](crate::ReplayBody).
    pub fn truncate(self, truncation: Truncation) -> Self {
        self.rewrite(truncation)
    }

    /// Holds back the start of streamed answers until their first output, so that a stream that begins with an error is
    /// retried. Default off: the answer is the caller's from its head on.
    ///
    /// A stream is held for at most 10 min, or as [`HoldStreams::first_event_timeout`] says; a time of 0 is an error at
    /// `build`.
    pub fn hold_streams(self, hold: HoldStreams) -> Self {
        self.streams(hold)
    }
}
