//! Who judges outcomes before the standard tables.

use super::outcome::Outcome;
use super::verdict::Verdict;

/// Judges outcomes before the standard tables; a policy has at most one.
///
/// It is for what neither a rule ([`rules`](super::rules)) nor a row of a dialect
/// ([`Dialect`](crate::dialect::Dialect)) can say. It sees no clock and does no I/O.
///
/// It runs once for each attempt, and again only with new evidence: after a rule of the policy has read the answer's
/// body or the error's message, and after an attempt that ran out of time could not be cut and has ended.
///
/// [`RetryPolicyBuilder::classify`](crate::RetryPolicyBuilder::classify) takes a closure instead.
pub trait Classify: Send + Sync + 'static {
    /// What the outcome means; `None` leaves it to the policy's dialect and the standard tables. A [`Class::Success`] for an
    /// error counts as `None`, since there is no answer to hand over. It must not panic.
    ///
    /// [`Class::Success`]: crate::Class::Success
    fn classify(&self, outcome: &Outcome<'_>) -> Option<Verdict>;

    /// Whether it needs the start of the answer's body to judge this outcome. Default no.
    ///
    /// If so, the layer first reads up to 64 KiB, for at most 2 s, and [`Outcome::body`] holds what it read; the caller
    /// still gets all of the answer.
    ///
    /// ```
    /// use http::StatusCode;
    /// use http_retry::policy::{Classify, Scope, Verdict};
    /// use http_retry::{Class, Outcome, Reach};
    ///
    /// struct Ours;
    ///
    /// impl Classify for Ours {
    ///     fn reads_body(&self, outcome: &Outcome<'_>) -> bool {
    ///         outcome.status() == Some(StatusCode::CONFLICT)
    ///     }
    ///
    ///     fn classify(&self, outcome: &Outcome<'_>) -> Option<Verdict> {
    ///         let code = outcome.body()?.json("/error/code").next()?;
    ///         let busy = Verdict::new(Class::Throttled, Reach::Refused).scope(Scope::Account);
    ///         (code == "busy").then_some(busy)
    ///     }
    /// }
    /// ```
    fn reads_body(&self, outcome: &Outcome<'_>) -> bool {
        let _ = outcome;
        false
    }
}

/// A closure as a classifier.
pub(crate) struct ByFunction<F>(pub(crate) F);

impl<F> Classify for ByFunction<F>
where
    F: Fn(&Outcome<'_>) -> Option<Verdict> + Send + Sync + 'static,
{
    fn classify(&self, outcome: &Outcome<'_>) -> Option<Verdict> {
        (self.0)(outcome)
    }
}
