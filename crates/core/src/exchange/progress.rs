//! The progress of a request that did not succeed on its first attempt: its session, its report, and what follows from
//! them.

use super::engine::Engine;
use super::gates::{PermitGuard, joined_gate_key};
use super::head::{Head, Kept};
use super::retry::{Awaited, CutAttempt, Limit, UndoMove};
use super::todo::{End, Ending, ErrorFacts, Found, Todo};
use super::{Exchange, signs_of};
use crate::attempt::{self, AttemptHandle};
use crate::budget::{PaidRetry, RetryBudget};
use crate::gate::GateKey;
use crate::nested::{AttemptMark, RedirectSigns};
use crate::policy::bodies::BodyPart;
use crate::policy::ext::PolicyExt;
use crate::policy::outcome::earlier::EarlierRequests;
use crate::policy::outcome::ext::OutcomeExt;
use crate::policy::rules::OnExhausted;
use crate::policy::session::Decision;
use crate::policy::session::ext::SessionExt;
use crate::policy::{
    Attempt, Class, ErrorBody, ErrorKind, Moment, Outcome, RequestFacts, RetrySession, StopReason,
    StreamHolder, Verdict,
};
use crate::report::DeadLetter;
use crate::report::recorder::ReportRecorder;
use crate::route::Route;
use crate::runtime::Sleep;
use crate::server_hints::has_quota_header;
use http::{HeaderMap, HeaderName, Method, StatusCode, Uri};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

/// The longest time for which the start of an error body is read.
const MAX_ERROR_BODY_TIME: Duration = Duration::from_secs(2);

/// The progress of a request that did not succeed on its first attempt, that waits before it, or whose success is looked
/// at.
pub(super) struct Progress {
    pub(super) engine: Arc<Engine>,
    pub(super) route: Arc<Route>,
    pub(super) session: RetrySession,
    pub(super) budget: RetryBudget,
    pub(super) recorder: Box<ReportRecorder>,
    /// `None` unless a failover, a dead letter or a made-up response may need it.
    pub(super) head: Option<Box<SavedHead>>,
    /// The gate of the requests that share a rate limit with this one.
    pub(super) gate_key: GateKey,
    /// The right to send the attempt under way.
    pub(super) permit: Option<PermitGuard>,
    /// The rights that narrower limits give, with their gates.
    pub(super) narrower: Vec<(GateKey, PermitGuard)>,
    /// The narrower gates that are still to pass; `None` before the gate of the service.
    pub(super) ahead: Option<Vec<GateKey>>,
    /// The time waited at the gates before this attempt.
    pub(super) waited: Duration,
    /// `true` if the first attempt is sent as the request begins, before anything has waited.
    pub(super) starts_at_once: bool,
    pub(super) limit: Option<Limit>,
    pub(super) waiting: Awaited,
    /// The end of a wait, and its future.
    pub(super) timer: Option<(Duration, Sleep)>,
    /// The meaning of the last attempt, and when it was judged.
    pub(super) last: Outcome<'static>,
    pub(super) at: Moment,
    /// The name of the last error's type, if its kind says nothing.
    pub(super) error_type: Option<&'static str>,
    /// The text of the error that has broken a response.
    broken: Option<Box<ErrorBody>>,
    /// The attempt that was cut, until it is decided what follows.
    pub(super) cut: Option<Box<CutAttempt>>,
    /// The retry that is scheduled, and the way back to the service that it leaves.
    pub(super) paid: Option<Box<PaidRetry>>,
    pub(super) undo_move: Option<UndoMove>,
    /// The time for which the gate stays shut, if that ended the request.
    pub(super) shut_for: Option<Duration>,
}

/// A copy of a request's head that outlives the request.
pub(super) struct SavedHead {
    pub(super) method: Method,
    uri: String,
    /// The URI that the request is sent to now, if it can be parsed.
    pub(super) at: Option<Uri>,
    headers: HeaderMap,
    /// The credential headers of every policy that the request has been sent under.
    pub(super) credentials: Vec<HeaderName>,
}

