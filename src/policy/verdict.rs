//! A classifier's verdict on an outcome.

use super::classify::{Class, Reach};
use super::outcome::Outcome;
use super::reason::Reason;
use std::time::Duration;

/// A classifier's verdict on an outcome: what it means for a retry, and what else the classifier found.
///
/// A pair of class and reach is a verdict with nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// What the outcome means for a retry.
    pub class: Class,
    /// How far the attempt got.
    pub reach: Reach,
    /// The reason, in terms that the caller can act on.
    pub reason: Option<Reason>,
    /// The wait that the server asks for in the body of its answer; a header takes precedence.
    pub asked: Option<Duration>,
    /// Whether a rate limit applies to all calls with the same credential, which then wait together at the gate.
    /// Default yes; no for a limit that other customers use up.
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

/// Judges outcomes before the standard tables; a policy has at most one.
///
/// It runs once for each attempt, and again only with new evidence: after a rule of the policy has read the answer's
/// body or the error's message, and after an attempt that ran out of time could not be cut and has ended.
///
/// [`RetryPolicyBuilder::classify`](crate::RetryPolicyBuilder::classify) takes a closure instead.
pub trait Classify: Send + Sync + 'static {
    /// What the outcome means; `None` leaves it to the standard tables. It must not panic.
    fn classify(&self, outcome: &Outcome<'_>) -> Option<Verdict>;

    /// Whether it needs the start of the answer's body to judge this outcome. Default no.
    ///
    /// If so, the layer first reads up to 64 KiB, for at most 2 s; the caller still gets all of the answer.
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
