//! A retry: its payment, the changes of its request, the wait before it, and an attempt that was cut.

use super::head::{Head, Kept};
use super::progress::Progress;
use super::todo::{Changes, Todo};
use crate::budget::{PaidRetry, PaymentResult, PendingRetry};
use crate::gate::{GateKey, GateWait};
use crate::policy::bodies::{BodyPart, Rewritten};
use crate::policy::framing::frame_body;
use crate::policy::outcome::earlier::EarlierRequests;
use crate::policy::outcome::ext::OutcomeExt;
use crate::policy::session::Decision;
use crate::policy::session::ext::SessionExt;
use crate::policy::session::plan::Server;
use crate::policy::{Attempt, ErrorBody, ErrorKind, Outcome, RetryPlan, StopReason};
use crate::report::TextCut;
use crate::route::failover::is_same_server;
use crate::route::{Rebase, RequestHead};
use http::HeaderMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// The event that a request waits for.
pub(super) enum Awaited {
    Nothing,
    /// Its turn at this gate.
    Gate(GateKey, Box<GateWait>),
    /// The fleet's answer, until this time.
    Fleet(Box<PendingRetry>, Duration),
    /// The time of the retry.
    Until(Duration),
}

/// The time limit of an attempt, and the time at which it must be over.
#[derive(Clone, Copy)]
pub(super) struct Limit {
    timeout: Duration,
    pub(super) until: Duration,
    /// `true` once it has passed, and the attempt goes on.
    pub(super) is_ignored: bool,
}

impl Limit {
    pub(super) fn new(timeout: Duration, now: Duration) -> Self {
        Self {
            timeout,
            until: now.saturating_add(timeout),
            is_ignored: false,
        }
    }

    fn ignore(&mut self) {
        self.is_ignored = true;
    }
}

/// An attempt that was cut, while it is decided what follows.
pub(super) struct CutAttempt {
    text: ErrorBody,
    /// `true` if it goes on unless a retry follows: no error can report that it was cut.
    may_stay: bool,
}

/// The most headers of a request whose retry sets headers. A header map panics at 24,576 names, and may fail from 6,554
/// on if many of them share a hash; servers accept about 100.
const MAX_HEADERS: usize = 4_096;

/// Returns `true` if the request has room for the headers that its retry sets. Without them it would be another request
/// than the policy demands.
fn has_room(kept: &impl Kept, plan: &RetryPlan) -> bool {
    let Some(set) = plan.set() else {
        return true;
    };
    let headers = kept.head().map_or(0, |head| head.header_map().len());
    headers.saturating_add(set.len()) <= MAX_HEADERS
}

impl Progress {
    /// Pays for a planned retry. The wait for a fleet is bounded by the fleet's limit and the request's deadline.
    pub(super) fn pay_for(&mut self, plan: RetryPlan) -> Todo {
        match self.route.ask(plan, &self.budget, self.at.now) {
            PaymentResult::Paid(paid) => self.paid(paid),
            PaymentResult::Refused => self.refused(),
            PaymentResult::Pending(pending) => {
                let until = self.within(pending.wait());
                self.waiting = Awaited::Fleet(Box::new(pending), until);
                Todo::Ask
            }
        }
    }

    fn paid(&mut self, paid: PaidRetry) -> Todo {
        if let Some(cut) = self.cut.take() {
            // Before `prepare` adds the retry to the report.
            let outcome = self.last.with_body(&cut.text);
            self.record(outcome, None, None);
        }
        self.session.apply(&paid);
        self.waiting = Awaited::Until(self.at.now.saturating_add(paid.delay()));
        self.paid = Some(Box::new(paid));
        Todo::Prepare
    }

    fn refused(&mut self) -> Todo {
        let outcome = self.last;
        let decision = self.session.refused(&outcome, self.at);
        self.after_cut(decision)
    }

    /// Decides what follows an attempt, or an answer, that was not there in time. `earlier` is `None` if the head of
    /// the response had arrived.
    pub(super) fn timed_out(
        &mut self,
        kept: &impl Kept,
        text: &str,
        earlier: Option<EarlierRequests>,
        can_report: bool,
    ) -> Todo {
        let has_response = earlier.is_none();
        let text = ErrorBody::of_words(text);
        let request = self.session.request();
        let outcome = Outcome::error(ErrorKind::Timeout).with_body(&text);
        let outcome = match earlier {
            Some(earlier) => outcome.after_others(earlier),
            None => outcome.after_a_response(),
        };
        let mut outcome = outcome.for_request(request.as_deref());
        let at = self.prepare_decision(kept, has_response);
        // The attempt counts as ended at its gates, even if it continues because nothing can report the timeout.
        self.leave_gates();
        let decision = match self.session.judge_cut(&mut outcome, at) {
            // Before it is paid for and the attempt dropped: there may be nothing else to return.
            Decision::Retry(plan) if !has_room(kept, &plan) => {
                self.session.fail(StopReason::NotRetryable);
                Decision::Finish(StopReason::NotRetryable)
            }
            decision => decision,
        };
        (self.last, self.at) = (outcome.without_head(), at);
        self.error_type = None;
        let may_stay = !can_report && !has_response;
        self.cut = Some(Box::new(CutAttempt { text, may_stay }));
        self.after_cut(decision)
    }