impl Exchange {
    /// Opens the progress of this request.
    #[cold]
    pub(super) fn new_progress(&mut self, head: Option<&impl Head>) -> Box<Progress> {
        let engine = Arc::clone(&self.permit.engine);
        let empty = PermitGuard::new(Arc::clone(&engine), None);
        let permit = std::mem::replace(&mut self.permit, empty);
        let route = Arc::clone(&self.route);
        let policy = route.policy();
        let recorder = match self.recorder.take() {
            Some(recorder) => recorder,
            None => self.new_recorder(head),
        };
        let subject = recorder.subject();
        let facts = self.facts(head);
        let request = match head {
            _ if !policy.asks_for_the_request() => None,
            Some(head) => Some(Arc::new(head.keyed_request(policy).into_owned())),
            None => self.settings.request().map(Arc::clone),
        };
        let gate_key = match head {
            Some(head) => joined_gate_key(&engine, &route, &subject.authority, head),
            None => self.settings.gate_key(),
        };
        let mut session = self.settings.session(policy, facts, self.started);
        session.set_request(subject.method.clone(), request);
        // Nothing pays for a request that is never sent again.
        let budget = if !self.has_found_budget() && self.settings.may_retry(&route) {
            engine.budget_of(&route, || Arc::clone(&subject.service))
        } else {
            self.found_budget.clone()
        };
        let operation = self.settings.operation(&route);
        let gate_of_operation = || Some(engine.gate_key_of_operation(&route, operation?));
        Box::new(Progress {
            budget,
            session,
            recorder,
            head: head.filter(|_| route.keeps_head).map(SavedHead::new),
            gate_key: gate_key.or_else(gate_of_operation).unwrap_or_default(),
            // An empty permit has nothing to report to the gate when the attempt ends.
            permit: Some(permit).filter(|permit| permit.inner.is_some()),
            narrower: Vec::new(),
            ahead: None,
            waited: Duration::ZERO,
            starts_at_once: false,
            limit: None,
            waiting: Awaited::Nothing,
            timer: None,
            last: Outcome::success(),
            at: Moment::default(),
            error_type: None,
            broken: None,
            cut: None,
            paid: None,
            undo_move: None,
            shut_for: None,
            engine,
            route,
        })
    }

    /// Begins the report of this request.
    pub(super) fn new_recorder(&self, head: Option<&impl Head>) -> Box<ReportRecorder> {
        let (engine, settings) = (self.engine(), &self.settings);
        let mut subject = settings.subject(&self.route, head);
        if let Some(request) = settings.request() {
            subject.authority = request.authority().unwrap_or_default().into();
            subject.service = settings.named(&self.route, &subject.authority);
            subject.method = request.method().cloned();
        }
        let mut recorder = Box::new(ReportRecorder::new(
            subject,
            Arc::clone(&engine.observers),
            settings.slot().cloned(),
            self.started,
        ));
        recorder.names_unknown(engine.unknown_service(&self.route, settings.service_name()));
        recorder
    }

    pub(super) fn facts(&self, head: Option<&impl Head>) -> RequestFacts {
        head.map(|head| head.facts().keyed(head.has_own_key(self.route.policy())))
            .or(self.settings.facts)
            .unwrap_or_else(RequestFacts::operation)
    }
}

impl Progress {
    /// Takes the request's turn at its gates, if its policy has any, before an attempt.
    pub(super) fn start(&mut self, now: Duration) -> Todo {
        match self.session.gate_wait_left() {
            Some(_) => self.admit(now),
            None => Todo::Send,
        }
    }

    /// Records the start of a first attempt that went out before there was a progress.
    pub(super) fn was_sent(&mut self, is_reported: bool) {
        let started = self.session.started();
        if !is_reported {
            self.recorder.attempt_started(started);
        }
        self.begin_attempt(started);
    }

