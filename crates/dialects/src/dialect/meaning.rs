//! The meaning of a response.

use super::at::{Location, LocationKind};
use http_retry_core::policy::{Pointer, Reason, Scope, Unit, Verdict};
use http_retry_core::reading::{OutcomeExt, RetryTime};
use http_retry_core::rules::BodyView;
use http_retry_core::{Class, ConfigError, Outcome, Reach};
use http_retry_rules::Condition;
use std::time::Duration;

/// The meaning of a response: its class, how far the request got, when to retry, and which calls a limit stops.
///
/// It starts from a class ([`throttled`](Self::throttled), [`transient`](Self::transient),
/// [`permanent`](Self::permanent) or [`success`](Self::success)); the rest is optional. An interpretation does not
/// decide on a retry: limits, backoff, budget, deadline and gate act on it as on any response.
///
/// ```
/// use http::{HeaderMap, HeaderValue, StatusCode};
/// use http_retry::dialect::{Dialect, Interpretation, Location, Row};
/// use http_retry::policy::Unit;
/// use http_retry::{Outcome, RetryPolicy};
/// use std::time::Duration;
///
/// let slow = Interpretation::throttled().delay(Location::header("x-wait-ms"), Unit::Ms).at_least(Duration::from_secs(1));
/// let shop = Dialect::named("shop").row(Row::when().status([503]).is(slow));
/// let policy = RetryPolicy::background().to_builder().dialect(shop).build()?;
///
/// let headers = HeaderMap::from_iter([("x-wait-ms".parse()?, HeaderValue::from_static("1500"))]);
/// let judged = policy.classify(Outcome::response(StatusCode::SERVICE_UNAVAILABLE, &headers));
/// assert_eq!(judged.server_delay(Duration::ZERO), Some(Duration::from_millis(1500)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Interpretation {
    /// The part that does not depend on the response.
    verdict: Verdict,
    delay: Vec<(LocationKind, Unit)>,
    at_least_from: Option<(LocationKind, Unit)>,
    /// The length of the limit's windows, which begin at multiples of it.
    window: Option<Duration>,
    scope_from: Option<LocationKind>,
    /// The scopes that apply if a condition holds; the first that does decides.
    scope_where: Vec<(Condition, Scope)>,
    pub(super) refused: Option<ConfigError>,
}

impl Interpretation {
    /// Creates an interpretation with this class and nothing more. A throttled response counts as refused, any other
    /// one as answered.
    pub fn of(class: Class) -> Self {
        let reach = match class {
            Class::Throttled => Reach::Refused,
            _ => Reach::Answered,
        };
        Self {
            verdict: Verdict::new(class, reach),
            delay: Vec::new(),
            at_least_from: None,
            window: None,
            scope_from: None,
            scope_where: Vec::new(),
            refused: None,
        }
    }

    /// The server asks for fewer requests and did not process this one: [`Reach::Refused`], unless
    /// [`Interpretation::answered`] is set.
    pub fn throttled() -> Self {
        Self::of(Class::Throttled)
    }

    /// The request failed, and may succeed a moment later. The server may have processed it, unless
    /// [`Interpretation::refused`] is set.
    pub fn transient() -> Self {
        Self::of(Class::Transient)
    }

    /// Repeating the same request cannot help, so the caller gets the response at once. The server may have processed
    /// the request.
    pub fn permanent() -> Self {
        Self::of(Class::Permanent)
    }

    /// The request succeeded, whatever the status: the caller gets the response.
    pub fn success() -> Self {
        Self::of(Class::Success)
    }

    /// The server did not process the request. Use it only if the service documents this, or rejects requests before
    /// any processing: a request that orders or pays is then sent again. A row that tests the body does not make a
    /// response refused if the body is truncated or ambiguous.
    pub fn refused(mut self) -> Self {
        self.verdict.reach = Reach::Refused;
        self
    }

    /// The server may have processed the request, so only a request that is safe to repeat is sent again. The default
    /// of all classes but `throttled`.
    pub fn answered(mut self) -> Self {
        self.verdict.reach = Reach::Answered;
        self
    }

    /// Adds a location of the delay, and the unit of a number there; if there are several locations, the latest time
    /// counts. A value that is missing or cannot be read in this unit is ignored. `Retry-After` and similar headers
    /// take precedence. If the response has a header at a location, the resets of quotas are ignored, so that no
    /// number is read in two units.
    ///
    /// A delay above the policy's [`max_server_delay`](http_retry_core::RetryPolicyBuilder::max_server_delay) ends the
    /// call, unless [`server_delays`](http_retry_core::RetryPolicyBuilder::server_delays) is set otherwise.
    pub fn delay(self, at: Location, unit: Unit) -> Self {
        self.with(at, |meaning, place| meaning.delay.push((place, unit)))
    }

    /// Sets the shortest delay, whatever the response names. It doubles with each retry, up to the policy's longest
    /// delay. Default none.
    pub fn at_least(self, least: Duration) -> Self {
        Self {
            verdict: self.verdict.at_least(least),
            ..self
        }
    }

