//! The plans of a session: each of its gates in its order, and how long to wait.

use super::{RetrySession, Tally};
use crate::policy::decision::{Cost, DelaySource, RetryPlan, StopReason};
use crate::policy::directives::{Counter, Judged, Listed, Ruling, ServerDelays, Wait};
use crate::policy::moment::{Moment, nanos, second, uniform};
use crate::policy::outcome::Outcome;
use crate::policy::{Class, Reason, RetryPolicy, RewriteBody};
use crate::server_hints::ServerDelay;
use http::StatusCode;
use std::sync::Arc;
use std::time::Duration;

/// How far a spread goes at most beyond what the server asked for.
const MAX_SPREAD: Duration = Duration::from_secs(10);
/// The part of what the server asked for that a spread adds at most: one in five.
const SPREAD_PART: u32 = 5;

/// What each refusal takes from the time that a call may wait at the gate, besides its wait: a server that asks for next
/// to nothing is not asked without end.
pub(in crate::policy) const GATED_LEAST: Duration = Duration::from_secs(1);

type Delay = (Duration, DelaySource);

impl RetrySession {
    pub(super) fn plan(
        &mut self,
        outcome: &Outcome<'_>,
        moment: Moment,
    ) -> Result<RetryPlan, StopReason> {
        let policy = self.policy.clone();
        if !self.current.is(&policy) {
            self.current = policy.clone();
        }
        self.rule = None;
        self.worth_another = true;
        let success = outcome.class() == Class::Success;
        if let Some(why) = self.standing_aside {
            return Err(if success { StopReason::Succeeded } else { why });
        }
        let verdict = policy.0.directives.verdict(&self.seen(outcome, true));
        let Ruling { then, rule } = verdict.unwrap_or(Ruling::BY_CLASS);
        self.rule = rule;
        match then {
            Judged::Accept if success => Err(StopReason::Succeeded),
            Judged::Accept => Err(StopReason::Accepted),
            Judged::Fail => Err(StopReason::Failed),
            Judged::Stop => Err(StopReason::Stopped),
            Judged::ByClass => self.plan_retry(&policy, false, outcome, moment),
            Judged::Retry(by) => {
                self.current = by.clone();
                self.plan_retry(by, true, outcome, moment)
            }
            Judged::Wait(wait) => self.plan_wait(wait, outcome, moment),
            Judged::Failover(service) => self.plan_failover(service, outcome, moment),
        }
    }

    /// A retry by the policy in charge; `told` by a rule, whatever the outcome's class.
    fn plan_retry(
        &mut self,
        policy: &RetryPolicy,
        told: bool,
        outcome: &Outcome<'_>,
        moment: Moment,
    ) -> Result<RetryPlan, StopReason> {
        let listed = policy.0.directives.listed(&self.seen(outcome, true));
        let wanted = told || listed == Listed::Yes;
        if outcome.class() == Class::Success && !wanted {
            return Err(StopReason::Succeeded);
        }
        if listed != Listed::No {
            let asked = self.asked_of_all(outcome, moment);
            if let Some(asked) = asked.filter(|asked| self.may_wait_at_the_gate(*asked)) {
                return self.plan_gated(asked, outcome, moment);
            }
        }
        let by_class = listed == Listed::Unlisted && outcome.class() != Class::Permanent;
        self.worth_another = listed != Listed::No && (wanted || by_class);
        let counted = match (policy.0.directives.counter, self.tally()) {
            (Counter::Rule, Some(tally)) => tally.retries,
            _ => self.retries,
        };
        if counted >= self.max_retries(policy) {
            return Err(StopReason::AttemptsExhausted);
        }
        if let Some(rewrite) = self.rewrite(outcome) {
            return self.plan_rewrite(rewrite, outcome, moment);
        }
        if !self.worth_another {
            return Err(StopReason::NotRetryable);
        }
        self.check_resend(policy, outcome)?;
        let n = counted.saturating_add(1);
        let backoff = &policy.0.backoff;
        let own = backoff.delay_after(self.previous, n, moment.random);
        let delay = self.delay(own, outcome.server_delay(moment.wall), moment)?;
        self.previous = own;
        self.retries = self.retries.saturating_add(1);
        if let Some(tally) = self.tally_mut() {
            tally.retries = tally.retries.saturating_add(1);
        }
        let cost = match outcome.error_kind() {
            Some(kind) if kind.is_timeout() => Cost::Timeout,
            _ => Cost::Retry,
        };
        Ok(self.resend(delay, cost))
    }

