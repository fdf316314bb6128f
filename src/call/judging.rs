//! The verdict on an attempt's outcome, as soon as the session has the part of the body that it needs.

use super::client::{AttemptResult, Client, KeptResponse};
use super::driver::{CallState, Driver};
use super::start::HeldPermit;
use crate::client::requests::Requests;
use crate::client::responses::{Reading, Responses};
use crate::engine::Engine;
use crate::error::{AttemptTimeout, LayerError};
use crate::gate::GatedCall;
use crate::nested::{AttemptMark, RequestEvidence, RequestTracker};
use crate::policy::{
    Class, ErrorBody, ErrorKind, Moment, Outcome, RequestLine, StopReason, Verdict,
};
use crate::runtime::Sleep;
use http::{Extensions, HeaderMap, StatusCode};
use http_retry_core::adapter::{
    BodyProbe, BodyRequirement, BrokenAnswer, CallEnd, CallKind, Command, EarlierRequests, Event,
    GateKey, GateRequest, Inspected, RouteOf, StreamHolder, public_authority,
};
use std::future::pending;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// The maximum number of bytes read of an error body.
const MAX_EVIDENCE_BYTES: usize = 64 * 1024;

/// The longest time that an error body is read.
const MAX_EVIDENCE_TIME: Duration = Duration::from_secs(2);

/// A function that turns an outcome into an event.
type OutcomeEvent = for<'e, 'a> fn(&'e mut Outcome<'a>) -> Event<'e, 'a>;

/// The evidence found in a body.
enum BodyEvidence {
    Nothing,
    Evidence(ErrorBody),
    /// A stream turned out to be a failure.
    Verdict(Verdict),
}

impl<C: Client> CallState<C> {
    /// Judges the result of an attempt.
    pub(super) fn attempt_ended(
        &mut self,
        client: &C,
        result: AttemptResult<C>,
        judged: Option<Verdict>,
    ) -> Command {
        let line = self.session.request();
        let head = self.saved_head();
        let mut evidence = RequestEvidence {
            may_follow: C::may_follow(),
            path: head.map(|head| head.path()),
            ..RequestEvidence::default()
        };
        let mut error_type = None;
        let outcome = match &result {
            Ok(response) => {
                evidence.urls = head
                    .and_then(|head| head.url())
                    .zip(C::Responses::url(response));
                let head = C::Responses::head(response);
                head.map_or_else(Outcome::success, |(status, headers)| {
                    Outcome::response(status, headers)
                })
            }
            Err(error) => {
                let facts = client.error_facts(self.session.policy(), error);
                evidence.may_be_several = client.may_send_several();
                evidence.may_follow |= facts.may_follow;
                evidence.path = evidence.path.or(facts.path);
                let is_unknown = facts.outcome.error_kind() == Some(ErrorKind::Other);
                error_type = is_unknown.then_some(facts.type_name);
                facts.outcome
            }
        };
        let earlier = self.earlier_requests(&self.mark, evidence);
        // Set before the verdict, since `record` reads it.
        self.last.get_or_insert_default().error_type = error_type;
        let outcome = outcome.after_others(earlier).for_request(line.as_deref());
        let outcome = with_connection(client, outcome);
        let command = match judged {
            Some(verdict) => {
                let outcome = outcome.judged(verdict);
                self.judge(outcome, result.is_ok(), |outcome| Event::Judged(outcome))
            }
            None => self.judge(outcome, result.is_ok(), |outcome| Event::Outcome(outcome)),
        };
        // Until here `outcome` borrowed the headers of `result`.
        *self.result_mut() = Some(result);
        command
    }

    /// Lets the session judge an outcome. Reports it to the gate, the budget and the report if the verdict is final.
    fn judge(
        &mut self,
        mut outcome: Outcome<'_>,
        is_answered: bool,
        event: OutcomeEvent,
    ) -> Command {
        self.prepare_decision(is_answered);
        let at = self.engine.runtime.moment();
        let command = self.session.step(event(&mut outcome), at);
        let last = self.last.get_or_insert_default();
        (last.outcome, last.at) = (outcome.without_head(), at);
        // If the body is read first, the verdict may change, so nothing is counted yet.
        if matches!(command, Command::Read(_)) {
            self.hold_at_the_gate(&outcome, at);
        } else {
            let hints = self.session.hints();
            let outcome = outcome.with_hints(&hints);
            self.end_gate_permits(&outcome, at);
            self.record(outcome, &command);
        }
        command
    }