    /// Spends the tokens of a retry, and reports the start of the attempt.
    pub(super) fn attempt(&mut self, outer: Option<&AttemptHandle>) -> Attempt {
        self.undo_move = None;
        if let Some(paid) = self.paid.take() {
            paid.commit();
            self.recorder.retry_sent();
            if self.session.may_have_done_harm() {
                // If this layer stands further in, an outer attempt sends more than the request of its outcome.
                attempt::sent();
                outer.into_iter().for_each(AttemptHandle::sent);
            }
        }
        let now = if std::mem::take(&mut self.starts_at_once) {
            self.session.started()
        } else {
            self.engine.runtime.now()
        };
        self.recorder.attempt_started(now);
        let timeout = self.begin_attempt(now);
        Attempt::new(self.recorder.number(), timeout)
    }

    /// Sets the attempt's limits, and returns its timeout.
    fn begin_attempt(&mut self, now: Duration) -> Option<Duration> {
        self.session.attempt_started(now);
        self.timer = None;
        let timeout = self.session.attempt_limit(now);
        self.limit = timeout.map(|timeout| Limit::new(timeout, now));
        timeout
    }

    /// Applies the session's decision to the state that requests share, and returns what the adapter must do.
    pub(super) fn apply(&mut self, decision: Decision) -> Todo {
        match decision {
            Decision::Read(part) => self.read_within(part),
            Decision::Retry(plan) => self.pay_for(plan),
            Decision::Finish(_) => Todo::Done,
        }
    }

    /// Judges the end of an attempt.
    pub(super) fn ended(
        &mut self,
        kept: &impl Kept,
        end: &End<'_>,
        mark: &AttemptMark,
        judged: Option<Verdict>,
    ) -> Todo {
        let head = kept.head();
        let mut signs = signs_of(kept, head.as_ref());
        // The limit is over with the attempt, even if the answer is still read.
        self.timer = None;
        self.error_type = None;
        let mut error = None;
        let (outcome, has_response) = match *end {
            End::Value => (Outcome::success(), true),
            End::Response {
                status,
                headers,
                url,
                can_leave,
            } => {
                signs.urls = head.as_ref().and_then(Head::url).zip(url);
                let outcome = Outcome::response(status, headers);
                let outcome = if can_leave {
                    outcome.on_changeable_connection()
                } else {
                    outcome
                };
                (outcome, true)
            }
            End::Error(ErrorFacts {
                outcome,
                type_name,
                error: itself,
                redirects: shown,
            }) => {
                error = itself;
                signs = RedirectSigns {
                    may_follow: signs.may_follow || shown.may_follow,
                    path: signs.path.or(shown.path),
                    ..shown
                };
                let is_unknown = outcome.error_kind() == Some(ErrorKind::Other);
                self.error_type = is_unknown.then_some(type_name);
                (outcome, false)
            }
            End::Late { text, can_report } => {
                self.recorder.copies_sent(mark.copies());
                let earlier = self.earlier_requests(mark, signs);
                return self.timed_out(kept, text, Some(earlier), can_report);
            }
        };
        let request = self.session.request();
        self.recorder.copies_sent(mark.copies());
        let earlier = self.earlier_requests(mark, signs);
        let mut outcome = outcome
            .after_others(earlier)
            .for_request(request.as_deref());
        if judged.is_none() && self.session.accepts_unseen(&outcome) {
            return self.succeed(outcome);
        }
        let at = self.prepare_decision(kept, has_response);
        let decision = self.session.judge_end(&mut outcome, judged, at);
        self.settle(kept, decision, (outcome, error), at)
    }

    /// Ends the request with a success that nothing looks at.
    fn succeed(&mut self, outcome: Outcome<'_>) -> Todo {
        self.session.succeed();
        // Only a quota is measured by the wall clock.
        let reads_quotas = self.permit.as_ref().is_some_and(PermitGuard::reads_quotas);
        let has_quota = reads_quotas && outcome.headers().is_some_and(has_quota_header);
        self.at = if has_quota {
            self.engine.runtime.moment()
        } else {
            self.now()
        };
        self.last = outcome.without_head();
        self.end_permits(&outcome);
        self.record(outcome, None, Some(StopReason::Succeeded));
        Todo::Done
    }

