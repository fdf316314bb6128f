//! The state machine of one request: events in, commands out.
//!
//! ```text
//! Start -> Admit -> Send -> (Read ->) Withdraw -> Wait -> Admit -> Send ..
//!                      \________________\____________________________ -> Finish
//! ```
//!
//! It is pure: a driver carries out the commands and knows no rule.

use super::{RetrySession, millis};
use crate::budget::PaidRetry;
use crate::policy::bodies::{BodyProbe, has_an_end};
use crate::policy::decision::{RetryPlan, Stop, StopReason};
use crate::policy::moment::Moment;
use crate::policy::outcome::Outcome;
use crate::policy::rules::{DecidedBy, OnExhausted};
use crate::policy::{Class, ServerHints};
use std::sync::Arc;
use std::time::Duration;

/// Something that happened to a request, for [`RetrySession::step`].
#[non_exhaustive]
pub enum Event<'e, 'a> {
    /// The request is about to be sent for the first time.
    Start,
    /// The gate let the request pass, after this wait.
    Admitted(Duration),
    /// The attempt ended with a response head or an error. The outcome is judged in place.
    Outcome(&'e mut Outcome<'a>),
    /// The attempt ended, and a classifier has judged its outcome.
    Judged(&'e mut Outcome<'a>),
    /// The body was read as the last command required, and the outcome holds what was found. It is judged in place.
    Body(&'e mut Outcome<'a>),
    /// The attempt's time limit passed: an [`ErrorKind::Timeout`](crate::ErrorKind::Timeout). The outcome is judged in
    /// place.
    Elapsed(&'e mut Outcome<'a>),
    /// The budget granted the retry.
    Paid(&'e PaidRetry),
    /// The budget refused the retry that followed from this outcome.
    Refused(&'e Outcome<'a>),
    /// The wait before a retry is over.
    Woke,
    /// The driver cannot carry out the last command, for this reason; or the caller gave up.
    Failed(StopReason),
}

/// The next thing to do for a request, from [`RetrySession::step`].
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a driver must know each")]
pub enum Command {
    /// Wait for a turn at the gate, then report [`Event::Admitted`]; without a gate at once, with a wait of zero.
    Admit,
    /// Send an attempt within [`RetrySession::attempt_limit`], then report [`Event::Outcome`], or [`Event::Elapsed`]
    /// past it.
    Send,
    /// Read the response's body, then report [`Event::Body`].
    Read(BodyRequirement),
    /// Ask the budget to pay for the retry, then report [`Event::Paid`] or [`Event::Refused`].
    Withdraw(Box<RetryPlan>),
    /// Wait until this time on the clock of [`Moment::now`], then report [`Event::Woke`].
    Wait(Duration),
    /// Hand over the last outcome, or what [`RetrySession::ends_with`] returns: the request has ended.
    Finish(StopReason),
}

/// The part of a body that must be read before its outcome can be judged.
#[expect(clippy::exhaustive_enums, reason = "a driver must know each")]
pub enum BodyRequirement {
    /// The start of a response's body, or the text of an error.
    Evidence,
    /// The start of a stream, until the probe has seen enough.
    Probe(Box<dyn BodyProbe>),
    /// All of a body of at most this many bytes; a longer one is left unread.
    Whole(u64),
}

impl std::fmt::Debug for BodyRequirement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Evidence => f.write_str("Evidence"),
            Self::Probe(_) => f.write_str("Probe"),
            Self::Whole(bytes) => f.debug_tuple("Whole").field(bytes).finish(),
        }
    }
}

/// The read under way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Reading {
    #[default]
    Nothing,
    Evidence,
    Probe,
    /// The whole body, and then evidence if `then_evidence` is set.
    Whole {
        then_evidence: bool,
    },
}

