//! How far one request has come: what each attempt's end leads to.

use super::paying::Unpaid;
use super::reading::Found;
use super::room::with_room;
use super::{Admission, Repeat, Saved, Transport};
use crate::budget::{PaidRetry, RetryBudget};
use crate::engine::Engine;
use crate::gate::GateKey;
use crate::nested::AttemptMark;
use crate::policy::{
    Attempt, By, CannedResponse, Class, ErrorKind, Moment, OnExhausted, Outcome, Redirected,
    RetryPlan, RetrySession, Server, Stop, StopReason,
};
use crate::redirects::{Trail, Watch};
use crate::report::{AttemptSpan, DeadLetter, ReportRecorder, RetryReport, Subject, TextCut};
use crate::route::{Head, Rebase, Route, is_same_server};
use http::{HeaderMap, HeaderName, Method, Uri};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// How far a request has come.
pub(crate) struct Progress {
    pub(crate) engine: Arc<Engine>,
    pub(crate) route: Arc<Route>,
    pub(crate) session: RetrySession,
    pub(crate) budget: RetryBudget,
    pub(crate) recorder: ReportRecorder,
    /// Kept only where the policy may need it in the end.
    pub(crate) head: Option<Box<RequestHead>>,
    /// Who shares a rate limit with this request.
    pub(crate) gate_key: GateKey,
    /// The gate has let the attempt through that is under way.
    pub(crate) admission: Option<Admission>,
    /// And so have those of narrower limits.
    pub(crate) narrower: Vec<(GateKey, Admission)>,
    /// What was seen of redirects in the last attempt.
    pub(crate) mark: AttemptMark,
}

/// A request's head, for when nothing else is left of it.
pub(crate) struct RequestHead {
    pub(crate) method: Method,
    pub(crate) uri: String,
    /// Where the request goes now, if that is a URI.
    pub(crate) at: Option<Uri>,
    pub(crate) headers: HeaderMap,
    /// What the policies call a credential by which it has gone so far.
    pub(crate) credentials: Vec<HeaderName>,
}

/// The place that a request comes from.
pub(super) struct Place {
    route: Arc<Route>,
    session: RetrySession,
    budget: RetryBudget,
    subject: Subject,
}

/// What the caller gets instead of the last outcome.
pub(super) enum LastWord {
    Outcome,
    Fail(RetryReport),
    /// As if from this URL.
    Respond(CannedResponse, String),
}

/// A retry that is paid for, and when it is due.
pub(super) struct Planned {
    pub(super) paid: PaidRetry,
    pub(super) due: Duration,
    /// The connection of the attempt before it may be dead.
    pub(super) leaves: bool,
}

impl Planned {
    pub(super) fn new(paid: PaidRetry, outcome: &Outcome<'_>, at: Moment) -> Self {
        let due = at.now.saturating_add(paid.delay());
        let kind = outcome.error_kind();
        let leaves = kind.is_some_and(ErrorKind::is_of_connection);
        Self { paid, due, leaves }
    }

    pub(super) fn by(&self) -> By {
        self.paid.plan().by
    }

    /// The end of the request where this cannot be sent.
    pub(super) fn stop(&self, why: StopReason) -> Stop {
        self.paid.plan().refused(why)
    }

    pub(super) fn without_a_body(&self) -> Stop {
        self.stop(StopReason::BodyNotReplayable)
    }
}

/// What follows from an attempt.
pub(super) enum Step<T: Transport> {
    Stop(Result<T::Response, T::Error>, Stop),
    Retry {
        planned: Planned,
        /// Nothing where the attempt was cut short and the client's error type cannot say that.
        last: Option<Result<T::Response, T::Error>>,
        saved: Box<Saved<T>>,
    },
}

impl Progress {
    /// What is left of the deadline, if there is one.
    pub(super) fn time_left(&self) -> Option<Duration> {
        let now = self.engine.runtime.now();
        let deadline = self.session.deadline();
        deadline.map(|deadline| deadline.saturating_sub(now))
    }

    /// Whether an attempt with this mark and this trail was redirected.
    pub(super) fn redirected(&self, mark: &AttemptMark, trail: Trail<'_>) -> Redirected {
        let watch = Watch {
            redirects: &self.engine.redirects,
            layer: self.engine.id(),
            mark,
        };
        watch.redirected(self.session.is_idempotent_by_itself(), trail)
    }

