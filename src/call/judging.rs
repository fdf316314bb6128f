//! The verdict on an attempt's outcome, once the session has as much of the body as it wants.

use super::client::{AttemptResult, Client, KeptResponse, OwnError};
use super::driver::{CallState, Driver};
use super::start::HeldPermit;
use crate::client::requests::Requests;
use crate::client::responses::{Reading, Responses};
use crate::engine::Engine;
use crate::error::AttemptTimeout;
use crate::gate::GatedCall;
use crate::nested::AttemptMark;
use crate::nested::{RedirectEvidence, RedirectTracker};
use crate::policy::{
    BodyProbe, BodyRequirement, Class, Command, ErrorBody, ErrorKind, Event, Inspected, Moment,
    Outcome, RequestLine, StopReason, StreamHolder, Verdict,
};
use crate::runtime::Sleep;
use http::{Extensions, HeaderMap};
use http_retry_core::adapter::{
    BrokenAnswer, CallEnd, CallKind, GateKey, GateRequest, Redirected, RouteOf, public_authority,
};
use std::future::pending;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// The most bytes of an error body that are read.
const MAX_EVIDENCE_BYTES: usize = 64 * 1024;

/// The longest time that an error body is read.
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

impl<C: Client> CallState<C> {
    /// Judges the result of an attempt.
    pub(super) fn attempt_ended(
        &mut self,
        client: &C,
        result: AttemptResult<C>,
        judged: Option<Verdict>,
    ) -> Command {
        let line = self.session.request();
        let asked = self.saved_head();
        let mut trail = RedirectEvidence {
            may_follow: C::may_follow(),
            path: asked.map(|head| head.path()),
            urls: None,
        };
        let mut error_type = None;
        let outcome = match &result {
            Ok(response) => {
                trail.urls = asked
                    .and_then(|head| head.url())
                    .zip(C::Responses::url(response));
                let head = C::Responses::head(response);
                head.map_or_else(Outcome::success, |(status, headers)| {
                    Outcome::response(status, headers)
                })
            }
            Err(error) => {
                let facts = client.error_facts(self.session.policy(), error);
                trail.may_follow |= facts.may_follow;
                trail.path = trail.path.or(facts.path);
                let is_unknown = facts.outcome.error_kind() == Some(ErrorKind::Other);
                error_type = is_unknown.then_some(facts.type_name);
                facts.outcome
            }
        };
        let redirected = self.redirected(&self.mark, trail);
        self.ended.get_or_insert_default().error_type = error_type;
        let outcome = outcome.redirected(redirected).for_request(line.as_deref());
        let command = match judged {
            Some(verdict) => {
                let outcome = outcome.judged(verdict);
                self.judge(outcome, result.is_ok(), |outcome| Event::Judged(outcome))
            }
            None => self.judge(outcome, result.is_ok(), |outcome| Event::Outcome(outcome)),
        };
        *self.result_mut() = Some(result);
        command
    }

    /// Lets the session judge an outcome, and tells the gate, the budget and the report if that was the last word on it.
    fn judge(
        &mut self,
        mut outcome: Outcome<'_>,
        is_answered: bool,
        event: OutcomeEvent,
    ) -> Command {
        self.prepare_decision(is_answered);
        let at = self.engine.runtime.moment();
        let command = self.session.step(event(&mut outcome), at);
        let ended = self.ended.get_or_insert_default();
        (ended.outcome, ended.at) = (outcome.without_head(), at);
        if !matches!(command, Command::Read(_)) {
            let hints = self.session.hints();
            let outcome = outcome.with_hints(&hints);
            self.end_gate_permits(&outcome, at);
            self.record(outcome, &command);
        }
        command
    }

    /// Tells the session what it must know of the request.
    fn prepare_decision(&mut self, is_answered: bool) {
        let saved = self.saved.as_ref();
        let is_whole = saved.is_some_and(|saved| C::Requests::is_whole(saved, is_answered));
        self.session.set_replayable(is_whole);
        self.resolve_targets();
    }

