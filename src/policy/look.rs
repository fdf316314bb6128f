//! Looking into a body as it comes in.

use super::outcome::Outcome;
use super::verdict::Verdict;
use std::ops::ControlFlow;
use std::time::Duration;

/// A look at a body, piece by piece, that says when it has seen enough.
pub(crate) type Inspect<'a> = dyn FnMut(&[u8]) -> ControlFlow<()> + Send + 'a;

/// Why a look at a body, or the reading of one, has ended.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Inspected {
    /// It has seen enough, or as much as may be read.
    Enough,
    /// The body is at its end.
    AtTheEnd,
    /// A look met the body's error, which its caller still gets.
    AtAnError,
    /// The time is up.
    TimeIsUp,
}

/// Holds back the start of streamed answers, which may turn out to be failures.
pub(crate) trait StreamHolder: Send + Sync {
    /// A look at this answer, if it is a stream that may.
    fn hold(&self, outcome: &Outcome<'_>) -> Option<Box<dyn InspectStream>>;

    /// How long it may hold one back.
    fn first_event_timeout(&self) -> Option<Duration>;
}

/// A look at the start of a stream.
pub(crate) trait InspectStream: Send {
    /// Sees the next piece, and says whether that is enough.
    fn see(&mut self, data: &[u8]) -> ControlFlow<()>;

    /// What the stream turned out to be, if not the answer.
    fn verdict(&mut self, looked: Inspected) -> Option<Verdict>;
}