    /// What a rate limit asks all callers to wait for, where they wait together; not what is longer than any of them would
    /// wait.
    pub(crate) fn asked_of_all(&self, outcome: &Outcome<'_>, moment: Moment) -> Option<Duration> {
        let limited = outcome.status() == Some(StatusCode::TOO_MANY_REQUESTS)
            && outcome.class() == Class::Throttled
            && outcome
                .reason()
                .is_none_or(|reason| reason == Reason::RateLimited)
            && outcome.is_shared();
        self.gate_wait_left()?;
        let asked = outcome.server_delay(moment.wall).delay()?;
        self.heard(asked).ok()?.filter(|_| limited)
    }

    /// Whether a call would wait so long because the server said so.
    pub(crate) fn would_wait(&self, asked: Duration) -> bool {
        let settings = &self.policy.0;
        let limits = [settings.max_server_delay, settings.max_gate_wait];
        limits.into_iter().flatten().all(|most| asked <= most)
    }

    fn may_wait_at_the_gate(&self, asked: Duration) -> bool {
        let left = self.gate_wait_left().unwrap_or_default();
        self.repeats() && !asked.is_zero() && asked <= left
    }

    /// Another attempt behind the gate, which counts as no retry.
    fn plan_gated(
        &mut self,
        asked: Duration,
        outcome: &Outcome<'_>,
        moment: Moment,
    ) -> Result<RetryPlan, StopReason> {
        self.check_resend(&self.current, outcome)?;
        let delay = asked.saturating_add(spread(asked, moment.random));
        let delay = self.in_time((delay, DelaySource::Gate), moment)?;
        self.gate_waited = self.gate_waited.saturating_add(GATED_LEAST);
        Ok(RetryPlan {
            gated: Some(asked),
            ..self.resend(delay, Cost::Gated)
        })
    }

    fn rewrite(&self, outcome: &Outcome<'_>) -> Option<RewriteBody> {
        let permanent = outcome.class() == Class::Permanent;
        let rewrite = self.current.0.rewrite.as_ref().filter(|_| permanent)?;
        rewrite.after(outcome)
    }

    /// Another attempt with another body: it counts as a retry, and waits for nothing, since the server is not busy.
    fn plan_rewrite(
        &mut self,
        rewrite: RewriteBody,
        outcome: &Outcome<'_>,
        moment: Moment,
    ) -> Result<RetryPlan, StopReason> {
        self.check_resend(&self.current, outcome)?;
        let delay = self.in_time((Duration::ZERO, DelaySource::Own), moment)?;
        self.retries = self.retries.saturating_add(1);
        Ok(RetryPlan {
            rewrite: Some(rewrite),
            ..self.resend(delay, Cost::Retry)
        })
    }

    fn plan_wait(
        &mut self,
        wait: &Wait,
        outcome: &Outcome<'_>,
        moment: Moment,
    ) -> Result<RetryPlan, StopReason> {
        let policy = self.current.clone();
        let Tally { waits, since, .. } = self.tally().unwrap_or_default();
        if wait.at_most.is_some_and(|most| waits >= most) {
            return Err(StopReason::WaitsExhausted);
        }
        self.check_resend(&policy, outcome)?;
        // A poll's answer says when to come back, success or not.
        let asked = match (outcome.status(), outcome.headers()) {
            (Some(status), Some(headers)) => ServerDelay::read(status, headers, moment.wall),
            _ => ServerDelay::None,
        };
        let n = waits.saturating_add(1);
        let own = match (wait.delay, asked.delay()) {
            (Some(delay), _) => delay,
            (None, Some(_)) => Duration::ZERO,
            (None, None) => {
                let backoff = &policy.0.backoff;
                backoff.delay_after(self.previous, n, moment.random)
            }
        };
        let delay = self.delay(own, asked, moment)?;
        let since = since.unwrap_or(moment.now);
        let waited = moment.now.saturating_sub(since).saturating_add(delay.0);
        if wait.max.is_some_and(|max| waited > max) {
            return Err(StopReason::WaitsExhausted);
        }
        self.previous = own;
        if let Some(tally) = self.tally_mut() {
            tally.waits = n;
            tally.since = Some(since);
        }
        Ok(self.resend(delay, Cost::Nothing))
    }

