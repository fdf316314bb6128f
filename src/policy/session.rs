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
    started: Duration,
    /// How long the whole request may take.
    allowed: Option<Duration>,
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
            started,
            allowed: settings.deadline,
            standing_aside: None,
            retries: 0,
            previous: Duration::ZERO,
            policy,
        }
    }

    /// The same session, with what the request itself says in front of what the policy says.
    #[must_use]
    pub fn with_override(self, own: &RetryOverride) -> Self {
        Self {
            facts: self
                .facts
                .idempotent(own.idempotent.unwrap_or(self.facts.is_idempotent())),
            max_retries: own.max_retries.unwrap_or(self.max_retries),
            allowed: own.deadline.or(self.allowed),
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
        self.allowed
            .map(|allowed| self.started.saturating_add(allowed))
    }

    /// How long the whole request may take, if there is a limit.
    pub(crate) fn allowed(&self) -> Option<Duration> {
        self.allowed
    }

    /// Whether this request can be repeated here at all: then its success is counted here, and a retry layer further in
    /// stands aside.
    pub(crate) fn repeats(&self) -> bool {
        self.standing_aside.is_none() && self.max_retries > 0
    }

    /// How long an attempt that starts at `now` may take: the attempt timeout, or what is left of the deadline.
    #[must_use]
    pub fn attempt_limit(&self, now: Duration) -> Option<Duration> {
        let left = self.deadline().map(|deadline| deadline.saturating_sub(now));
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
        if self.deadline().is_some_and(|deadline| due >= deadline) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::{Backoff, Class, ErrorKind, Reach};
    use http::{HeaderMap, HeaderValue, Method, StatusCode};

    const SECOND: Duration = Duration::from_secs(1);

    fn policy() -> RetryPolicy {
        let backoff = Backoff::fixed(SECOND);
        let builder = RetryPolicy::builder().backoff(backoff);
        builder.max_server_delay(SECOND * 60).build().unwrap()
    }

    fn session(policy: &RetryPolicy, method: &Method) -> RetrySession {
        policy.session(RequestFacts::of(method, &HeaderMap::new()), Duration::ZERO)
    }

    fn stop(
        session: &mut RetrySession,
        outcome: &Outcome<'_>,
        moment: Moment,
    ) -> Option<StopReason> {
        match session.on_outcome(outcome, moment) {
            Decision::Retry(_) => None,
            Decision::Stop(why) => Some(why),
        }
    }

    fn plan(session: &mut RetrySession, outcome: &Outcome<'_>, moment: Moment) -> RetryPlan {
        match session.on_outcome(outcome, moment) {
            Decision::Retry(plan) => plan,
            Decision::Stop(why) => panic!("stopped: {why}"),
        }
    }

    fn asking(seconds: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(http::header::RETRY_AFTER, HeaderValue::from_static(seconds))])
    }

    #[test]
    fn the_gates_refuse_in_their_order() {
        let (none, long) = (HeaderMap::new(), asking("61"));
        let now = Moment::new(SECOND * 100);
        let deadline = RetryOverride::new().deadline(SECOND);
        let mut session = session(&policy(), &Method::POST).with_override(&deadline);
        session.set_replayable(false);

        let exhausted = session
            .clone()
            .with_override(&RetryOverride::new().max_retries(0));
        let permanent = Outcome::response(StatusCode::NOT_FOUND, &none);
        assert_eq!(
            stop(&mut exhausted.clone(), &permanent, now),
            Some(StopReason::AttemptsExhausted)
        );
        assert_eq!(
            stop(&mut session, &permanent, now),
            Some(StopReason::NotRetryable)
        );

        let failed = Outcome::response(StatusCode::INTERNAL_SERVER_ERROR, &long);
        assert_eq!(
            stop(&mut session, &failed, now),
            Some(StopReason::BodyNotReplayable)
        );
        session.set_replayable(true);
        assert_eq!(
            stop(&mut session, &failed, now),
            Some(StopReason::NotIdempotent)
        );

        let throttled = Outcome::response(StatusCode::TOO_MANY_REQUESTS, &long);
        assert_eq!(
            stop(&mut session, &throttled, now),
            Some(StopReason::ServerDelayTooLong)
        );
        let throttled = Outcome::response(StatusCode::TOO_MANY_REQUESTS, &none);
        assert_eq!(
            stop(&mut session, &throttled, now),
            Some(StopReason::DeadlineExceeded)
        );
        assert_eq!(
            stop(&mut session, &throttled, Moment::new(Duration::ZERO)),
            None
        );
    }

    #[test]
    fn a_request_that_must_be_processed_once_is_repeated_only_if_it_was_not() {
        for (kind, repeated) in [
            (ErrorKind::Connect, true),
            (ErrorKind::NotProcessed, true),
            (ErrorKind::Timeout, false),
            (ErrorKind::Reset, false),
            (ErrorKind::Certificate, false),
        ] {
            let mut session = session(&policy(), &Method::POST);
            let stopped = stop(&mut session, &Outcome::error(kind), Moment::default());
            assert_eq!(stopped.is_none(), repeated, "{kind}");
        }
    }

    #[test]
    fn the_server_is_never_overtaken_and_a_longer_delay_of_ones_own_stands() {
        let headers = asking("10");
        let outcome = Outcome::response(StatusCode::SERVICE_UNAVAILABLE, &headers);
        for random in [0, 1, u64::MAX / 2, u64::MAX] {
            let moment = Moment::default().with_random(random);
            let plan = plan(&mut session(&policy(), &Method::GET), &outcome, moment);
            assert!(
                (SECOND * 10..=SECOND * 12).contains(&plan.delay),
                "{:?}",
                plan.delay
            );
            assert_eq!(plan.source(), DelaySource::Server);
        }
        let patient = policy()
            .to_builder()
            .backoff(Backoff::fixed(SECOND * 40))
            .build()
            .unwrap();
        let moment = Moment::default().with_random(u64::MAX);
        let plan = plan(&mut session(&patient, &Method::GET), &outcome, moment);
        assert!(plan.delay >= SECOND * 40);
        assert_eq!(plan.source(), DelaySource::Own);
    }

    #[test]
    fn a_spread_is_a_fifth_and_at_most_ten_seconds() {
        assert_eq!(longest_spread(SECOND * 20), SECOND * 4);
        assert_eq!(longest_spread(SECOND * 3_600), SECOND * 10);
        assert_eq!(longest_spread(Duration::MAX), SECOND * 10);
    }

    #[test]
    fn an_attempt_gets_its_timeout_or_what_is_left() {
        let policy = policy()
            .to_builder()
            .deadline(SECOND * 10)
            .attempt_timeout(SECOND * 4)
            .build()
            .unwrap();
        let session = session(&policy, &Method::GET);
        assert_eq!(session.attempt_limit(Duration::ZERO), Some(SECOND * 4));
        assert_eq!(session.attempt_limit(SECOND * 8), Some(SECOND * 2));
        assert_eq!(session.attempt_limit(SECOND * 11), Some(Duration::ZERO));
    }

    #[test]
    fn a_request_speaks_for_itself_in_front_of_the_policy() {
        let all = policy().to_builder().methods(Methods::All).build().unwrap();
        let start = || session(&all, &Method::POST);
        let reset = Outcome::error(ErrorKind::Reset);
        let with =
            |own: RetryOverride| stop(&mut start().with_override(&own), &reset, Moment::default());
        assert_eq!(with(RetryOverride::new()), None);
        assert_eq!(
            with(RetryOverride::new().idempotent(false)),
            Some(StopReason::NotIdempotent)
        );
        assert_eq!(with(RetryOverride::off()), Some(StopReason::Disabled));
        let nested = start().standing_aside(StopReason::Nested);
        assert_eq!(
            stop(&mut nested.clone(), &reset, Moment::default()),
            Some(StopReason::Nested)
        );
        assert!(!nested.may_retry() && start().may_retry());
    }

    #[test]
    fn a_classifier_of_the_users_own_comes_first() {
        let headers = HeaderMap::new();
        let policy = policy()
            .to_builder()
            .classify(|outcome| {
                let conflict = outcome.status() == Some(StatusCode::CONFLICT);
                conflict.then_some((Class::Transient, Reach::Refused))
            })
            .build()
            .unwrap();
        let class = |status| policy.classify(Outcome::response(status, &headers)).class();
        assert_eq!(class(StatusCode::CONFLICT), Class::Transient);
        assert_eq!(class(StatusCode::NOT_FOUND), Class::Permanent);
    }
}
