//! Looking into a body as it comes in.

use super::outcome::Outcome;
use super::verdict::Verdict;
use std::ops::ControlFlow;
use std::time::Duration;

/// Looks at a body as it comes in, and says when it has seen enough.
#[doc(hidden)]
#[cfg_attr(
    not(any(feature = "tower", feature = "reqwest")),
    expect(unreachable_pub, reason = "a trait of the adapters names it")
)]
pub trait Inspect: Send {
    #[cfg_attr(
        not(any(feature = "tower", feature = "reqwest")),
        allow(dead_code, reason = "adapters alone have bodies; a box calls it too")
    )]
    fn see(&mut self, data: &[u8]) -> ControlFlow<()>;
}

impl Inspect for Box<dyn InspectStream> {
    fn see(&mut self, data: &[u8]) -> ControlFlow<()> {
        (**self).see(data)
    }
}

/// Why a look at a body has ended.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[cfg_attr(
    not(any(feature = "tower", feature = "reqwest")),
    expect(dead_code, unreachable_pub, reason = "adapters alone have bodies")
)]
pub enum Inspected {
    /// It has seen enough.
    Enough,
    /// There is no more to see: the body is at its end, or has failed.
    AtTheEnd,
    /// The time is up.
    TimeIsUp,
}

/// Holds back the start of streamed answers, which may turn out to be failures.
pub(crate) trait HoldStreams: Send + Sync {
    /// A look at this answer, if it is a stream that may.
    fn hold(&self, outcome: &Outcome<'_>) -> Option<Box<dyn InspectStream>>;

    /// How long it may hold one back.
    fn first_event_timeout(&self) -> Option<Duration>;
}

/// A look at the start of a stream.
pub(crate) trait InspectStream: Inspect {
    /// What the stream turned out to be, if not the answer.
    fn verdict(&mut self, looked: Inspected) -> Option<Verdict>;
}