    pub(super) fn plan_failover(
        &self,
        service: &Arc<str>,
        outcome: &Outcome<'_>,
        moment: Moment,
    ) -> Result<RetryPlan, StopReason> {
        self.check_resend(&self.current, outcome)?;
        let delay = self.in_time((Duration::ZERO, DelaySource::Own), moment)?;
        Ok(RetryPlan {
            failover: Some(Arc::clone(service)),
            ..self.resend(delay, Cost::Nothing)
        })
    }

    fn resend(&self, (delay, source): Delay, cost: Cost) -> RetryPlan {
        RetryPlan {
            retry: self.resends.saturating_add(1),
            delay,
            source,
            cost,
            set: self.matched_rule().and_then(|rule| rule.set.clone()),
            failover: None,
            budget: self.current.0.directives.budget.clone(),
            gated: None,
            rewrite: None,
        }
    }

    /// Whether the request can be sent again at all, and does no harm by it.
    fn check_resend(&self, policy: &RetryPolicy, outcome: &Outcome<'_>) -> Result<(), StopReason> {
        if !self.facts.is_replayable() {
            return Err(StopReason::BodyNotReplayable);
        }
        if !self.is_safe_twice(policy) && !outcome.reach().is_unprocessed() {
            return Err(StopReason::NotIdempotent);
        }
        Ok(())
    }

    /// The longer of one's own delay and what the server asks for, and a spread upwards; if there is time for it.
    fn delay(
        &self,
        own: Duration,
        asked: ServerDelay,
        moment: Moment,
    ) -> Result<Delay, StopReason> {
        let asked = self.heard(asked.delay().unwrap_or_default())?;
        let asked = asked.unwrap_or_default();
        let delay = own.max(asked).saturating_add(spread(asked, moment.random));
        let source = match asked > own {
            true => DelaySource::Server,
            false => DelaySource::Own,
        };
        self.in_time((delay, source), moment)
    }

    /// What counts of a delay that the server asks for.
    fn heard(&self, asked: Duration) -> Result<Option<Duration>, StopReason> {
        let settings = &self.current.0;
        let most = settings.max_server_delay.unwrap_or(Duration::MAX);
        match settings.directives.server_delays {
            ServerDelays::Respect if asked > most => Err(StopReason::ServerDelayTooLong),
            ServerDelays::Respect => Ok(Some(asked)),
            ServerDelays::Clamp => Ok(Some(asked.min(most))),
            ServerDelays::Ignore => Ok(None),
        }
    }

    fn in_time(&self, delay: Delay, moment: Moment) -> Result<Delay, StopReason> {
        let due = moment.now.saturating_add(delay.0);
        match self.deadline().is_some_and(|deadline| due >= deadline) {
            true => Err(StopReason::DeadlineExceeded),
            false => Ok(delay),
        }
    }
}

/// A part more than was asked for, so that clients told the same time do not come back at once; never less.
fn spread(asked: Duration, random: u64) -> Duration {
    nanos(uniform(second(random), longest_spread(asked).as_nanos()))
}

/// The most that is added to what a server asked for.
pub(in crate::policy) fn longest_spread(asked: Duration) -> Duration {
    let part = asked.checked_div(SPREAD_PART).unwrap_or_default();
    part.min(MAX_SPREAD)
}