    pub(super) fn attempt_starts(&mut self, now: Duration) -> (AttemptSpan, Attempt) {
        let span = self.recorder.attempt_started(now);
        let limit = self.session.attempt_limit(now);
        (span, Attempt::new(self.recorder.number(), limit))
    }

    /// What follows from an attempt, unless a fleet must be asked first.
    ///
    /// # Errors
    ///
    /// What to ask the fleet for.
    pub(super) fn step<T: Transport>(
        &mut self,
        known: Outcome<'static>,
        (result, found): (Result<T::Response, T::Error>, Found),
        saved: Option<Box<Saved<T>>>,
    ) -> Result<Step<T>, Box<Unpaid<T>>> {
        let whole = saved
            .as_ref()
            .is_some_and(|saved| T::Request::can_resend(saved, result.is_ok()));
        self.session.set_replayable(whole);
        let head = result.as_ref().ok().and_then(T::head);
        let request = self.session.request();
        let outcome = self.judged(known.with_head(head), &found, request.as_deref());
        let at = self.engine.runtime.moment();
        self.look_around();
        let hints = outcome.server_hints(at.wall);
        let outcome = outcome.with_hints(&hints);
        let decided = match self.decide(&outcome, at) {
            Ok(decided) => decided,
            Err(question) => {
                return Err(Box::new(Unpaid {
                    question,
                    hints,
                    found,
                    result,
                    saved,
                }));
            }
        };
        let decided = self.ended::<T>(decided, outcome, at, saved.as_deref());
        Ok(self.follows(decided, result, saved))
    }

    /// Tells everybody who is to know of an attempt that it has ended.
    pub(super) fn ended<T: Transport>(
        &mut self,
        decided: Result<Planned, Stop>,
        outcome: Outcome<'_>,
        at: Moment,
        saved: Option<&Saved<T>>,
    ) -> Result<Planned, Stop> {
        let decided = decided.and_then(|planned| with_room::<T>(planned, saved));
        let by = decided.as_ref().map_or_else(|stop| stop.by, Planned::by);
        self.leave_the_gate(&outcome, at, by);
        let why = decided.as_ref().err().map(|stop| stop.why);
        let outcome = why.map_or(outcome, |why| outcome.refused(why));
        self.tell(&outcome, at, by, why == Some(StopReason::Succeeded));
        decided
    }

    /// What follows from an attempt that has ended.
    pub(super) fn follows<T: Transport>(
        &mut self,
        decided: Result<Planned, Stop>,
        result: Result<T::Response, T::Error>,
        saved: Option<Box<Saved<T>>>,
    ) -> Step<T> {
        match (decided, saved) {
            (Ok(planned), Some(mut saved)) => match self.rewrite::<T>(&planned, &mut saved) {
                true => self.retry(planned, Some(result), saved),
                false => Step::Stop(result, planned.stop(StopReason::NotRetryable)),
            },
            (Ok(planned), None) => Step::Stop(result, planned.without_a_body()),
            (Err(stop), _) => Step::Stop(result, stop),
        }
    }

    /// Makes the request what the plan wants it to be; false where that cannot be done.
    fn rewrite<T: Transport>(&mut self, planned: &Planned, saved: &mut Saved<T>) -> bool {
        let Some(rewrite) = planned.paid.plan().rewrite() else {
            return true;
        };
        let mut cut = None;
        let changed = T::Request::rewrite(saved, &mut |headers, body| {
            let other = rewrite(headers, body)?;
            self.engine
                .renew(&self.route.policy, &mut self.session, headers);
            cut = Some(TextCut::new(other.before, other.after));
            Some(other.body)
        });
        if let Some(cut) = cut.filter(|_| changed) {
            self.recorder.text_was_cut(cut, self.engine.runtime.now());
        }
        changed
    }

    pub(super) fn retry<T: Transport>(
        &mut self,
        planned: Planned,
        last: Option<Result<T::Response, T::Error>>,
        mut saved: Box<Saved<T>>,
    ) -> Step<T> {
        T::Request::next_in_turn(&mut saved);
        self.session.apply(&planned.paid);
        self.recorder.retry_scheduled(&planned.paid, planned.due);
        Step::Retry {
            planned,
            last,
            saved,
        }
    }

