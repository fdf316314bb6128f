//! Reading the start of a response's body as it arrives.

use super::outcome::Outcome;
use super::verdict::Verdict;
use std::ops::ControlFlow;
use std::time::Duration;

/// A function that looks at a body, chunk by chunk, and breaks once it has seen enough.
pub type Inspect<'a> = dyn FnMut(&[u8]) -> ControlFlow<()> + Send + 'a;

/// The reason for ending the read of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Inspected {
    /// The reader has seen enough, or 8,192 frames.
    Enough,
    /// The body has ended.
    AtTheEnd,
    /// The body failed. The caller still gets the error if the response is handed over.
    AtAnError,
    /// The time was up.
    TimeIsUp,
}

/// Chooses the responses that are held back until a [`BodyProbe`] has read their start.
///
/// `llm::HoldStreams` chooses the streams of LLM APIs; a type of your own can do the same for another protocol whose
/// failures come after a 200. [`RetryPolicyBuilder::hold_streams`](crate::RetryPolicyBuilder::hold_streams) sets it.
///
/// ```
/// use http_retry::policy::{BodyProbe, Inspected, StreamHolder, Verdict};
/// use http_retry::{Class, Outcome, Reach, RetryPolicy};
/// use std::ops::ControlFlow;
/// use std::time::Duration;
///
/// /// Exports begin with a line `ok`, or fail with any other line.
/// struct Exports;
///
/// struct FirstLine(Vec<u8>);
///
/// impl StreamHolder for Exports {
///     fn hold(&self, outcome: &Outcome<'_>) -> Option<Box<dyn BodyProbe>> {
///         let is_export = outcome.media_type() == Some("text/x-export");
///         is_export.then(|| Box::new(FirstLine(Vec::new())) as Box<dyn BodyProbe>)
///     }
///
///     fn first_event_timeout(&self) -> Option<Duration> {
///         Some(Duration::from_secs(30))
///     }
/// }
///
/// impl BodyProbe for FirstLine {
///     fn push(&mut self, chunk: &[u8]) -> ControlFlow<()> {
///         self.0.extend_from_slice(chunk);
///         let is_enough = self.0.contains(&b'\n') || self.0.len() > 1024;
///         if is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
///     }
///
///     fn verdict(&mut self, _: Inspected) -> Option<Verdict> {
///         let failed = Verdict::new(Class::Transient, Reach::Ambiguous);
///         (!self.0.starts_with(b"ok\n")).then_some(failed)
///     }
/// }
///
/// let policy = RetryPolicy::background().to_builder().hold_streams(Exports).build()?;
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
pub trait StreamHolder: Send + Sync {
    /// Returns the probe for this response, or `None` to hand the response over at its head. It is called for responses
    /// that are successes so far, and only if a retry may still follow.
    fn hold(&self, outcome: &Outcome<'_>) -> Option<Box<dyn BodyProbe>>;

    /// Returns the longest time for which a probe reads, above 0, or `None` to leave it to the limits of the attempt.
    /// `build` refuses 0.
    fn first_event_timeout(&self) -> Option<Duration>;
}

/// Reads the start of one response's body, and judges the response by it.
///
/// The caller gets the whole body, unless the verdict leads to a retry. The bytes read stay in memory until then, so a
/// probe must break after a number of bytes of its own choice. [`StreamHolder`] has an example.
pub trait BodyProbe: Send {
    /// Reads the next bytes of the body, in order; returns `Break` once it has seen enough. It must not panic.
    fn push(&mut self, chunk: &[u8]) -> ControlFlow<()>;

    /// Returns the verdict on the response, or `None` if it is what the caller asked for. It is called once, after the
    /// last chunk.
    fn verdict(&mut self, end: Inspected) -> Option<Verdict>;
}
