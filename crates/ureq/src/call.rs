//! One request on its way: the session decides, and what is here carries its commands out.
//!
//! In the order of a request's way: [`Call::new`] reads the request's settings and finds its route; [`Call::run`] makes
//! attempts until the session says that the request is finished. `gates` waits for the request's turn, `judging` tells
//! the session what came of an attempt, `retrying` pays for the next one and waits. No file here knows a rule.

mod gates;
mod judging;
mod retrying;

use crate::engine::Engine;
use crate::errors::RequestFailed;
use crate::request::ReplayableRequest;
use crate::response::canned;
use crate::watch::{self, Evidence, Part};
use gates::HeldPermits;
use http::request::Parts;
use http::{Request, Response};
use http_retry_core::adapter::{
    Command, Event, GateKey, ReportRecorder, Subject, public_authority,
};
use http_retry_core::budget::{PaidRetry, RetryBudget};
use http_retry_core::policy::rules::OnExhausted;
use http_retry_core::policy::{ErrorBody, Moment, RequestLine, RetrySession};
use http_retry_core::report::DeadLetter;
use http_retry_core::route::{RequestHead, Route};
use http_retry_core::{
    Attempt, Outcome, ReportSlot, RequestFacts, RetryOverride, RetryReport, StopReason, attempt,
};
use std::sync::Arc;
use std::time::Duration;
use ureq::{Agent, Body, Error, SendBody, Timeout};

/// The result of an attempt.
type AttemptResult = Result<Response<Body>, Error>;

/// A request on its way.
pub(crate) struct Call<'e, 'b> {
    engine: &'e Engine,
    agent: &'e Agent,
    route: Arc<Route>,
    session: RetrySession,
    recorder: ReportRecorder,
    budget: RetryBudget,
    request: ReplayableRequest<'b>,
    authority: Arc<str>,
    gate_key: Option<GateKey>,
    permits: HeldPermits<'e>,
    /// The retry that is scheduled.
    paid: Option<PaidRetry>,
    last: LastAttempt,
}

/// The end of the last attempt.
struct LastAttempt {
    /// The result for the caller, if it was kept.
    result: Option<AttemptResult>,
    /// Its meaning, and when it was judged.
    outcome: Outcome<'static>,
    at: Moment,
    /// The time at which the attempt is cut.
    until: Option<Duration>,
    evidence: Evidence,
    /// The text of the error that has broken a response.
    broken: Option<ErrorBody>,
}

impl Default for LastAttempt {
    fn default() -> Self {
        Self {
            result: None,
            outcome: Outcome::success(),
            at: Moment::default(),
            until: None,
            evidence: Evidence::default(),
            broken: None,
        }
    }
}

/// The settings that a request carries.
struct OwnSettings {
    own: RetryOverride,
    slot: Option<ReportSlot>,
    nested: bool,
}

impl OwnSettings {
    fn of(parts: &Parts) -> Self {
        let own = parts.extensions.get::<RetryOverride>().cloned();
        let own = own.unwrap_or_default();
        let is_inside = watch::is_inside() || parts.extensions.get::<Attempt>().is_some();
        Self {
            nested: is_inside && !own.ignores_nesting(),
            slot: parts.extensions.get().cloned(),
            own,
        }
    }

    fn session(
        &self,
        route: &Route,
        parts: &Parts,
        authority: &Arc<str>,
        started: Duration,
    ) -> RetrySession {
        let policy = route.policy();
        let key = policy.key_header().and_then(|name| parts.headers.get(name));
        let keyed = key.is_some_and(|key| !key.as_bytes().trim_ascii().is_empty());
        let facts = RequestFacts::of(&parts.method, &parts.headers).keyed(keyed);
        let line = || RequestLine::new(&parts.method, authority, parts.uri.path(), &parts.headers);
        let line = policy.asks_for_the_request().then(|| line().keyed(keyed));
        let mut session = policy
            .session(facts, started)
            .with_override(&self.own)
            .with_method(Some(parts.method.clone()))
            .of_request(line);
        if self.nested {
            session = session.disabled(StopReason::Nested);
        }
        if !route.destinations().is_empty() {
            // A request that goes to another service needs its URL and credentials changed, which is not done here.
            session.set_servers(Vec::new());
        }
        session
    }
}

/// Returns the service of a request: the route's name for it, else the request's own, else host and port.
fn subject(parts: &Parts, route: &Route, named: Option<&Arc<str>>) -> Subject {
    let authority = public_authority(&parts.uri, || None).unwrap_or_default();
    let authority: Arc<str> = authority.into();
    let service = route.name().or(named).unwrap_or(&authority);
    Subject {
        service: Arc::clone(service),
        authority,
        method: Some(parts.method.clone()),
    }
}