    /// Updates the facts of the request that the session decides by.
    fn prepare_decision(&mut self, is_answered: bool) {
        let saved = self.saved.as_ref();
        let is_whole = saved.is_some_and(|saved| C::Requests::is_whole(saved, is_answered));
        self.session.set_replayable(is_whole);
        self.resolve_targets();
    }

    /// Counts an attempt that has ended in the budgets and the report.
    fn record(&mut self, outcome: Outcome<'_>, command: &Command) {
        let last = self.last.as_ref();
        let (at, error_type) = last
            .map(|last| (last.at, last.error_type))
            .unwrap_or_default();
        // A layer that repeats nothing deposits nothing: an outer layer counts the same success.
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
        self.recorder
            .attempt_ended(&outcome, at, by, error_type, is_done);
    }

    fn earlier_requests(
        &self,
        mark: &AttemptMark,
        evidence: RequestEvidence<'_>,
    ) -> EarlierRequests {
        let tracker = RequestTracker {
            redirects: &self.engine.redirects,
            layer: self.engine.id(),
            mark,
            handle: self.handle.as_ref(),
        };
        tracker.earlier(self.session.is_idempotent_by_itself(), evidence)
    }

    /// Judges an outcome again, with the evidence from its body.
    fn judge_body(&mut self, result: AttemptResult<C>, evidence: &BodyEvidence) -> Command {
        let line = self.session.request();
        let head = result.as_ref().ok().and_then(C::Responses::head);
        let outcome = self.outcome().with_head(head).for_request(line.as_deref());
        let outcome = match evidence {
            BodyEvidence::Nothing => outcome,
            BodyEvidence::Evidence(body) => outcome.with_body(body),
            BodyEvidence::Verdict(verdict) => outcome.judged(*verdict),
        };
        let command = self.judge(outcome, result.is_ok(), |outcome| Event::Body(outcome));
        *self.result_mut() = Some(result);
        command
    }

