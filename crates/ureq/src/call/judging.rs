//! The verdict on an attempt's outcome, once the session has as much of the body as it needs.

use super::{AttemptResult, Call};
use crate::errors::{outcome_of, outcome_of_body, words};
use crate::response::{ReadEnd, at_most, read};
use http_retry_core::adapter::{
    BodyProbe, BodyRequirement, Command, EarlierRequests, Event, Inspected, StreamHolder, is_longer,
};
use http_retry_core::policy::{ErrorBody, Verdict};
use http_retry_core::{Class, ErrorKind, Outcome, StopReason};
use std::ops::ControlFlow;
use std::time::Duration;
use ureq::{Error, Timeout};

/// The most bytes of an error body that are read.
const MAX_EVIDENCE_BYTES: usize = 64 * 1024;

/// The longest time for which an error body is read.
const MAX_EVIDENCE_TIME: Duration = Duration::from_secs(2);

/// Makes the event of an outcome.
type OutcomeEvent = for<'e, 'a> fn(&'e mut Outcome<'a>) -> Event<'e, 'a>;

/// The evidence found in a body.
enum BodyEvidence {
    Nothing,
    Evidence(ErrorBody),
    /// A stream turned out to be a failure.
    Verdict(Verdict),
}

impl Call<'_, '_> {
    /// Judges the result of an attempt.
    pub(super) fn attempt_ended(&mut self, result: AttemptResult) -> Command {
        let line = self.session.request();
        let is_cut = self.is_cut(&result);
        let outcome = match &result {
            Ok(response) => Outcome::response(response.status(), response.headers()),
            Err(_) if self.request.has_failed() => Outcome::error(ErrorKind::Body),
            Err(error) => outcome_of(self.session.policy(), error, self.last.evidence),
        };
        let text = is_cut.then(|| ErrorBody::of_words("timeout: the attempt had no time left"));
        let outcome = match &text {
            Some(text) => outcome.with_body(text),
            None => outcome,
        };
        let outcome = outcome
            .after_others(self.earlier_requests(&result))
            .for_request(line.as_deref());
        let command = if is_cut {
            self.leave_gates();
            self.judge(outcome, |outcome| Event::Elapsed(outcome))
        } else {
            self.judge(outcome, |outcome| Event::Outcome(outcome))
        };
        self.last.result = Some(result);
        command
    }

    /// Judges if the attempt sent another request before the one that its outcome belongs to.
    fn earlier_requests(&self, result: &AttemptResult) -> EarlierRequests {
        let evidence = self.last.evidence;
        // The agent makes no error of a status: this one is of another agent's request.
        let is_anothers = evidence.sent && matches!(result, Err(Error::StatusCode(_)));
        if evidence.requests > 1 || evidence.reported || is_anothers {
            EarlierRequests::Some
        } else {
            EarlierRequests::None
        }
    }

    /// Returns `true` if the attempt had no time left.
    fn is_cut(&self, result: &AttemptResult) -> bool {
        let now = self.engine.clock.now();
        let is_late = self.last.until.is_some_and(|until| until <= now);
        is_late && matches!(result, Err(Error::Timeout(_)))
    }

    /// Lets the session judge an outcome, and tells the gate, the budget and the report if that was its last word.
    fn judge(&mut self, mut outcome: Outcome<'_>, event: OutcomeEvent) -> Command {
        self.session.set_replayable(self.request.is_whole());
        let at = self.engine.clock.moment();
        let command = self.session.step(event(&mut outcome), at);
        (self.last.outcome, self.last.at) = (outcome.without_head(), at);
        if matches!(command, Command::Read(_)) {
            self.hold(&outcome, at);
        } else {
            let hints = self.session.hints();
            let outcome = outcome.with_hints(&hints);
            self.end_permits(&outcome, at);
            self.record(outcome, &command);
        }
        command
    }

    /// Tells the budgets and the report of an attempt that has ended.
    fn record(&mut self, outcome: Outcome<'_>, command: &Command) {
        let at = self.last.at;
        if outcome.class() == Class::Success && self.session.repeats() {
            self.budget.deposit(at.now);
            let others = self.route.rule_budgets();
            others.for_each(|budget| budget.deposit(at.now));
        }
        let (outcome, is_done) = match command {
            Command::Finish(why) => (outcome.refused(*why), *why == StopReason::Succeeded),
            _ => (outcome, false),
        };
        let by = (
            self.session.deciding_rule(),
            self.session.policy().row_of(&outcome),
        );
        let is_unknown = outcome.error_kind() == Some(ErrorKind::Other);
        let error_type = is_unknown.then(std::any::type_name::<Error>);
        self.recorder
            .attempt_ended(&outcome, at, by, error_type, is_done);
    }

    /// Reads as much of a response as the session needs.
    pub(super) fn read(&mut self, requirement: BodyRequirement) -> Command {
        let Some(result) = self.last.result.take() else {
            return self.fails(StopReason::NotRetryable);
        };
        match requirement {
            BodyRequirement::Evidence => self.read_evidence(result),
            BodyRequirement::Probe(probe) => self.probe(result, probe),
            BodyRequirement::Whole(bytes) => self.read_whole(result, bytes),
        }
    }

