//! One request's way through a policy: outcomes in, decisions out.

use super::classify::Class;
use super::decision::{Cost, Decision, DelaySource, RetryPlan, StopReason};
use super::moment::{Moment, nanos, second, uniform};
use super::outcome::{Outcome, RequestFacts};
use super::request_override::RetryOverride;
use super::{Methods, RetryPolicy};
use std::time::Duration;

/// The state of one request: how many retries were planned, and until when it may go on.
///
/// A session asks nobody for the time or for randomness: both come with each call, so the same calls give the same
/// decisions.
///
/// ```
/// use http::{HeaderMap, Method, StatusCode};
/// use http_retry::policy::{Decision, Moment};
/// use http_retry::{Outcome, RequestFacts, RetryPolicy, StopReason};
/// use std::time::Duration;
///
/// let headers = HeaderMap::new();
/// let policy = RetryPolicy::user_facing();
/// let mut session = policy.session(RequestFacts::of(&Method::GET, &headers), Duration::ZERO);
///
/// let unavailable = Outcome::response(StatusCode::SERVICE_UNAVAILABLE, &headers);
/// let moment = Moment::new(Duration::from_millis(30));
/// assert!(matches!(session.on_outcome(&unavailable, moment), Decision::Retry(_)));
/// let second = session.on_outcome(&unavailable, moment);
/// assert!(matches!(second, Decision::Stop(StopReason::AttemptsExhausted)));
/// ```
#[derive(Debug, Clone)]
pub struct RetrySession {
    policy: RetryPolicy,
    facts: RequestFacts,
    max_retries: u32,
    deadline: Option<Duration>,
    standing_aside: Option<StopReason>,
    retries: u32,
    previous: Duration,
}

/// How far a spread goes at most beyond what the server asked for.
const MAX_SPREAD: Duration = Duration::from_secs(10);
/// The part of what the server asked for that a spread adds at most: one in five.
const SPREAD_PART: u128 = 5;

impl RetrySession {
    pub(super) fn new(policy: RetryPolicy, facts: RequestFacts, started: Duration) -> Self {
        let settings = &policy.0;
        let idempotent = facts.is_idempotent() || settings.methods == Methods::All;
        Self {
            facts: facts.idempotent(idempotent),
            max_retries: settings.max_retries,
            deadline: settings
                .deadline
                .map(|deadline| started.saturating_add(deadline)),
            standing_aside: None,
            retries: 0,
            previous: Duration::ZERO,
            policy,
        }
    }

    /// The same session, with what the request itself says in front of what the policy says.
    #[must_use]
    pub fn with_override(self, own: &RetryOverride, started: Duration) -> Self {
        let deadline = own
            .deadline
            .map(|deadline| started.saturating_add(deadline));
        Self {
            facts: self
                .facts
                .idempotent(own.idempotent.unwrap_or(self.facts.is_idempotent())),
            max_retries: own.max_retries.unwrap_or(self.max_retries),
            deadline: deadline.or(self.deadline),
            standing_aside: own
                .off
                .then_some(StopReason::Disabled)
                .or(self.standing_aside),
            ..self
        }
    }

    /// The same session without any retries, and why.
    pub(crate) fn standing_aside(self, why: StopReason) -> Self {
        Self {
            standing_aside: self.standing_aside.or(Some(why)),
            ..self
        }
    }

    /// Whether a retry can follow the next attempt at all; if not, nothing need be kept for one.
    #[must_use]
    pub fn may_retry(&self) -> bool {
        self.standing_aside.is_none() && self.retries < self.max_retries
    }

    /// Whether processing the request twice counts as no more than once.
    #[must_use]
    pub fn is_idempotent(&self) -> bool {
        self.facts.is_idempotent()
    }

    /// How many retries have been planned so far.
    #[must_use]
    pub fn retries(&self) -> u32 {
        self.retries
    }

    /// When the whole request must be over, on the clock of [`Moment::now`], if it must.
    #[must_use]
    pub fn deadline(&self) -> Option<Duration> {
        self.deadline
    }

    /// How long an attempt that starts at `now` may take: the attempt timeout, or what is left of the deadline.
    #[must_use]
    pub fn attempt_limit(&self, now: Duration) -> Option<Duration> {
        let left = self.deadline.map(|deadline| deadline.saturating_sub(now));
        match (self.policy.0.attempt_timeout, left) {
            (Some(timeout), Some(left)) => Some(timeout.min(left)),
            (timeout, left) => timeout.or(left),
        }
    }

    /// Says whether the body of the attempt that ended can be sent again.
    pub fn set_replayable(&mut self, replayable: bool) {
        self.facts = self.facts.replayable(replayable);
    }

    /// Decides what follows from an outcome that the policy has classified.
    ///
    /// The gates, the first that refuses being the reason: limit, class, body, idempotence, server delay, deadline. The
    /// budget comes last and is asked with the plan.
    pub fn on_outcome(&mut self, outcome: &Outcome<'_>, moment: Moment) -> Decision {
        match self.plan(outcome, moment) {
            Ok(plan) => {
                self.retries = plan.retry;
                Decision::Retry(plan)
            }
            Err(reason) => Decision::Stop(reason),
        }
    }

    fn plan(&mut self, outcome: &Outcome<'_>, moment: Moment) -> Result<RetryPlan, StopReason> {
        self.check_request(outcome)?;
        let retry = self.retries.saturating_add(1);
        let asked = outcome
            .server_delay(moment.wall)
            .delay()
            .unwrap_or_default();
        if self
            .policy
            .0
            .max_server_delay
            .is_some_and(|most| asked > most)
        {
            return Err(StopReason::ServerDelayTooLong);
        }
        let own = self
            .policy
            .0
            .backoff
            .delay_after(self.previous, retry, moment.random);
        let delay = own.max(asked).saturating_add(spread(asked, moment.random));
        let due = moment.now.saturating_add(delay);
        if self.deadline.is_some_and(|deadline| due >= deadline) {
            return Err(StopReason::DeadlineExceeded);
        }
        self.previous = own;
        Ok(RetryPlan {
            retry,
            delay,
            source: if asked > own {
                DelaySource::Server
            } else {
                DelaySource::Own
            },
            cost: match outcome.error_kind() {
                Some(kind) if kind.is_timeout() => Cost::Timeout,
                _ => Cost::Retry,
            },
        })
    }

    fn check_request(&self, outcome: &Outcome<'_>) -> Result<(), StopReason> {
        if outcome.class() == Class::Success {
            return Err(StopReason::Succeeded);
        }
        if let Some(why) = self.standing_aside {
            return Err(why);
        }
        if self.retries >= self.max_retries {
            return Err(StopReason::AttemptsExhausted);
        }
        if outcome.class() == Class::Permanent {
            return Err(StopReason::NotRetryable);
        }
        if !self.facts.is_replayable() {
            return Err(StopReason::BodyNotReplayable);
        }
        if !self.facts.is_idempotent() && !outcome.reach().is_unprocessed() {
            return Err(StopReason::NotIdempotent);
        }
        Ok(())
    }
}

/// A part more than was asked for, so that clients told the same time do not come back at once; never less.
fn spread(asked: Duration, random: u64) -> Duration {
    nanos(uniform(second(random), longest_spread(asked).as_nanos()))
}

/// The most that is added to what a server asked for.
pub(super) fn longest_spread(asked: Duration) -> Duration {
    nanos(asked.as_nanos() / SPREAD_PART).min(MAX_SPREAD)
}