    /// Reads the start of an error body, or the text of an error.
    async fn read_evidence(&mut self, result: AttemptResult<C>) -> Command {
        if let Some(text) = self.last.as_mut().and_then(|last| last.broken.take()) {
            return self.judge_body(result, &BodyEvidence::Evidence(text));
        }
        let policy = self.session.policy();
        let response = match result {
            Ok(response) => response,
            Err(error) => {
                let text = C::error_text(policy, &error, self.outcome().error_kind());
                let text = ErrorBody::of_words(&text);
                return self.judge_body(Err(error), &BodyEvidence::Evidence(text));
            }
        };
        let left = self.time_left().unwrap_or(Duration::MAX);
        let time = self.engine.runtime.sleep(MAX_EVIDENCE_TIME.min(left));
        let mut start = Vec::new();
        let mut inspect = |data: &[u8]| {
            let room = MAX_EVIDENCE_BYTES.saturating_sub(start.len());
            start.extend(data.iter().take(room));
            if start.len() < MAX_EVIDENCE_BYTES {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        };
        let (response, end) =
            C::Responses::read(response, Reading::Probe(&mut inspect), time).await;
        let is_whole = matches!(end, Ok(Inspected::AtTheEnd));
        let line = self.session.request();
        let pointers = C::Responses::head(&response).map(|(status, headers)| {
            let outcome = Outcome::response(status, headers).for_request(line.as_deref());
            self.session.policy().pointers(&outcome)
        });
        let body = ErrorBody::read(&start).cut(!is_whole);
        let body = body.with_pointers(&pointers.unwrap_or_default());
        self.judge_body(Ok(response), &BodyEvidence::Evidence(body))
    }

    /// Holds a streamed response back until its first output, or until it turns out to be a failure. It times out if it
    /// shows no output within its own limit or that of the attempt.
    async fn probe(&mut self, result: AttemptResult<C>, mut probe: Box<dyn BodyProbe>) -> Command {
        let runtime = &self.engine.runtime;
        let left = self.attempt_time_left();
        let response = match result {
            // The head may have come after the attempt's limit, if no error could report the timeout.
            Ok(response) if left != Some(Duration::ZERO) => response,
            result => return self.judge_body(result, &BodyEvidence::Nothing),
        };
        let streams = self.session.policy().streams();
        let bound = streams.and_then(StreamHolder::first_event_timeout);
        let time = left.into_iter().chain(bound).min();
        let time = runtime.sleep(time.unwrap_or(Duration::MAX));
        let mut inspect = |data: &[u8]| probe.push(data);
        let (response, end) =
            C::Responses::read(response, Reading::Probe(&mut inspect), time).await;
        let verdict = probe.verdict(end.unwrap_or(Inspected::AtAnError));
        let evidence = verdict.map_or(BodyEvidence::Nothing, BodyEvidence::Verdict);
        self.judge_body(Ok(response), &evidence)
    }

    /// Reads a response to its end, within the limits. Also returns `true` if that failed.
    async fn read_whole(&mut self, result: AttemptResult<C>, bytes: u64) -> (Command, bool) {
        let Ok(response) = result else {
            return (self.judge_body(result, &BodyEvidence::Nothing), false);
        };
        let runtime = &self.engine.runtime;
        let left = self.attempt_time_left();
        let time: Sleep = match left {
            Some(left) => runtime.sleep(left),
            None => Box::pin(pending()),
        };
        // A late head, as in `probe`. With a limit of 0 nothing is read, but an early end is still an error.
        let is_too_late = left == Some(Duration::ZERO) && C::own_error().is_none();
        let bytes = if is_too_late { 0 } else { bytes };
        let reading = Reading::Whole(self.session.policy(), bytes);
        let (response, end) = C::Responses::read(response, reading, time).await;
        match end {
            Ok(Inspected::TimeIsUp) => {
                *self.result_mut() = Some(Ok(response));
                (self.cut_response().await, true)
            }
            Ok(_) => (self.judge_body(Ok(response), &BodyEvidence::Nothing), false),
            Err(broken) => (self.broke(response, *broken), true),
        }
    }

    /// Judges the error of a response that broke, like the error of an attempt. If no retry follows, the caller gets
    /// the response with the bytes before the break.
    fn broke(&mut self, response: KeptResponse<C>, broken: BrokenAnswer) -> Command {
        let BrokenAnswer { outcome, words } = broken;
        self.last.get_or_insert_default().broken = Some(ErrorBody::of_words(&words));
        let line = self.session.request();
        let command = self.judge(outcome.for_request(line.as_deref()), true, |outcome| {
            Event::Outcome(outcome)
        });
        *self.result_mut() = Some(Ok(response));
        command
    }

    /// Decides the command after an attempt that got no response in time. Returns `None` if the attempt continues,
    /// since no retry follows and no error could report the timeout; its result is judged when it comes.
    pub(super) async fn cut(&mut self, mark: &AttemptMark) -> Option<Command> {
        let head = self.saved_head();
        let evidence = RequestEvidence {
            may_follow: C::may_follow(),
            path: head.map(|head| head.path()),
            ..RequestEvidence::default()
        };
        let earlier = self.earlier_requests(mark, evidence);
        self.time_is_up(Some(earlier)).await
    }

    /// Decides the command after an attempt whose response was not whole in its time. The caller gets the response as
    /// it is if no retry follows and no error can report the timeout.
    async fn cut_response(&mut self) -> Command {
        match self.time_is_up(None).await {
            Some(command) => command,
            None => self.fail(StopReason::DeadlineExceeded),
        }
    }

    /// `earlier` is `None` if the head of the response had arrived.
    async fn time_is_up(&mut self, earlier: Option<EarlierRequests>) -> Option<Command> {
        let is_answered = earlier.is_none();
        let timeout = self.limit.map_or(Duration::ZERO, |limit| limit.timeout);
        let mut error = AttemptTimeout::new(timeout).on_attempt(self.recorder.number());
        if self.time_left() == Some(Duration::ZERO) {
            error = error.by_deadline();
        }
        if is_answered {
            error = error.after_an_answer();
        }
        let text = ErrorBody::of_words(&format!("timeout: {error}"));
        let line = self.session.request();
        let outcome = Outcome::error(ErrorKind::Timeout).with_body(&text);
        let outcome = match earlier {
            Some(earlier) => outcome.after_others(earlier),
            None => outcome.after_an_answer(),
        };
        let mut outcome = outcome.for_request(line.as_deref());
        self.prepare_decision(is_answered);
        // The attempt counts as ended at its gates, even if it continues because nothing can report the timeout.
        self.leave_gates();
        let at = self.engine.runtime.moment();
        let mut command = self.session.step(Event::Elapsed(&mut outcome), at);
        let last = self.last.get_or_insert_default();
        (last.outcome, last.at) = (outcome.without_head(), at);
        last.error_type = None;
        let own = C::own_error();
        loop {
            let plan = match command {
                Command::Withdraw(plan) => *plan,
                _ if own.is_none() && !is_answered => return None,
                end => {
                    self.record(outcome, &end);
                    // Without such an error the caller keeps the response that was cut.
                    *self.result_mut() = own
                        .map(|own| Err(own(LayerError::Timeout(error))))
                        .or(self.result_mut().take());
                    return Some(end);
                }
            };
            let paid = match self.grant(plan).await {
                Ok(paid) => paid,
                Err(other) => {
                    command = other;
                    continue;
                }
            };
            // `schedule` would refuse the retry, and there would be nothing to return. Dropping `paid` returns tokens.
            if self.saved.is_none() && own.is_none() && !is_answered {
                return None;
            }
            // Before `schedule` adds the retry to the report. Any command but `Finish` will do here.
            self.record(outcome, &Command::Wait(at.now));
            *self.result_mut() = own.map(|own| Err(own(LayerError::Timeout(error))));
            return Some(self.schedule(paid));
        }
    }
}

/// Tells a 421 if its connection can be left.
fn with_connection<'a, C: Client>(client: &C, outcome: Outcome<'a>) -> Outcome<'a> {
    // The status first, since a look at the connection takes a lock.
    let is_misdirected = outcome.status() == Some(StatusCode::MISDIRECTED_REQUEST);
    if is_misdirected && client.can_leave_connection() {
        outcome.on_leavable_connection()
    } else {
        outcome
    }
}