    /// Goes on at another service, if the plan names one; gives the way there, and where it comes from.
    pub(super) fn moves_to(&mut self, plan: &RetryPlan) -> Option<(Rebase, Place)> {
        let service = plan.failover()?;
        let destination = self.route.destinations.get(service)?.clone();
        let head = self.head.as_mut()?;
        head.credentials
            .extend_from_slice(self.session.credentials());
        let way = Rebase {
            credentials: head.credentials.clone(),
            ..self.route.way_to(&destination)
        };
        let at = way.of(head.at.as_ref()?)?;
        let route = destination.service.choose(
            &Head {
                method: Some(&head.method),
                scheme: at.scheme_str(),
                authority: at.authority().map(|at| Cow::Borrowed(at.as_str())),
                path: at.path(),
            },
            None,
        );
        head.at = Some(at);
        let now = self.engine.runtime.now();
        let session = self.session.moved_to(route.policy.clone(), now);
        let name = route.service.clone().unwrap_or_default();
        let budget = self.engine.budget_of(&route, || Arc::clone(&name));
        let before = Place {
            session: std::mem::replace(&mut self.session, session),
            budget: std::mem::replace(&mut self.budget, budget),
            subject: self.recorder.moved_to(name, &way.to),
            route: std::mem::replace(&mut self.route, route),
        };
        Some((way, before))
    }

    /// A request that was not sent elsewhere ends where it was.
    pub(super) fn stays_at(&mut self, place: Option<Place>) {
        let Some(place) = place else {
            return;
        };
        self.session = place.session;
        self.budget = place.budget;
        self.recorder.goes_back_to(place.subject);
        self.route = place.route;
    }

    /// Tells the session where the services are that it may send the request to.
    pub(super) fn look_around(&mut self) {
        if !self.route.destinations.is_empty() && !self.session.knows_servers() {
            self.session.set_servers(self.servers());
        }
    }

    /// Where the services are that the request can go on at.
    fn servers(&self) -> Vec<(Arc<str>, Server)> {
        let head = self.head.as_ref();
        let Some(at) = head.and_then(|head| head.at.as_ref()) else {
            return Vec::new();
        };
        let found = self.route.destinations.iter().filter_map(|(name, there)| {
            self.route.way_to(there).of(at)?;
            let server = match is_same_server(at, &there.base) {
                true => Server::Same,
                false => Server::Other,
            };
            Some((Arc::clone(name), server))
        });
        found.collect()
    }

    pub(super) fn tell(&mut self, outcome: &Outcome<'_>, at: Moment, by: By, done: bool) {
        if outcome.class() == Class::Success && self.session.repeats() {
            self.budget.deposit(at.now);
            let others = self.route.budgets.values();
            others.for_each(|budget| budget.deposit(at.now));
        }
        let rule = self.session.rule(by);
        let row = self.session.policy().row_of(outcome);
        self.recorder.attempt_ended(outcome, at, (rule, row), done);
    }

    /// The end: the report, if it belongs into the response, and what the caller gets.
    pub(super) fn stop(self, stop: Stop) -> (Option<RetryReport>, LastWord) {
        let now = self.engine.runtime.now();
        let tokens_left = self.budget.snapshot(now).map(|budget| budget.tokens);
        let on_exhausted = match stop.why {
            StopReason::Failed => OnExhausted::Fail,
            _ => self.session.on_exhausted(stop).clone(),
        };
        let service = self.recorder.service();
        let report = self.recorder.stopped(stop.why, now, tokens_left);
        let last_word = match (on_exhausted, &report, self.head) {
            (OnExhausted::Fail, Some(report), _) => LastWord::Fail(report.clone()),
            (OnExhausted::Respond(canned), _, Some(head)) => LastWord::Respond(canned, head.uri),
            (OnExhausted::DeadLetter { name }, Some(report), Some(head)) => {
                if let Some(observer) = self.route.dead_letters.get(&name) {
                    observer.on_dead_letter(&DeadLetter {
                        service: &service,
                        method: &head.method,
                        uri: &head.uri,
                        headers: &head.headers,
                        report,
                    });
                }
                LastWord::Outcome
            }
            _ => LastWord::Outcome,
        };
        (report, last_word)
    }
}
