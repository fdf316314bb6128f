//! What an answer means.

use super::at::{Location, LocationKind};
use http_retry_core::ConfigError;
use http_retry_core::policy::rules::{Condition, Evidence};
use http_retry_core::policy::{
    Class, Outcome, Pointer, Reach, Reason, RetryTime, Scope, Unit, Verdict,
};
use std::time::Duration;

/// What an answer means: its class, how far the request got, when to come back, and whom a limit stops.
///
/// It starts from a class ([`throttled`](Self::throttled), [`transient`](Self::transient), [`permanent`](Self::permanent) or
/// [`success`](Self::success)); the rest is optional. It decides nothing by itself: limits, backoff, budget, deadline and
/// gate act on it as on any answer.
///
/// ```
/// use http::{HeaderMap, HeaderValue, StatusCode};
/// use http_retry::dialect::{Dialect, Interpretation, Location, Row};
/// use http_retry::policy::Unit;
/// use http_retry::{Outcome, RetryPolicy};
/// use std::time::Duration;
///
/// let slow = Interpretation::throttled().delay(Location::head("x-wait-ms"), Unit::Ms).at_least(Duration::from_secs(1));
/// let shop = Dialect::named("shop").row(Row::when().status([503]).is(slow));
/// let policy = RetryPolicy::background().to_builder().dialect(shop).build()?;
///
/// let headers = HeaderMap::from_iter([("x-wait-ms".parse().unwrap(), HeaderValue::from_static("1500"))]);
/// let judged = policy.classify(Outcome::response(StatusCode::SERVICE_UNAVAILABLE, &headers));
/// assert_eq!(judged.server_delay(Duration::ZERO), Some(Duration::from_millis(1500)));
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Interpretation {
    class: Class,
    reach: Reach,
    delay: Vec<(LocationKind, Unit)>,
    at_least: Option<Duration>,
    at_least_from: Option<(LocationKind, Unit)>,
    scope: Option<Scope>,
    scope_from: Option<LocationKind>,
    reason: Option<Reason>,
    /// Whom it stops where this holds.
    scope_where: Option<(Condition, Scope)>,
    /// No header of the server takes it back.
    firm: bool,
    pub(super) refused: Option<ConfigError>,
}

impl Interpretation {
    /// Of this class, and nothing more. A throttled response is refused, any other one answered.
    pub fn of(class: Class) -> Self {
        Self {
            class,
            reach: match class {
                Class::Throttled => Reach::Refused,
                _ => Reach::Answered,
            },
            delay: Vec::new(),
            at_least: None,
            at_least_from: None,
            scope: None,
            scope_from: None,
            reason: None,
            scope_where: None,
            firm: false,
            refused: None,
        }
    }

    /// The server asks for less, and did not do what was asked: [`Reach::Refused`], unless [`Interpretation::answered`] says
    /// that it may have.
    pub fn throttled() -> Self {
        Self::of(Class::Throttled)
    }

    /// It failed, and the same request may succeed a moment later; the server may have done it, unless
    /// [`Interpretation::refused`] says that it has not.
    pub fn transient() -> Self {
        Self::of(Class::Transient)
    }

    /// Repeating the same request cannot help: the caller gets the answer at once. The server may have done what was asked.
    pub fn permanent() -> Self {
        Self::of(Class::Permanent)
    }

    /// The caller has what it asked for, whatever the status says: it is handed over.
    pub fn success() -> Self {
        Self::of(Class::Success)
    }

    /// The server did not do what was asked. Say so only if the service says so, or turns requests away at its door: a
    /// request that orders or pays is then sent again. An answer whose body breaks off or can be read in two ways is not
    /// refused by a row that looks at the body.
    pub fn refused(self) -> Self {
        Self {
            reach: Reach::Refused,
            ..self
        }
    }

    /// The server may have done what was asked: only a request that does no harm twice is sent again. The default of all
    /// classes but `throttled`.
    pub fn answered(self) -> Self {
        Self {
            reach: Reach::Answered,
            ..self
        }
    }

    /// Where the answer says when to come back, and what a number there counts in; of several places the latest time counts.
    /// What is not there, or cannot be read in this unit, says nothing. `Retry-After` and its kin go before it. A place in
    /// the head takes the place of the resets of quotas, so that a number is not read in two units.
    ///
    /// A longer wait than the policy's [`max_server_delay`](http_retry_core::RetryPolicyBuilder::max_server_delay) stops the request,
    /// unless [`server_delays`](http_retry_core::RetryPolicyBuilder::server_delays) says otherwise.
    pub fn delay(self, at: Location, unit: Unit) -> Self {
        self.with(at, |meaning, place| meaning.delay.push((place, unit)))
    }