    /// Judges the last outcome again, by what was found in its body.
    pub(super) fn read(
        &mut self,
        kept: &impl Kept,
        head: Option<(StatusCode, &HeaderMap)>,
        found: Found<'_>,
    ) -> Todo {
        match found {
            Found::Nothing => self.judge_body(kept, head, (None, None), None),
            Found::Start(bytes, is_whole) => {
                let request = self.session.request();
                let pointers = head.map(|(status, headers)| {
                    let outcome =
                        Outcome::response(status, headers).for_request(request.as_deref());
                    self.session.policy().pointers(&outcome)
                });
                let body = ErrorBody::read(bytes).cut(!is_whole);
                let body = body.with_pointers(&pointers.unwrap_or_default());
                self.judge_body(kept, head, (Some(&body), None), None)
            }
            Found::Text(text, error) => {
                let text = ErrorBody::of_words(text);
                self.judge_body(kept, head, (Some(&text), error), None)
            }
            Found::Verdict(verdict) => self.judge_body(kept, head, (None, None), verdict),
            Found::Broken(broken, text) => {
                self.broken = Some(Box::new(ErrorBody::of_words(text)));
                let request = self.session.request();
                let mut outcome = broken.for_request(request.as_deref());
                let at = self.prepare_decision(kept, true);
                let decision = self.session.judge_end(&mut outcome, None, at);
                self.settle(kept, decision, (outcome, None), at)
            }
            Found::Late(text, can_report) => self.timed_out(kept, text, None, can_report),
        }
    }