    /// Tells the budgets and the report of an attempt that has ended.
    fn record(&mut self, outcome: Outcome<'_>, command: &Command) {
        let ended = self.ended.as_ref();
        let (at, error_type) = ended
            .map(|ended| (ended.at, ended.error_type))
            .unwrap_or_default();
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

    fn redirected(&self, mark: &AttemptMark, trail: RedirectEvidence<'_>) -> Redirected {
        let watch = RedirectTracker {
            redirects: &self.engine.redirects,
            layer: self.engine.id(),
            mark,
        };
        watch.redirected(self.session.is_idempotent_by_itself(), trail)
    }

    /// Judges an outcome again, with what was found in its body.
    fn judge_body(&mut self, result: AttemptResult<C>, found: &BodyEvidence) -> Command {
        let line = self.session.request();
        let head = result.as_ref().ok().and_then(C::Responses::head);
        let outcome = self.outcome().with_head(head).for_request(line.as_deref());
        let outcome = match found {
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
        if let Some(text) = self.ended.as_mut().and_then(|ended| ended.broken.take()) {
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
        let mut see = |data: &[u8]| {
            let room = MAX_EVIDENCE_BYTES.saturating_sub(start.len());
            start.extend(data.iter().take(room));
            if start.len() < MAX_EVIDENCE_BYTES {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        };
        let (response, end) = C::Responses::read(response, Reading::Probe(&mut see), time).await;
        let is_whole = matches!(end, Ok(Inspected::AtTheEnd));
        let line = self.session.request();
        let places = C::Responses::head(&response).map(|(status, headers)| {
            let outcome = Outcome::response(status, headers).for_request(line.as_deref());
            self.session.policy().pointers(&outcome)
        });
        let body = ErrorBody::read(&start).cut(!is_whole);
        let body = body.with_pointers(&places.unwrap_or_default());
        self.judge_body(Ok(response), &BodyEvidence::Evidence(body))
    }

    /// Holds a streamed response back until its first output, or until it turns out to be a failure: one that has shown no
    /// output in its time, or by the end of its attempt, has timed out.
    async fn probe(&mut self, result: AttemptResult<C>, mut probe: Box<dyn BodyProbe>) -> Command {
        let runtime = &self.engine.runtime;
        let left = self.attempt_time_left();
        let response = match result {
            // A head may have been waited for past the attempt's limit if no error could tell of a timeout.
            Ok(response) if left != Some(Duration::ZERO) => response,
            result => return self.judge_body(result, &BodyEvidence::Nothing),
        };
        let streams = self.session.policy().streams();
        let bound = streams.and_then(StreamHolder::first_event_timeout);
        let time = left.into_iter().chain(bound).min();
        let time = runtime.sleep(time.unwrap_or(Duration::MAX));
        let mut see = |data: &[u8]| probe.push(data);
        let (response, end) = C::Responses::read(response, Reading::Probe(&mut see), time).await;
        let verdict = probe.verdict(end.unwrap_or(Inspected::AtAnError));
        let found = verdict.map_or(BodyEvidence::Nothing, BodyEvidence::Verdict);
        self.judge_body(Ok(response), &found)
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
        // A head may have been waited for past the attempt's limit if no error could tell of a timeout.
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

    /// The error of a response that broke is judged as that of an attempt. The caller gets what came before it, if no
    /// other attempt follows.
    fn broke(&mut self, response: KeptResponse<C>, broken: BrokenAnswer) -> Command {
        let BrokenAnswer { outcome, words } = broken;
        self.ended.get_or_insert_default().broken = Some(ErrorBody::of_words(&words));
        let line = self.session.request();
        let command = self.judge(outcome.for_request(line.as_deref()), true, |outcome| {
            Event::Outcome(outcome)
        });
        *self.result_mut() = Some(Ok(response));
        command
    }

    /// Decides what follows from an attempt whose time is up, and whose response has not come. Returns `None` if the
    /// attempt goes on, since nothing could say that it was cut: what comes of it is judged when it comes.
    pub(super) async fn cut(&mut self, mark: &AttemptMark) -> Option<Command> {
        let asked = self.saved_head();
        let trail = RedirectEvidence {
            may_follow: C::may_follow(),
            path: asked.map(|head| head.path()),
            urls: None,
        };
        let redirected = self.redirected(mark, trail);
        self.time_is_up(Some(redirected)).await
    }

    /// Decides what follows from an attempt whose response was not whole in its time. The caller gets it as it is, if no
    /// other attempt follows and no error can tell of a timeout.
    async fn cut_response(&mut self) -> Command {
        match self.time_is_up(None).await {
            Some(command) => command,
            None => self.fails(StopReason::DeadlineExceeded),
        }
    }

    /// `redirected` tells of the redirects of an attempt that was not answered.
    async fn time_is_up(&mut self, redirected: Option<Redirected>) -> Option<Command> {
        let is_answered = redirected.is_none();
        let most = self.limit.map_or(Duration::ZERO, |limit| limit.most);
        let mut error = AttemptTimeout::new(most).on_attempt(self.recorder.number());
        if self.time_left() == Some(Duration::ZERO) {
            error = error.by_deadline();
        }
        if is_answered {
            error = error.after_an_answer();
        }
        let text = ErrorBody::of_words(&format!("timeout: {error}"));
        let line = self.session.request();
        let outcome = Outcome::error(ErrorKind::Timeout).with_body(&text);
        let outcome = match redirected {
            Some(redirected) => outcome.redirected(redirected),
            None => outcome.after_an_answer(),
        };
        let mut outcome = outcome.for_request(line.as_deref());
        self.prepare_decision(is_answered);
        // Nobody waits for the attempt any more but who lets it go on.
        self.permit = None;
        let at = self.engine.runtime.moment();
        let mut command = self.session.step(Event::Elapsed(&mut outcome), at);
        let ended = self.ended.get_or_insert_default();
        (ended.outcome, ended.at) = (outcome.without_head(), at);
        ended.error_type = None;
        let own = C::own_error();
        loop {
            let plan = match command {
                Command::Withdraw(plan) => *plan,
                _ if own.is_none() && !is_answered => return None,
                end => {
                    self.record(outcome, &end);
                    *self.result_mut() = own
                        .map(|own| Err(own(OwnError::Timeout(error))))
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
            if self.saved.is_none() && own.is_none() && !is_answered {
                return None;
            }
            self.record(outcome, &Command::Wait(at.now));
            *self.result_mut() = own.map(|own| Err(own(OwnError::Timeout(error))));
            return Some(self.schedule(paid));
        }
    }
}

impl<C: Client> Driver<C> {
    /// Reads as much of a body as the session wants.
    pub(super) async fn read(&mut self, requirement: BodyRequirement) -> Command {
        let Self { client, state, .. } = self;
        let Some(result) = state.result_mut().take() else {
            return state.fails(StopReason::NotRetryable);
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
    /// Waits for the request's turn at its gates, but no longer than it may. Returns how long, or `None` if the deadline
    /// has passed meanwhile.
    pub(super) async fn pass_the_gates(
        &mut self,
        kind: CallKind,
        on_wait: &mut impl FnMut(),
    ) -> Option<Duration> {
        self.narrower.clear();
        let mut waited = Duration::ZERO;
        let permit = self.pass(self.gate_key, kind, &mut waited, on_wait).await?;
        self.permit = Some(permit);
        let line = self.session.request();
        let now = self.engine.runtime.now();
        let narrower = line.map(|line| self.engine.gate.narrower(self.route_of(&line), now));
        for key in narrower.unwrap_or_default() {
            let permit = self.pass(key, kind, &mut waited, &mut || ()).await?;
            self.narrower.push((key, permit));
        }
        Some(waited)
    }

    /// Waits for the request's turn at one gate.
    async fn pass(
        &mut self,
        key: GateKey,
        kind: CallKind,
        waited: &mut Duration,
        on_wait: &mut impl FnMut(),
    ) -> Option<HeldPermit> {
        let left = self.session.gate_wait_left().unwrap_or_default();
        let passed = {
            let Engine { gate, runtime, .. } = &*self.engine;
            let ask = GateRequest {
                key,
                kind,
                began: self.session.started(),
                deadline: self.session.deadline(),
                at_gate: left.saturating_sub(*waited),
                quotas_at_once: self.route.policy().obeys_quotas_at_once(),
            };
            gate.pass(ask, &**runtime, on_wait)
        };
        let passed = passed.await;
        // A turn that came at once is no wait, whatever the clock says.
        if passed.waited >= Duration::from_millis(1) {
            *waited = waited.saturating_add(passed.waited);
            let now = self.engine.runtime.now();
            self.recorder.waited_at_the_gate(passed.waited, now);
        }
        let permit = || HeldPermit::new(Arc::clone(&self.engine), passed.place);
        passed.in_time.then(permit)
    }

    fn route_of<'a>(&self, request: &'a RequestLine) -> RouteOf<'a> {
        RouteOf {
            key: self.gate_key,
            method: request.method(),
            path: request.path(),
        }
    }

    /// Tells the gates what came of the attempt that they let through: a refusal only the gate of the limit that was met.
    pub(super) fn end_gate_permits(&mut self, outcome: &Outcome<'_>, at: Moment) {
        let mut narrower = std::mem::take(&mut self.narrower);
        let Some(mut permit) = self.permit.take() else {
            return;
        };
        let quota = self.route.quota(outcome, at);
        let Some(refusal) = self.session.refusal(outcome, at) else {
            let end = match outcome.class() {
                Class::Success => CallEnd::Succeeded,
                _ => CallEnd::Other,
            };
            permit.ends(end, quota);
            if end == CallEnd::Succeeded {
                for (_, own) in &mut narrower {
                    own.ends(CallEnd::Succeeded, None);
                }
            }
            return;
        };
        let Some(key) = self.narrow_gate(outcome, at) else {
            return permit.ends(CallEnd::Refused(refusal.asked), quota);
        };
        permit.ends(CallEnd::Other, None);
        let own = narrower.iter().position(|(of, _)| *of == key);
        let own = own.map(|own| narrower.swap_remove(own).1);
        // A call that went before the gate was made still has its place there.
        let enter = || {
            let place = self.engine.gate.enter(key, at.now, false).ok()??;
            Some(HeldPermit::new(Arc::clone(&self.engine), Some(place)))
        };
        if let Some(mut own) = own.or_else(enter) {
            own.ends(CallEnd::Refused(refusal.asked), None);
        }
    }

    /// Returns the gate of a limit that stops fewer calls than all of the service's, if the response says that it is one.
    fn narrow_gate(&self, outcome: &Outcome<'_>, at: Moment) -> Option<GateKey> {
        let (scope, request) = (outcome.scope()?, self.session.request()?);
        let call = self.route_of(&request);
        self.engine.gate.narrowed(call, scope, at.now)
    }

    /// Finds the gate of the place where the request goes now.
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