    /// The shortest wait, whatever the answer says; it doubles with each repetition, up to the policy's longest delay.
    /// Default none.
    pub fn at_least(self, least: Duration) -> Self {
        Self {
            at_least: Some(least),
            ..self
        }
    }

    /// The shortest wait as the answer names it: the longest duration that stands at this place, such as the length of a
    /// limit's window. A date there says nothing. With [`at_least`](Self::at_least) the longer of both counts.
    pub fn at_least_from(self, at: Location, unit: Unit) -> Self {
        self.with(at, |meaning, place| {
            meaning.at_least_from = Some((place, unit));
        })
    }

    /// Whom the limit stops, and so which calls wait at a gate. Default [`Scope::Account`]: all that share the gate.
    pub fn scope(self, scope: Scope) -> Self {
        Self {
            scope: Some(scope),
            ..self
        }
    }

    /// Where the answer names the limit, in 1 to 128 bytes: it stops those whose answers name the same one. An answer that does
    /// not name it stops whom [`scope`](Self::scope) says.
    pub fn scope_from(self, at: Location) -> Self {
        self.with(at, |meaning, place| meaning.scope_from = Some(place))
    }

    /// Why, in terms that the caller can act on: reports and events have it. Default none.
    pub fn because(self, reason: Reason) -> Self {
        Self {
            reason: Some(reason),
            ..self
        }
    }

    /// Whom the limit stops where a condition on the body holds.
    pub(super) fn scope_where(self, condition: Condition, scope: Scope) -> Self {
        Self {
            scope_where: Some((condition, scope)),
            ..self
        }
    }

    /// No header of the server takes it back, as `x-should-retry` does otherwise.
    pub(super) fn firm(self) -> Self {
        Self { firm: true, ..self }
    }

    fn with(mut self, at: Location, change: impl FnOnce(&mut Self, LocationKind)) -> Self {
        match at.0 {
            Ok(place) => change(&mut self, place),
            Err(error) => self.refused = self.refused.or(Some(error)),
        }
        self
    }

    /// Every place of an answer that it looks at.
    fn places(&self) -> impl Iterator<Item = &LocationKind> {
        let delays = self.delay.iter().chain(&self.at_least_from);
        delays.map(|(place, _)| place).chain(&self.scope_from)
    }

    pub(super) fn needs_the_body(&self) -> bool {
        self.places().any(LocationKind::is_in_the_body)
    }

    pub(super) fn pointers(&self) -> impl Iterator<Item = &Pointer> {
        self.places().filter_map(LocationKind::pointer)
    }

    #[cfg(test)]
    pub(super) fn class(&self) -> Class {
        self.class
    }

    pub(super) fn is_refused(&self) -> bool {
        self.reach == Reach::Refused
    }

    fn scope_of(&self, outcome: &Outcome<'_>) -> Option<Scope> {
        let told = self.scope_where.as_ref();
        let holds = |condition: &Condition| condition.matches(outcome, Evidence::Body);
        let told = told.filter(|(condition, _)| holds(condition) == Some(true));
        told.map(|(_, scope)| *scope).or(self.scope)
    }

    /// What it means for this answer.
    pub(super) fn verdict(&self, outcome: &Outcome<'_>) -> Verdict {
        let times = |(place, unit): &(LocationKind, Unit)| place.times(*unit, outcome);
        let named = self.at_least_from.iter().flat_map(times);
        let least = named.filter_map(|time| match time {
            RetryTime::In(delay) => Some(delay),
            _ => None,
        });
        let least = least.max();
        let scope = self.scope_from.as_ref();
        let mut verdict = Verdict::new(self.class, self.reach);
        verdict.reason = self.reason;
        verdict.at_least = self.at_least.max(least);
        verdict.scope = scope
            .and_then(|place| place.scope(outcome))
            .or_else(|| self.scope_of(outcome));
        if self.firm {
            verdict = verdict.firm();
        }
        if self.delay.iter().any(|(place, _)| !place.is_in_the_body()) {
            verdict = verdict.ignoring_resets();
        }
        let delays: Vec<RetryTime> = self.delay.iter().flat_map(times).collect();
        delays.into_iter().fold(verdict, Verdict::asking)
    }
}