    fn judge_body(
        &mut self,
        kept: &impl Kept,
        head: Option<(StatusCode, &HeaderMap)>,
        (body, error): (Option<&ErrorBody>, Option<&(dyn Error + 'static)>),
        verdict: Option<Verdict>,
    ) -> Todo {
        let request = self.session.request();
        let mut outcome = self.last.with_head(head).for_request(request.as_deref());
        if let Some(body) = body {
            outcome = outcome.with_body(body);
        }
        if let Some(verdict) = verdict {
            outcome = outcome.judged(verdict);
        }
        let at = self.prepare_decision(kept, head.is_some());
        let decision = self.session.judge_body(&mut outcome, at);
        self.settle(kept, decision, (outcome, error), at)
    }

    /// Reports a judged outcome to the gate, the budget and the report if the decision is final, and applies it.
    fn settle(
        &mut self,
        kept: &impl Kept,
        decision: Decision,
        (outcome, error): (Outcome<'_>, Option<&(dyn Error + 'static)>),
        at: Moment,
    ) -> Todo {
        (self.last, self.at) = (outcome.without_head(), at);
        // If the body is read first, the verdict may change, so nothing is counted yet.
        if matches!(decision, Decision::Read(_)) {
            self.hold_at_the_gate(&outcome);
        } else {
            let hints = self.session.hints();
            let outcome = outcome.with_hints(&hints);
            self.end_permits(&outcome);
            self.record(outcome, error, decision.end());
        }
        // The text of a broken body is here already.
        let needs_text = matches!(decision, Decision::Read(BodyPart::Start(_)));
        match self.broken.take_if(|_| needs_text) {
            Some(text) => self.judge_body(kept, None, (Some(&text), None), None),
            None => self.apply(decision),
        }
    }

    /// Updates the facts of the request that the session decides by, and returns the moment of the decision.
    #[inline(never)]
    pub(super) fn prepare_decision<K: Kept>(&mut self, kept: &K, has_response: bool) -> Moment {
        self.session.set_replayable(kept.is_whole(has_response));
        self.resolve_targets(K::can_move());
        self.engine.runtime.moment()
    }

    /// Counts an attempt that has ended in the budgets and the report. `error` is what observers get of it, and `end` is
    /// why the request ends with it, if it does.
    pub(super) fn record(
        &mut self,
        outcome: Outcome<'_>,
        error: Option<&(dyn Error + 'static)>,
        end: Option<StopReason>,
    ) {
        let at = self.at;
        // A layer that repeats nothing deposits nothing: an outer layer counts the same success.
        if outcome.class() == Class::Success && self.session.repeats() {
            self.budget.deposit(at.now);
            let others = self.route.named_budgets.iter().map(|(_, budget)| budget);
            others.for_each(|budget| budget.deposit(at.now));
        }
        let is_done = end == Some(StopReason::Succeeded);
        let outcome = match end {
            Some(why) => outcome.refused(why),
            None => outcome,
        };
        let by = (
            self.session.deciding_rule(),
            self.session.policy().row_of(&outcome),
        );
        self.recorder
            .attempt_ended((&outcome, error), at, by, self.error_type, is_done);
    }

    pub(super) fn earlier_requests(
        &self,
        mark: &AttemptMark,
        signs: RedirectSigns<'_>,
    ) -> EarlierRequests {
        let attempt = (self.engine.id(), mark);
        let harmless = self.session.is_idempotent_by_itself();
        self.engine.redirects.earlier(attempt, harmless, signs)
    }

    /// Returns the read of a part of the response, with its time limit.
    fn read_within(&self, part: BodyPart) -> Todo {
        let by_attempt = self.limit.map(|limit| limit.until);
        let (part, until) = match part {
            BodyPart::Probe(_) => {
                let streams = self.session.policy().streams();
                let bound = streams.and_then(StreamHolder::first_event_timeout);
                let bound = bound.map(|bound| self.now().now.saturating_add(bound));
                (part, by_attempt.into_iter().chain(bound).min())
            }
            BodyPart::Whole(bytes) => {
                // Of an answer whose head came too late nothing is read, but an early end is still an error.
                let is_late = self.limit.is_some_and(|limit| limit.is_ignored);
                (BodyPart::Whole(if is_late { 0 } else { bytes }), by_attempt)
            }
            BodyPart::Start(_) | BodyPart::Rest(_) => {
                (part, Some(self.within(MAX_ERROR_BODY_TIME)))
            }
        };
        Todo::Read {
            part,
            until: until.unwrap_or(Duration::MAX),
        }
    }

    /// Closes the report, and returns what the caller gets.
    pub(super) fn finish(&mut self) -> Ending {
        let why = self.session.stop_reason();
        let now = match why {
            // Judged just now.
            StopReason::Succeeded => self.at.now,
            _ => self.engine.runtime.now(),
        };
        let ends_with = self.session.ends_with();
        // Before the report is closed, which must say that no server sent the response.
        if matches!(ends_with, OnExhausted::Respond(_)) {
            self.recorder.responds_itself();
        }
        let end = (why, self.session.stopped_by());
        let report = self.recorder.stopped(end, now, &self.budget);
        if why == StopReason::RedirectsUnknown {
            self.engine.redirects.warn_of_the_missing_setting();
        }
        let (mut response, mut fails) = (None, false);
        match (ends_with, &report, &self.head) {
            (OnExhausted::Respond(canned), _, Some(head)) => {
                response = Some((canned.clone(), head.uri.clone()));
            }
            (OnExhausted::Fail, ..) => fails = true,
            (OnExhausted::DeadLetter { name, .. }, Some(report), Some(head)) => {
                if let Some(observer) = self.route.dead_letters(name) {
                    observer.on_dead_letter(&DeadLetter::new(
                        &self.recorder.service(),
                        &head.method,
                        &head.uri,
                        &head.headers,
                        report,
                    ));
                }
            }
            _ => {}
        }
        Ending {
            report,
            response,
            fails,
        }
    }

    /// Returns the gate that the attempt has passed, if its service has one.
    pub(super) fn gate_passed(&self) -> Option<GateKey> {
        let has_gate = self.session.policy().gate_wait_limit().is_some();
        Some(self.gate_key).filter(|key| has_gate && *key != GateKey::default())
    }

    pub(super) fn now(&self) -> Moment {
        Moment::new(self.engine.runtime.now())
    }

    /// Returns the time at most this long from now, within the deadline.
    pub(super) fn within(&self, most: Duration) -> Duration {
        let until = self.engine.runtime.now().saturating_add(most);
        until.min(self.session.deadline().unwrap_or(Duration::MAX))
    }
}

impl SavedHead {
    fn new(head: &impl Head) -> Box<Self> {
        Box::new(Self {
            method: head.method().clone(),
            at: head.to_uri(),
            uri: head.uri(),
            headers: head.header_map().into_owned(),
            credentials: Vec::new(),
        })
    }
}