impl RetrySession {
    /// Takes an event of the request, and returns the next command.
    ///
    /// A client of another kind needs nothing else: it carries out each [`Command`] and reports the [`Event`] that the
    /// command names. An event that does not fit the last command is taken as if it did. Nothing here reads a clock,
    /// sleeps or sends.
    ///
    /// ```
    /// use http_retry::policy::{Moment, RequestFacts};
    /// use http_retry_core::adapter::{Command, Event};
    /// use http_retry::{Outcome, RetryBudget, RetryPolicy, StopReason};
    /// use std::time::Duration;
    ///
    /// let (policy, budget) = (RetryPolicy::background(), RetryBudget::default());
    /// let facts = RequestFacts::of(&http::Method::GET, &http::HeaderMap::new());
    /// let mut session = policy.session(facts.replayable(true), Duration::ZERO);
    /// let now = Moment::new(Duration::ZERO);
    ///
    /// let headers = http::HeaderMap::new();
    /// let mut outcome = Outcome::response(http::StatusCode::SERVICE_UNAVAILABLE, &headers);
    /// let Command::Withdraw(plan) = session.step(Event::Outcome(&mut outcome), now) else { panic!() };
    /// let Ok(paid) = budget.withdraw(*plan, Duration::ZERO) else { panic!() };
    /// let Command::Wait(until) = session.step(Event::Paid(&paid), now) else { panic!() };
    /// // sleep until then, send the request again, and `paid.commit()` as it goes out
    /// paid.commit();
    /// let mut outcome = Outcome::response(http::StatusCode::OK, &headers);
    /// let command = session.step(Event::Outcome(&mut outcome), Moment::new(until));
    /// assert!(matches!(command, Command::Finish(StopReason::Succeeded)));
    /// ```
    pub fn step(&mut self, event: Event<'_, '_>, moment: Moment) -> Command {
        let command = self.next(event, moment);
        if matches!(command, Command::Send) {
            self.sent = millis(moment.now);
        }
        command
    }

    fn next(&mut self, event: Event<'_, '_>, moment: Moment) -> Command {
        match event {
            Event::Start | Event::Woke if self.gate_wait_left().is_some() => Command::Admit,
            Event::Start | Event::Woke => Command::Send,
            Event::Admitted(waited) => {
                self.has_waited_at_the_gate(waited);
                Command::Send
            }
            Event::Outcome(outcome) => {
                if outcome.is_misdirected() && !self.counts.misdirected {
                    *outcome = outcome.on_another_connection();
                }
                // A classifier that reads bodies runs once, after the read: it must not see half of its evidence.
                let judged = !self.policy.reads_body(outcome);
                let judged = judged.then(|| self.policy.classify(*outcome));
                self.judge_head(outcome, judged, moment)
            }
            Event::Judged(outcome) => {
                let judged = *outcome;
                self.judge_head(outcome, Some(judged), moment)
            }
            Event::Body(outcome) => self.judge_body(outcome, moment),
            Event::Elapsed(outcome) => {
                // No response arrived whose body could be read.
                *outcome = self.policy.classify(*outcome);
                self.decide(outcome, moment)
            }
            Event::Paid(paid) => {
                self.count(paid.plan());
                Command::Wait(moment.now.saturating_add(paid.delay()))
            }
            Event::Refused(outcome) => {
                let refused = self.stop(StopReason::BudgetExhausted);
                // Only once: the retry that replaces it may be refused as well.
                let instead = if std::mem::replace(&mut self.was_refused, true) {
                    Err(refused)
                } else {
                    self.failover_instead(refused, outcome, moment)
                };
                self.command(instead)
            }
            Event::Failed(why) => self.command(Err(self.stop(why))),
        }
    }

