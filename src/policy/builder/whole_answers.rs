//! What a builder takes of answers that are read before they are handed over.

use super::RetryPolicyBuilder;

impl RetryPolicyBuilder {
    /// Reads an answer that is a success by its head to its end before the caller gets it, as long as it has at most so
    /// many bytes: a body that is cut, reset or stalled is then a failed attempt. Default 0, off; at most 64 MiB.
    ///
    /// The whole body is held in memory, and [`attempt_timeout`](Self::attempt_timeout) and the deadline cover the
    /// reading. A body that is longer, or that goes on (an event stream, lines of JSON, gRPC), is handed over as it comes.
    /// A server that has answered has processed the request, so a request that is not idempotent is not repeated after a
    /// broken body; the caller then gets the head, the bytes that came, and the error.
    /// [The guide](crate::docs::guide#whole-answers) has the rules.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    ///
    /// let policy = RetryPolicy::background().to_builder().whole_answers(2 << 20).build()?;
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn whole_answers(self, bytes: usize) -> Self {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.with(|settings| settings.whole_answers = bytes)
    }
}