impl<C: Client> Driver<C> {
    /// Reads the part of a body that the session needs.
    pub(super) async fn read(&mut self, requirement: BodyRequirement) -> Command {
        let Self { client, state, .. } = self;
        let Some(result) = state.result_mut().take() else {
            return state.fail(StopReason::NotRetryable);
        };
        match requirement {
            BodyRequirement::Evidence => state.read_evidence(result).await,
            BodyRequirement::Probe(probe) => state.probe(result, probe).await,
            BodyRequirement::Whole(bytes) => {
                let (command, has_failed) = state.read_whole(result, bytes).await;
                if has_failed {
                    client.leave_connection(state.session.policy(), None);
                }
                command
            }
        }
    }
}

impl<C: Client> CallState<C> {
    /// Waits for the request's turn at its gates, within the limit on such waits. Returns the time waited.
    ///
    /// # Errors
    ///
    /// The deadline comes first. The error holds the time for which the gate stays shut, if the wait ends early for it.
    pub(super) async fn pass_the_gates(
        &mut self,
        kind: CallKind,
        on_wait: &mut impl FnMut(),
    ) -> Result<Duration, Option<Duration>> {
        self.narrower.clear();
        let mut waited = Duration::ZERO;
        let permit = self.pass(self.gate_key, kind, &mut waited, on_wait).await?;
        self.permit = Some(permit);
        // Looked up after the wait at the service's gate: another call may have met a narrower limit meanwhile.
        let line = self.session.request();
        let now = self.engine.runtime.now();
        let narrower = line.map(|line| self.engine.gate.narrower(self.route_of(&line), now));
        for key in narrower.unwrap_or_default() {
            let permit = self.pass(key, kind, &mut waited, &mut || ()).await?;
            self.narrower.push((key, permit));
        }
        Ok(waited)
    }

    /// Waits for the request's turn at one gate.
    async fn pass(
        &mut self,
        key: GateKey,
        kind: CallKind,
        waited: &mut Duration,
        on_wait: &mut impl FnMut(),
    ) -> Result<HeldPermit, Option<Duration>> {
        let left = self.session.gate_wait_left().unwrap_or_default();
        let passed = {
            let Engine { gate, runtime, .. } = &*self.engine;
            let request = GateRequest {
                key,
                kind,
                began: self.session.started(),
                deadline: self.session.deadline(),
                // Without an outcome to return, the call is sent late.
                ends_early: self.result().is_some() || C::own_error().is_some(),
                at_gate: left.saturating_sub(*waited),
                quotas_at_once: self.route.policy().obeys_quotas_at_once(),
            };
            gate.pass(request, &**runtime, on_wait)
        };
        let passed = passed.await;
        // The clock may advance even if the gate was idle, so less than a millisecond is not reported as a wait.
        if passed.waited >= Duration::from_millis(1) {
            *waited = waited.saturating_add(passed.waited);
            let now = self.engine.runtime.now();
            self.recorder.waited_at_the_gate(passed.waited, now);
        }
        let permit = |place| HeldPermit::new(Arc::clone(&self.engine), place);
        passed.place.map(permit)
    }

