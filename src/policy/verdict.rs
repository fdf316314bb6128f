//! What a classifier says of an outcome.

use super::classify::{Class, Reach};
use super::outcome::Outcome;
use super::reason::Reason;
use std::time::Duration;

/// What a classifier says of an outcome: what it means for a retry, and what it has found out on the way.
///
/// A pair of class and reach is a verdict without more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// What the outcome means for a retry.
    pub class: Class,
    /// How far the attempt got.
    pub reach: Reach,
    /// Why, as far as the caller can act on it.
    pub reason: Option<Reason>,
    /// How long the server asks to wait in the body of its answer; a header that says so comes first.
    pub asked: Option<Duration>,
    /// Whether a rate limit is one of all calls under the same credential, which then wait together at the gate. Default
    /// yes; a limit that other customers use up is not.
    pub shared: bool,
}

impl Verdict {
    /// A verdict without a reason.
    #[must_use]
    pub fn new(class: Class, reach: Reach) -> Self {
        Self {
            class,
            reach,
            reason: None,
            asked: None,
            shared: true,
        }
    }

    /// The same verdict with its reason.
    #[must_use]
    pub fn because(self, reason: Reason) -> Self {
        Self {
            reason: Some(reason),
            ..self
        }
    }

    /// The same verdict with the wait that the body of the answer asks for.
    #[must_use]
    pub fn asking_for(self, asked: Duration) -> Self {
        Self {
            asked: Some(asked),
            ..self
        }
    }
}

impl From<(Class, Reach)> for Verdict {
    fn from((class, reach): (Class, Reach)) -> Self {
        Self::new(class, reach)
    }
}

/// Judges outcomes in front of the standard tables; a policy has at most one.
///
/// It is asked once for each attempt, and once more only with new evidence: where a rule of the policy had the body of the
/// answer read, or the words of the error, and where an attempt that ran out of time could not be cut and ended after
/// all.
///
/// A closure is one by [`RetryPolicyBuilder::classify`](crate::RetryPolicyBuilder::classify).
pub trait Classify: Send + Sync + 'static {
    /// What the outcome means; `None` leaves it as the standard tables have it. It must not panic.
    fn classify(&self, outcome: &Outcome<'_>) -> Option<Verdict>;

    /// Whether it must see the start of the answer's body to judge this outcome. Default no.
    ///
    /// Where it must, up to 64 KiB are read, for at most 2 s; whoever gets the answer gets all of it all the same. It judges
    /// only then.
    fn reads_body(&self, outcome: &Outcome<'_>) -> bool {
        let _ = outcome;
        false
    }
}

/// A closure as a classifier.
pub(super) struct ByFunction<F>(pub(super) F);

impl<F> Classify for ByFunction<F>
where
    F: Fn(&Outcome<'_>) -> Option<Verdict> + Send + Sync + 'static,
{
    fn classify(&self, outcome: &Outcome<'_>) -> Option<Verdict> {
        (self.0)(outcome)
    }
}