    /// Decides by an outcome's head, unless its body must be read first. `judged` is the outcome as judged by its head,
    /// or `None` if it was not.
    fn judge_head<'a>(
        &mut self,
        outcome: &mut Outcome<'a>,
        judged: Option<Outcome<'a>>,
        moment: Moment,
    ) -> Command {
        let by_head = judged.unwrap_or(*outcome);
        let needs_evidence = |judged: &Outcome<'_>| {
            self.needs_evidence(judged) || self.body_may_rule_out_retry(judged, moment)
        };
        let judged = judged.filter(|judged| !needs_evidence(judged));
        let needs_evidence = judged.is_none();
        *outcome = judged.unwrap_or(*outcome);
        let bytes = self.whole_answers();
        let ends = |outcome: &Outcome<'_>| {
            let head = outcome.status().zip(outcome.headers());
            head.is_some_and(|(status, headers)| has_an_end(status, headers))
        };
        // The whole body comes first: if it breaks, the success is a failed attempt.
        if bytes > 0 && outcome.class() == Class::Success && ends(outcome) {
            self.reading = Reading::Whole {
                then_evidence: needs_evidence,
            };
            return Command::Read(BodyRequirement::Whole(bytes));
        }
        if needs_evidence {
            self.reading = Reading::Evidence;
            self.provisional = self.refusal_by_head(&by_head, moment);
            return Command::Read(BodyRequirement::Evidence);
        }
        let probe = match self.policy.streams() {
            Some(streams) if self.may_retry_a_success() => streams.hold(outcome),
            _ => None,
        };
        if let Some(probe) = probe {
            self.reading = Reading::Probe;
            return Command::Read(BodyRequirement::Probe(probe));
        }
        self.decide(outcome, moment)
    }

    /// Returns `true` if a retry would follow by this outcome's class, and its body may state that none can help.
    fn body_may_rule_out_retry(&self, outcome: &Outcome<'_>, moment: Moment) -> bool {
        // Rare, so the plan that is made in vain costs next to nothing.
        self.policy.may_be_overruled_by_body(outcome)
            && self
                .judge(outcome, moment)
                .is_ok_and(|plan| plan.by == DecidedBy::Policy)
    }

    /// Decides after a body was read. Only evidence makes the classifiers judge again.
    fn judge_body(&mut self, outcome: &mut Outcome<'_>, moment: Moment) -> Command {
        match std::mem::take(&mut self.reading) {
            Reading::Whole {
                then_evidence: true,
            } => {
                self.reading = Reading::Evidence;
                return Command::Read(BodyRequirement::Evidence);
            }
            Reading::Evidence => *outcome = self.policy.classify(*outcome),
            Reading::Nothing | Reading::Probe | Reading::Whole { .. } => {}
        }
        self.decide(outcome, moment)
    }

    fn decide(&mut self, outcome: &Outcome<'_>, moment: Moment) -> Command {
        self.was_refused = false;
        self.provisional = None;
        // Read once here: the lookups below and `hints` share the result.
        let hints = outcome.server_hints(moment.wall);
        let decided = self.judge(&outcome.with_hints(&hints), moment);
        **self.hints.get_or_insert_default() = hints;
        self.command(decided)
    }

    fn command(&mut self, decided: Result<RetryPlan, Stop>) -> Command {
        match decided {
            Ok(plan) => {
                self.decided_by = plan.by;
                Command::Withdraw(Box::new(plan))
            }
            Err(stop) => {
                self.decided_by = stop.by;
                self.stopped = Some(stop);
                Command::Finish(stop.why)
            }
        }
    }

    /// Returns the hints in the head of the last outcome, which is read once.
    #[must_use]
    pub fn hints(&self) -> ServerHints {
        self.hints.as_deref().copied().unwrap_or_default()
    }

    /// Returns the name of the rule that decided on the last outcome, or `None` if none did.
    #[must_use]
    pub fn deciding_rule(&self) -> Option<&Arc<str>> {
        self.matched_rule(self.decided_by)?.name.as_ref()
    }

    /// Returns the place of the list, rule or row that ended the request, such as `services.orders.retry.stop_on`, or
    /// its name if it is set in code. Returns `None` if none did, and before the end.
    #[must_use]
    pub fn stopped_by(&self) -> Option<Arc<str>> {
        self.cause_of(self.stopped?)
    }

    /// Returns what the caller gets after [`Command::Finish`]: the last outcome, or the policy's replacement for it.
    #[must_use]
    pub fn ends_with(&self) -> &OnExhausted {
        match self.stopped {
            // A rule's `fail` is the end by itself, whatever `on_exhausted` says.
            Some(stop) if stop.why == StopReason::Failed => &OnExhausted::Fail,
            Some(stop) => self.on_exhausted(stop),
            None => &OnExhausted::Last,
        }
    }
}