    fn route_of<'a>(&self, request: &'a RequestLine) -> RouteOf<'a> {
        RouteOf {
            key: self.gate_key,
            method: request.method(),
            path: request.path(),
        }
    }

    /// Frees the places of an attempt that was cut.
    fn leave_gates(&mut self) {
        self.permit = None;
        self.held = None;
        self.narrower.clear();
    }

    /// Reports a refusal that the head of a response shows to the service's gate, which need not wait for the body.
    fn hold_at_the_gate(&mut self, outcome: &Outcome<'_>, at: Moment) {
        if let (Some(refusal), Some(permit)) =
            (self.session.provisional_refusal(), self.permit.take())
        {
            let held = permit.hold(refusal.asked, self.route.quota(outcome, at));
            self.held = held.map(Box::new);
        }
    }

    /// Reports the end of an attempt to its gates. A refusal is reported only to the gate of the limit that was met.
    pub(super) fn end_gate_permits(&mut self, outcome: &Outcome<'_>, at: Moment) {
        let mut narrower = std::mem::take(&mut self.narrower);
        let (held, permit) = (self.held.take(), self.permit.take());
        if held.is_none() && permit.is_none() {
            return;
        }
        let refusal = self.session.refusal(outcome, at);
        let narrow = refusal.and_then(|_| self.narrow_gate(outcome, at));
        let end = match (refusal, narrow) {
            (Some(refusal), None) => CallEnd::Refused(refusal.asked),
            (None, _) if outcome.class() == Class::Success => CallEnd::Succeeded,
            _ => CallEnd::Other,
        };
        // That of a narrower limit says nothing about the service.
        let quota = self.route.quota(outcome, at);
        let quota = quota.filter(|_| narrow.is_none());
        if let Some(mut held) = held {
            held.end(end, quota);
        }
        if let Some(mut permit) = permit {
            permit.end(end, quota);
        }
        if end == CallEnd::Succeeded {
            for (_, own) in &mut narrower {
                own.end(CallEnd::Succeeded, None);
            }
        }
        let (Some(refusal), Some(key)) = (refusal, narrow) else {
            return;
        };
        let own = narrower.iter().position(|(gate, _)| *gate == key);
        let own = own.map(|own| narrower.swap_remove(own).1);
        // This refusal may be the first to show the narrower limit. Then the call holds no permit of that gate yet.
        let enter = || {
            let permit = self.engine.gate.enter(key, at.now, false).ok()??;
            Some(HeldPermit::new(Arc::clone(&self.engine), Some(permit)))
        };
        if let Some(mut own) = own.or_else(enter) {
            own.end(CallEnd::Refused(refusal.asked), None);
        }
    }

    /// Returns the gate of a limit on some of the service's calls, if the response names the scope of its limit.
    fn narrow_gate(&self, outcome: &Outcome<'_>, at: Moment) -> Option<GateKey> {
        let (scope, request) = (outcome.scope()?, self.session.request()?);
        let call = self.route_of(&request);
        self.engine.gate.narrowed(call, scope, at.now)
    }

    /// Returns the gate of the URI that the request is sent to now.
    pub(super) fn find_gate(
        &self,
        headers: &HeaderMap,
        extensions: Option<&Extensions>,
    ) -> Option<GateKey> {
        self.route.policy().gate_wait_limit()?;
        let head = self.head.as_ref()?;
        let at = head.at.as_ref()?;
        let authority = public_authority(at, || None)?;
        let mut call = GatedCall::new(&authority, &head.method, at.path(), headers);
        call.extensions = extensions;
        let gate = &self.engine.gate;
        let key = (gate.key(&call), &*authority);
        let apart = || gate.key_text(&call);
        Some(self.engine.gate_key_of(&self.route, key, apart))
    }
}