    /// Applies the decision on an attempt. One that was cut is recorded with its end, or goes on.
    fn after_cut(&mut self, decision: Decision) -> Todo {
        let is_end = !matches!(decision, Decision::Retry(_));
        if let Some(cut) = self.cut.take_if(|_| is_end) {
            if cut.may_stay {
                self.limit.iter_mut().for_each(Limit::ignore);
                return Todo::Stay;
            }
            let outcome = self.last.with_body(&cut.text);
            self.record(outcome, None, decision.end());
        }
        self.apply(decision)
    }

    /// Changes the request as planned, and reports the retry.
    pub(super) fn prepare(&mut self, kept: &mut impl Kept, has_response: bool) -> Todo {
        let (Some(paid), &Awaited::Until(until)) = (self.paid.take(), &self.waiting) else {
            return self.fail(StopReason::BodyNotReplayable);
        };
        // A move to another service is reported by the one that the request leaves.
        let moves = paid.plan().failover().is_some();
        // The limit that the retry was planned by, before a move changes the session.
        let (most, level) = (self.session.max_attempts(), self.engine.retry_level);
        if moves {
            self.recorder.retry_scheduled(&paid, until, most, level);
        }
        if let Err(why) = self.change(kept, paid.plan()) {
            return self.fail(why);
        }
        if !moves {
            self.recorder.retry_scheduled(&paid, until, most, level);
        }
        self.paid = Some(paid);
        if has_response {
            return Todo::Read {
                part: BodyPart::Rest(self.engine.drain_bytes),
                until: self.within(self.engine.drain_time),
            };
        }
        Todo::Wait
    }

    fn change(&mut self, kept: &mut impl Kept, plan: &RetryPlan) -> Result<(), StopReason> {
        if !has_room(kept, plan) {
            return Err(StopReason::NotRetryable);
        }
        let steps = self.route.failover;
        let rebase = steps.and_then(|steps| (steps.begin)(self, plan.failover()?));
        let set = plan.set().cloned();
        let mut cut = None;
        let rewrite = plan.rewrite();
        let mut change = |headers: &mut HeaderMap, body: &[u8]| {
            let rewritten = rewrite?(headers, body)?;
            // The server would take the shorter text under the old key for a repetition of the longer one.
            self.engine
                .renew(self.route.policy(), &mut self.session, headers);
            let Rewritten {
                body,
                before,
                after,
            } = rewritten;
            cut = Some(TextCut { before, after });
            frame_body(headers, body.len());
            Some(body)
        };
        kept.change(Changes {
            set: set.as_deref(),
            rebase: rebase.as_ref(),
            slot: self.recorder.slot(),
            rewrite: if rewrite.is_some() {
                Some(&mut change)
            } else {
                None
            },
        })?;
        if let Some(cut) = cut {
            self.recorder.text_was_cut(cut, self.engine.runtime.now());
        }
        // The other service has its own gate.
        if rebase.is_some() {
            let key = kept.head().and_then(|head| self.find_gate(&head));
            self.gate_key = key.unwrap_or_default();
        }
        Ok(())
    }

    /// Waits, and ends the request if its deadline has passed meanwhile.
    pub(super) fn poll_wait(&mut self, cx: &mut Context<'_>, can_end: bool) -> Poll<Todo> {
        let todo = ready!(self.poll_waiting(cx, can_end));
        let is_late = || {
            self.session
                .deadline()
                .is_some_and(|at| at <= self.now().now)
        };
        if matches!(todo, Todo::Send) && can_end && is_late() {
            return Poll::Ready(self.fail(StopReason::DeadlineExceeded));
        }
        Poll::Ready(todo)
    }

    fn poll_waiting(&mut self, cx: &mut Context<'_>, can_end: bool) -> Poll<Todo> {
        match &mut self.waiting {
            Awaited::Nothing => Poll::Ready(Todo::Send),
            Awaited::Gate(..) => self.poll_gate(cx, can_end),
            Awaited::Fleet(pending, until) => {
                let until = *until;
                let answer = Pin::new(&mut **pending).poll(cx);
                let paid = match answer {
                    Poll::Ready(paid) => paid,
                    Poll::Pending => {
                        ready!(self.poll_timer(until, cx));
                        match std::mem::replace(&mut self.waiting, Awaited::Nothing) {
                            Awaited::Fleet(pending, _) => {
                                pending.pay_alone(self.engine.runtime.now())
                            }
                            _ => None,
                        }
                    }
                };
                self.waiting = Awaited::Nothing;
                self.timer = None;
                Poll::Ready(match paid {
                    Some(paid) => self.paid(paid),
                    None => self.refused(),
                })
            }
            &mut Awaited::Until(until) => {
                // A wait of zero needs no timer.
                if until > self.engine.runtime.now() {
                    ready!(self.poll_timer(until, cx));
                }
                self.timer = None;
                self.waiting = Awaited::Nothing;
                Poll::Ready(self.start(self.engine.runtime.now()))
            }
        }
    }

