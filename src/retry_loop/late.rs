//! How an attempt with a time limit ends.

use super::planned::Planned;
use super::{Saved, Transport};
use crate::error::AttemptTimeout;
use crate::nested::AttemptMark;
use crate::policy::{Attempt, Moment, Stop};
use std::time::Duration;

/// How long an attempt may take, and when it must be over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limit {
    pub(super) most: Duration,
    until: Duration,
}

impl Limit {
    /// That of an attempt, if it has one.
    pub(super) fn of(attempt: Attempt, started: Duration) -> Option<Self> {
        let most = attempt.limit()?;
        let until = started.saturating_add(most);
        Some(Self { most, until })
    }

    pub(super) fn left(self, now: Duration) -> Duration {
        self.until.saturating_sub(now)
    }
}

/// How an attempt that may have a time limit ended.
pub(super) enum Sent<T: Transport> {
    Done(Result<T::Response, T::Error>, Option<Box<Saved<T>>>),
    Cut(Cut<T>),
}

/// What follows from an attempt that is cut.
pub(super) enum Cut<T: Transport> {
    Retry(Planned, Option<T::Error>, Box<Saved<T>>),
    Stop(T::Error, Stop),
}

/// What follows from an attempt whose time is up.
pub(super) enum TimeIsUp<T: Transport> {
    Cut(Cut<T>),
    /// The client's error type cannot say it.
    Unsaid(Stop, Option<Box<Saved<T>>>),
}

/// When and how an attempt ran out of time.
#[derive(Clone, Copy)]
pub(super) struct Late {
    pub(super) error: AttemptTimeout,
    /// The answer was not whole.
    pub(super) answered: bool,
    pub(super) at: Moment,
}

/// How far an attempt got in its time.
#[derive(Clone, Copy)]
pub(super) enum Until<'a> {
    /// Nothing was answered; what was seen of redirects.
    NoAnswer(&'a AttemptMark),
    /// The answer was not whole.
    AnAnswer,
}
