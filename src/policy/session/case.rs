//! What a session decides about.

use crate::policy::RetryPolicy;
use crate::policy::moment::Moment;
use crate::policy::outcome::Outcome;
use crate::policy::rules::By;

/// One outcome, and by what it is judged.
#[derive(Clone, Copy)]
pub(super) struct Case<'a> {
    pub(super) outcome: &'a Outcome<'a>,
    pub(super) moment: Moment,
    pub(super) by: By,
    /// The policy in charge.
    pub(super) policy: &'a RetryPolicy,
}

impl Case<'_> {
    /// Whether a rule wants the retry, whatever the outcome's class.
    pub(super) fn is_told(&self) -> bool {
        self.by != By::Policy
    }
}