    pub(super) fn poll_limit(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self.limit.filter(|limit| !limit.is_ignored) {
            Some(limit) => self.poll_timer(limit.until, cx),
            None => Poll::Pending,
        }
    }

    pub(super) fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match self.session.deadline() {
            Some(deadline) => self.poll_timer(deadline, cx),
            None => Poll::Pending,
        }
    }

    fn poll_timer(&mut self, until: Duration, cx: &mut Context<'_>) -> Poll<()> {
        let runtime = &self.engine.runtime;
        let begun = self.timer.take().filter(|(end, _)| *end == until);
        let sleep = || (until, runtime.sleep(until.saturating_sub(runtime.now())));
        let (_, sleep) = self.timer.insert(begun.unwrap_or_else(sleep));
        ready!(sleep.as_mut().poll(cx));
        self.timer = None;
        Poll::Ready(())
    }

    pub(super) fn limit_reached(&self) -> (Attempt, bool) {
        let timeout = self.limit.map_or(Duration::ZERO, |limit| limit.timeout);
        let deadline = self.session.deadline();
        let is_over = deadline.is_some_and(|at| at <= self.engine.runtime.now());
        (Attempt::new(self.recorder.number(), Some(timeout)), is_over)
    }

    /// Ends the request, since its next step cannot be carried out. Rolls an unsent failover back.
    pub(super) fn fail(&mut self, why: StopReason) -> Todo {
        self.roll_back();
        // Dropping the payment returns its tokens: the retry was not sent.
        self.paid = None;
        self.waiting = Awaited::Nothing;
        self.session.fail(why);
        Todo::Done
    }

    /// Resolves the services that the request may fail over to, once for each session.
    pub(super) fn resolve_targets(&mut self, can_move: bool) {
        if let Some(steps) = self
            .route
            .failover
            .filter(|_| !self.session.knows_servers())
        {
            (steps.resolve)(self, can_move);
        }
    }

    /// Undoes a failover that was not sent: the request ends at the service of its last attempt.
    fn roll_back(&mut self) {
        if let Some(undo) = self.undo_move.take() {
            undo(self);
        }
    }
}

/// Takes a request back to the service that it leaves, if its failover is not sent.
pub(super) type UndoMove = Box<dyn FnOnce(&mut Progress) + Send + Sync>;

/// The steps of a failover.
#[derive(Clone, Copy)]
pub(crate) struct FailoverSteps {
    /// Resolves the services that the request may fail over to, if it can move.
    resolve: fn(&mut Progress, bool),
    /// Moves the request to the service with this name, and returns the rebase of its URI.
    begin: fn(&mut Progress, &str) -> Option<Rebase>,
}

impl FailoverSteps {
    pub(crate) const NEW: Self = Self {
        resolve: |progress, can_move| progress.resolve_services(can_move),
        begin: |progress, to| progress.move_to(to),
    };
}

impl Progress {
    fn move_to(&mut self, name: &str) -> Option<Rebase> {
        let destination = self.route.destination(name)?.clone();
        let head = self.head.as_mut()?;
        // A later failover must strip the credentials of every service that the request has gone by so far.
        head.credentials
            .extend_from_slice(self.session.credentials());
        let mut rebase = self.route.rebase_to(&destination);
        rebase.credentials.clone_from(&head.credentials);
        let at = rebase.of(head.at.as_ref()?)?;
        let moved = RequestHead::new(&head.method, &at);
        let route = destination.service.route(&moved, None);
        head.at = Some(at);
        let now = self.engine.runtime.now();
        let session = self.session.moved_to(route.policy().clone(), now);
        let name = route.service.clone().unwrap_or_default();
        let budget = self.engine.budget_of(&route, || Arc::clone(&name));
        let session = std::mem::replace(&mut self.session, session);
        let budget = std::mem::replace(&mut self.budget, budget);
        let subject = self.recorder.moved_to(name, &rebase.to);
        let route = std::mem::replace(&mut self.route, route);
        self.undo_move = Some(Box::new(|progress| {
            progress.session = session;
            progress.budget = budget;
            progress.recorder.undo_move(subject);
            progress.route = route;
        }));
        Some(rebase)
    }

    fn resolve_services(&mut self, can_move: bool) {
        let head = self.head.as_ref().filter(|_| can_move);
        let Some(at) = head.and_then(|head| head.at.as_ref()) else {
            return self.session.set_servers(Vec::new());
        };
        let servers = self
            .route
            .destinations()
            .iter()
            .filter_map(|(name, destination)| {
                // A service whose URL cannot be built is no target.
                self.route.rebase_to(destination).of(at)?;
                let server = if is_same_server(at, &destination.base) {
                    Server::Same
                } else {
                    Server::Other
                };
                Some((Arc::clone(name), server))
            });
        let servers = servers.collect();
        self.session.set_servers(servers);
    }
}