impl<'e, 'b> Call<'e, 'b> {
    pub(crate) fn new(
        engine: &'e Engine,
        agent: &'e Agent,
        request: Request<SendBody<'b>>,
    ) -> Self {
        let (parts, body) = request.into_parts();
        let mut settings = OwnSettings::of(&parts);
        let named = settings.own.service_name().cloned();
        let head = RequestHead::new(&parts.method, &parts.uri);
        let route = engine.route(&head, named.as_deref());
        if engine.knows_services() {
            settings.own = route.allowed(settings.own);
        }
        let subject = subject(&parts, &route, named.as_ref());
        let started = engine.clock.now();
        let session = settings.session(&route, &parts, &subject.authority, started);
        // The gate needs the head of a refusal, which an error of the agent has lost.
        let is_watched = session.may_retry()
            || session.gate_wait_left().is_some()
            || session.attempt_limit(started).is_some();
        let request = if is_watched {
            ReplayableRequest::recorded(agent, parts, body, engine.recorded)
        } else {
            ReplayableRequest::once(parts, body)
        };
        let observers = Arc::clone(&engine.observers);
        let mut recorder = ReportRecorder::new(subject.clone(), observers, settings.slot, started);
        let unknown = named.filter(|name| engine.knows_services() && route.name() != Some(name));
        recorder.names_unknown(unknown);
        Self {
            budget: engine.budget_of(&route, subject.service),
            engine,
            agent,
            route,
            session,
            recorder,
            request,
            authority: subject.authority,
            gate_key: None,
            permits: HeldPermits::default(),
            paid: None,
            last: LastAttempt::default(),
        }
    }

    /// Makes attempts until the session says that the request is finished.
    pub(crate) fn run(mut self) -> AttemptResult {
        let mut command = self.session.step(Event::Start, self.now());
        loop {
            command = match command {
                Command::Admit => self.admit(),
                Command::Send => self.send(),
                Command::Read(requirement) => self.read(requirement),
                Command::Withdraw(plan) => self.withdraw(*plan),
                Command::Wait(until) => self.wait(until),
                Command::Finish(why) => return self.finish(why),
            };
        }
    }

    fn now(&self) -> Moment {
        Moment::new(self.engine.clock.now())
    }

    /// Returns the rest of the deadline, if there is one.
    fn time_left(&self) -> Option<Duration> {
        let deadline = self.session.deadline()?;
        Some(deadline.saturating_sub(self.engine.clock.now()))
    }

    /// Ends the request because the last command cannot be carried out.
    fn fails(&mut self, why: StopReason) -> Command {
        self.paid = None;
        let now = self.now();
        self.session.step(Event::Failed(why), now)
    }

    fn send(&mut self) -> Command {
        if let Some(paid) = self.paid.take() {
            if self.time_left() == Some(Duration::ZERO) {
                return self.fails(StopReason::DeadlineExceeded);
            }
            paid.commit();
            self.recorder.retry_sent();
            if self.session.may_have_done_harm() {
                // If this agent is used within an attempt, that sends more than the request of its outcome.
                attempt::sent();
            }
        }
        self.last.result = None;
        let clock = &self.engine.clock;
        let now = clock.now();
        let span = self.recorder.attempt_started(now);
        let limit = self.session.attempt_limit(now);
        self.last.until = limit.map(|limit| now.saturating_add(limit));
        let attempt = Attempt::new(self.recorder.number(), limit);
        let (request, agent) = (&mut self.request, self.agent);
        let send = || span.around(|| request.send(agent, attempt));
        let part = Part {
            repeats: self.session.repeats(),
            harmless: self.session.is_idempotent_by_itself(),
        };
        let (result, evidence) = watch::around(clock, self.last.until, part, send);
        self.last.evidence = evidence;
        self.attempt_ended(result)
    }

    /// Closes the report, and returns the last outcome, or the policy's replacement for it.
    fn finish(mut self, why: StopReason) -> AttemptResult {
        let now = self.engine.clock.now();
        let ends_with = self.session.ends_with().clone();
        if matches!(ends_with, OnExhausted::Respond(_)) {
            self.recorder.responds_itself();
        }
        let service = self.recorder.service();
        let end = (why, self.session.stopped_by());
        let report = self.recorder.stopped(end, now, &self.budget);
        // A response that was let go before a wait is gone when no attempt follows after all.
        let late = || Err(Error::Timeout(Timeout::Global));
        let mut result = self.last.result.take().unwrap_or_else(late);
        match (&ends_with, &report) {
            (OnExhausted::Respond(response), _) => result = Ok(canned(response)),
            (OnExhausted::Fail, Some(report)) if result.is_ok() => {
                result = self.status_error(result);
                if result.is_ok() {
                    let failed = RequestFailed::new(report.clone());
                    result = Err(Error::Other(Box::new(failed)));
                }
            }
            (OnExhausted::DeadLetter { name, .. }, Some(report)) => {
                self.dead_letter(name, &service, report);
            }
            _ => {}
        }
        let mut response = self.status_error(result)?;
        if let Some(report) = report {
            response.extensions_mut().insert::<RetryReport>(report);
        }
        Ok(response)
    }

    /// Turns a response into the error that the caller's settings of ureq ask for.
    fn status_error(&self, result: AttemptResult) -> AttemptResult {
        let response = result?;
        let status = response.status();
        let is_error = status.is_client_error() || status.is_server_error();
        if is_error && self.request.wants_status_errors() {
            return Err(Error::StatusCode(status.as_u16()));
        }
        Ok(response)
    }

    fn dead_letter(&self, name: &str, service: &str, report: &RetryReport) {
        let Some(observer) = self.route.dead_letters(name) else {
            return;
        };
        let parts = &self.request.parts;
        let uri = parts.uri.to_string();
        let letter = DeadLetter::new(service, &parts.method, &uri, &parts.headers, report);
        observer.on_dead_letter(&letter);
    }
}