    /// Sets the shortest delay to the longest duration at this location, such as the length of a limit's window. A date
    /// there is ignored. If [`at_least`](Self::at_least) is set as well, the longer of both counts.
    pub fn at_least_from(self, at: Location, unit: Unit) -> Self {
        self.with(at, |meaning, place| {
            meaning.at_least_from = Some((place, unit));
        })
    }

    /// Sets the shortest delay to the rest of the limit's window, of which each begins at a multiple of its length
    /// since 1970: with 15 minutes, at the full hour and at a quarter, half and three quarters past it. The time is
    /// that of the response's `date`; without one, the whole window is waited for. A window must be longer than 0.
    pub fn until_next(self, window: Duration) -> Self {
        let refused = window
            .is_zero()
            .then(|| ConfigError::new("window", "0", "must be longer than 0"));
        Self {
            window: Some(window),
            refused: self.refused.or(refused),
            ..self
        }
    }

    /// Sets which calls the limit stops, and thus which calls wait at a gate. Default [`Scope::Account`]: all calls
    /// that share the gate.
    pub fn scope(self, scope: Scope) -> Self {
        Self {
            verdict: self.verdict.scope(scope),
            ..self
        }
    }

    /// Sets the location of the limit's name, of 1 to 128 bytes. The limit stops the calls whose responses name the
    /// same limit. If a response does not name it, [`scope`](Self::scope) applies.
    pub fn scope_from(self, at: Location) -> Self {
        self.with(at, |meaning, place| meaning.scope_from = Some(place))
    }

    /// Sets the reason, in terms that the caller can act on, for reports and events. Default none.
    pub fn because(self, reason: Reason) -> Self {
        Self {
            verdict: self.verdict.because(reason),
            ..self
        }
    }

    /// Adds a scope that applies if a condition on the head, or on the body of a row that tests it, holds. The first
    /// one that holds precedes [`Interpretation::scope`].
    pub(super) fn scope_where(mut self, condition: Condition, scope: Scope) -> Self {
        self.scope_where.push((condition, scope));
        self
    }

    /// Prevents headers of the server, such as `x-should-retry`, from overruling it.
    pub(super) fn firm(mut self) -> Self {
        self.verdict.firm = true;
        self
    }

    fn with(mut self, at: Location, change: impl FnOnce(&mut Self, LocationKind)) -> Self {
        match at.0 {
            Ok(place) => change(&mut self, place),
            Err(error) => self.refused = self.refused.or(Some(error)),
        }
        self
    }

    /// Returns every location that it reads.
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
        self.verdict.class
    }

    pub(super) fn is_refused(&self) -> bool {
        self.verdict.reach == Reach::Refused
    }

    fn scope_of(&self, outcome: &Outcome<'_>) -> Option<Scope> {
        let holds = |condition: &Condition| condition.matches(outcome, BodyView::Body);
        let mut told = self.scope_where.iter();
        let told = told.find(|(condition, _)| holds(condition) == Some(true));
        told.map(|(_, scope)| *scope).or(self.verdict.scope)
    }

    /// Returns its verdict on this response.
    pub(super) fn verdict(&self, outcome: &Outcome<'_>) -> Verdict {
        let times = |(place, unit): &(LocationKind, Unit)| place.times(*unit, outcome);
        let named = self.at_least_from.iter().flat_map(times);
        let least = named.filter_map(|time| match time {
            RetryTime::In(delay) => Some(delay),
            _ => None,
        });
        let least = least
            .max()
            .max(self.window.map(|window| rest_of(window, outcome)));
        let scope = self.scope_from.as_ref();
        let mut verdict = self.verdict;
        verdict.at_least = verdict.at_least.max(least);
        verdict.scope = scope
            .and_then(|place| place.scope(outcome))
            .or_else(|| self.scope_of(outcome));
        let mut delays = self.delay.iter();
        verdict.ignores_resets = delays.any(|(place, _)| place.is_in_head(outcome));
        let delays = self.delay.iter().flat_map(times);
        // A limit that asks for no wait has not named a time.
        let is_none = |time: &RetryTime| {
            verdict.class == Class::Throttled && *time == RetryTime::In(Duration::ZERO)
        };
        let delays: Vec<RetryTime> = delays.filter(|time| !is_none(time)).collect();
        delays.into_iter().fold(verdict, Verdict::asking_for)
    }
}

/// Returns the time until the next multiple of a window, at the time of a response.
fn rest_of(window: Duration, outcome: &Outcome<'_>) -> Duration {
    let (length, now) = (
        window.as_nanos(),
        outcome.sent_at().unwrap_or_default().as_nanos(),
    );
    let gone = now.checked_rem(length).unwrap_or_default();
    let rest = u64::try_from(length.saturating_sub(gone)).unwrap_or(u64::MAX);
    Duration::from_nanos(rest)
}
