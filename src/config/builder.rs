//! What code gives names to, for documents that use them.

use super::names::Names;
use super::{ConfigErrors, Document, RetryConfig};
use crate::report::DeadLetters;
use serde::de::DeserializeOwned;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Names observers and schedules from code, and loads a document that uses them.
#[derive(Clone, Default)]
#[must_use]
pub struct RetryConfigBuilder {
    names: Names,
}

impl RetryConfigBuilder {
    /// Gives a name to an observer, for `on_exhausted: {dead_letter: NAME}`.
    pub fn dead_letters(mut self, name: impl Into<Arc<str>>, to: impl DeadLetters) -> Self {
        self.names.dead_letters.insert(name.into(), Arc::new(to));
        self
    }

    /// Gives a name to a schedule, for `backoff: {custom: NAME, args: ARGS}`. The function makes a schedule from the
    /// arguments, and the schedule returns the ceiling before retry n = 1, 2, and so on; the document sets jitter and
    /// the longest delay. Neither must panic.
    ///
    /// ```
    /// use http_retry::config::{Document, RetryConfig};
    /// use std::time::Duration;
    ///
    /// let document: Document = serde_json::from_str(
    ///     r#"{"version": 1, "retry": {"backoff": {"custom": "squares", "args": {"unit_ms": 100}}}}"#,
    /// )?;
    /// #[derive(serde::Deserialize)]
    /// struct Squares { unit_ms: u64 }
    ///
    /// let config = RetryConfig::builder()
    ///     .backoff("squares", |args: Squares| {
    ///         move |n| Duration::from_millis(args.unit_ms).saturating_mul(n.saturating_mul(n))
    ///     })
    ///     .load(&document)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn backoff<A, F>(
        mut self,
        name: impl Into<Arc<str>>,
        make: impl Fn(A) -> F + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned,
        F: Fn(u32) -> Duration + Send + Sync + 'static,
    {
        self.names.add_backoff(name.into(), make);
        self
    }

    /// Puts a document into force.
    ///
    /// # Errors
    ///
    /// Every problem of the document, each with its place.
    pub fn load(self, document: &Document) -> Result<RetryConfig, ConfigErrors> {
        RetryConfig::with_names(document, self.names)
    }
}

impl fmt::Debug for RetryConfigBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryConfigBuilder")
            .field("dead_letters", &self.names.dead_letters.keys())
            .field("backoffs", &self.names.backoffs.keys())
            .finish()
    }
}
