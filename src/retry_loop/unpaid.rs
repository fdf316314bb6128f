//! A retry that a fleet is asked for, and what is kept until it answers.

use super::late::Late;
use super::reading::Found;
use super::{Saved, Transport};
use crate::policy::{ErrorBody, Moment, Outcome, RetryPlan, ServerHints};

/// A plan that nobody has paid for yet, and the judged outcome that it follows.
pub(super) struct Question {
    pub(super) plan: RetryPlan,
    pub(super) judged: Outcome<'static>,
    pub(super) at: Moment,
}

/// What is known of an attempt whose retry is asked for.
pub(super) struct Unpaid<T: Transport> {
    pub(super) question: Box<Question>,
    pub(super) hints: ServerHints,
    pub(super) found: Found,
    pub(super) result: Result<T::Response, T::Error>,
    pub(super) saved: Option<Box<Saved<T>>>,
}

/// The same of an attempt whose time is up.
pub(super) struct UnpaidLate<T: Transport> {
    pub(super) question: Box<Question>,
    pub(super) words: ErrorBody,
    pub(super) late: Late,
    pub(super) saved: Option<Box<Saved<T>>>,
}
