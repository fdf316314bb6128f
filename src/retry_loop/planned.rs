//! What follows from an attempt: the end of the request, or a retry that is paid for.

use super::{Saved, Transport};
use crate::budget::PaidRetry;
use crate::policy::{By, ErrorKind, Moment, Outcome, Stop, StopReason};
use std::time::Duration;

/// A retry that is paid for, and when it is due.
pub(super) struct Planned {
    pub(super) paid: PaidRetry,
    pub(super) due: Duration,
    /// The connection of the attempt before it may be dead.
    pub(super) leaves: bool,
}

impl Planned {
    pub(super) fn new(paid: PaidRetry, outcome: &Outcome<'_>, at: Moment) -> Self {
        let due = at.now.saturating_add(paid.delay());
        let kind = outcome.error_kind();
        let leaves = kind.is_some_and(ErrorKind::is_of_connection);
        Self { paid, due, leaves }
    }

    pub(super) fn by(&self) -> By {
        self.paid.plan().by
    }

    /// The end of the request where this cannot be sent.
    pub(super) fn stop(&self, why: StopReason) -> Stop {
        self.paid.plan().refused(why)
    }

    pub(super) fn without_a_body(&self) -> Stop {
        self.stop(StopReason::BodyNotReplayable)
    }
}

/// What follows from an attempt.
pub(super) enum Step<T: Transport> {
    Stop(Result<T::Response, T::Error>, Stop),
    Retry {
        planned: Planned,
        /// Nothing where the attempt was cut short and the client's error type cannot say that.
        last: Option<Result<T::Response, T::Error>>,
        saved: Box<Saved<T>>,
    },
}