    /// Judges an outcome again, with what was found in its body.
    fn judge_body(&mut self, result: AttemptResult, found: &BodyEvidence) -> Command {
        let line = self.session.request();
        let head = result.as_ref().ok();
        let head = head.map(|response| (response.status(), response.headers()));
        let outcome = self
            .last
            .outcome
            .with_head(head)
            .for_request(line.as_deref());
        let outcome = match found {
            BodyEvidence::Nothing => outcome,
            BodyEvidence::Evidence(body) => outcome.with_body(body),
            BodyEvidence::Verdict(verdict) => outcome.judged(*verdict),
        };
        let command = self.judge(outcome, |outcome| Event::Body(outcome));
        self.last.result = Some(result);
        command
    }

    /// Reads the start of an error body, or the text of an error.
    fn read_evidence(&mut self, result: AttemptResult) -> Command {
        if let Some(text) = self.last.broken.take() {
            return self.judge_body(result, &BodyEvidence::Evidence(text));
        }
        let response = match result {
            Ok(response) => response,
            Err(error) => {
                let text = ErrorBody::of_words(&words(&error, self.last.outcome.error_kind()));
                return self.judge_body(Err(error), &BodyEvidence::Evidence(text));
            }
        };
        let mut start = Vec::new();
        let mut see = |data: &[u8]| {
            let room = MAX_EVIDENCE_BYTES.saturating_sub(start.len());
            start.extend(data.iter().take(room));
            if start.len() < MAX_EVIDENCE_BYTES {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        };
        let until = self.within(MAX_EVIDENCE_TIME);
        let (response, end) = read(response, &self.engine.clock, Some(until), &mut see);
        let line = self.session.request();
        let outcome = Outcome::response(response.status(), response.headers());
        let places = self
            .session
            .policy()
            .pointers(&outcome.for_request(line.as_deref()));
        let is_whole = matches!(end, ReadEnd::AtTheEnd);
        let body = ErrorBody::read(&start)
            .cut(!is_whole)
            .with_pointers(&places);
        self.judge_body(Ok(response), &BodyEvidence::Evidence(body))
    }

    /// Holds a streamed response back until its first output, or until it turns out to be a failure.
    fn probe(&mut self, result: AttemptResult, mut probe: Box<dyn BodyProbe>) -> Command {
        let Ok(response) = result else {
            return self.judge_body(result, &BodyEvidence::Nothing);
        };
        let streams = self.session.policy().streams();
        let bound = streams.and_then(StreamHolder::first_event_timeout);
        let bound = bound.map(|bound| self.engine.clock.now().saturating_add(bound));
        let until = self.last.until.into_iter().chain(bound).min();
        let mut see = |data: &[u8]| probe.push(data);
        let (response, end) = read(response, &self.engine.clock, until, &mut see);
        let verdict = probe.verdict(match end {
            ReadEnd::AtTheEnd => Inspected::AtTheEnd,
            ReadEnd::Enough => Inspected::Enough,
            ReadEnd::TimeIsUp => Inspected::TimeIsUp,
            ReadEnd::Broken(_) => Inspected::AtAnError,
        });
        let found = verdict.map_or(BodyEvidence::Nothing, BodyEvidence::Verdict);
        self.judge_body(Ok(response), &found)
    }

    /// Reads a response to its end, within the limits: a body that breaks is a failed attempt.
    fn read_whole(&mut self, result: AttemptResult, bytes: u64) -> Command {
        let response = match result {
            Ok(response) if !is_longer(response.headers(), bytes) => response,
            result => return self.judge_body(result, &BodyEvidence::Nothing),
        };
        let mut see = at_most(usize::try_from(bytes).unwrap_or(usize::MAX));
        let (response, end) = read(response, &self.engine.clock, self.last.until, &mut see);
        match end {
            ReadEnd::AtTheEnd | ReadEnd::Enough => {
                self.judge_body(Ok(response), &BodyEvidence::Nothing)
            }
            ReadEnd::TimeIsUp => {
                let outcome = Outcome::error(ErrorKind::Timeout).after_an_answer();
                let text = ErrorBody::of_words("timeout: the response was not whole in its time");
                let line = self.session.request();
                let outcome = outcome.with_body(&text).for_request(line.as_deref());
                let command = self.judge(outcome, |outcome| Event::Elapsed(outcome));
                self.last.result = Some(Err(Error::Timeout(Timeout::Global)));
                command
            }
            ReadEnd::Broken(error) => {
                let outcome = outcome_of_body(self.session.policy(), &error);
                let text = ErrorBody::of_words(&words(&error, outcome.error_kind()));
                self.last.broken = Some(text);
                let line = self.session.request();
                let outcome = outcome.for_request(line.as_deref());
                let command = self.judge(outcome, |outcome| Event::Outcome(outcome));
                // The caller gets the bytes before the break, if no other attempt follows.
                self.last.result = Some(Ok(response));
                command
            }
        }
    }

    /// Returns the time at which a read must be over, at most this long from now.
    pub(super) fn within(&self, most: Duration) -> Duration {
        let left = self.time_left().unwrap_or(Duration::MAX);
        self.engine.clock.now().saturating_add(most.min(left))
    }
}
