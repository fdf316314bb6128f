//! A retry: who pays for it, the wait before it, and the service that it goes to.

use super::client::Client;
use super::driver::{CallState, Driver, MovedFrom};
use crate::budget::{PaidRetry, PaymentResult};
use crate::client::requests::{RequestEdit, Requests};
use crate::client::responses::{Reading, Responses};
use crate::policy::{Command, ErrorKind, Event, Inspected, Moment, RetryPlan, StopReason};
use crate::report::TextCut;
use crate::route::{self};
use http::HeaderMap;
use http_retry_core::adapter::{Rebase, Server, is_same_server};
use std::sync::Arc;
use std::time::Duration;

/// With more headers than this a request is sent no second time with others. A header map panics at 24,576 names, and may
/// fail from 6,554 on if many of them have one hash; servers take about 100.
const MAX_HEADERS: usize = 4_096;

impl<C: Client> Driver<C> {
    /// Asks the budget to pay for a retry, and schedules it.
    pub(super) async fn withdraw(&mut self, plan: Box<RetryPlan>) -> Command {
        let Self { client, state, .. } = self;
        let paid = match state.grant(*plan).await {
            Ok(paid) => paid,
            Err(command) => return command,
        };
        let command = state.schedule(paid);
        let kind = state.outcome().error_kind();
        if let (Command::Wait(_), Some(Err(error))) = (&command, state.result()) {
            if kind.is_some_and(ErrorKind::is_of_connection) {
                client.leave_connection(state.session.policy(), Some(error));
            }
        }
        command
    }

    /// Lets go of the last attempt, waits, and makes the request what the retry wants it to be.
    pub(super) async fn wait(&mut self, until: Duration) -> Command {
        let state = &mut self.state;
        state.drain().await;
        let runtime = Arc::clone(&state.engine.runtime);
        let left = until.saturating_sub(runtime.now());
        runtime.sleep(left).await;
        state.change_request();
        let now = Moment::new(runtime.now());
        state.session.step(Event::Woke, now)
    }
}

impl<C: Client> CallState<C> {
    /// Pays for a planned retry. A fleet is waited for no longer than its budget says, and no longer than the request has.
    ///
    /// # Errors
    ///
    /// The next command, if the retry is refused.
    pub(super) async fn grant(&mut self, plan: RetryPlan) -> Result<PaidRetry, Command> {
        if !self.has_room(&plan) {
            return Err(self.fails(StopReason::NotRetryable));
        }
        let at = self.judged_at();
        let paid = match self.route.ask(plan, &self.budget, at.now) {
            PaymentResult::Paid(paid) => Some(paid),
            PaymentResult::Refused => None,
            PaymentResult::Pending(asking) => {
                let left = self.time_left().unwrap_or(Duration::MAX);
                self.engine.answer(asking, left).await
            }
        };
        let outcome = self.outcome();
        paid.ok_or_else(|| self.session.step(Event::Refused(&outcome), at))
    }

    /// Returns `true` if the request has room for the headers that the retry sets: without them it is not the one that was
    /// asked for.
    fn has_room(&self, plan: &RetryPlan) -> bool {
        let Some((set, head)) = plan.set().zip(self.saved_head()) else {
            return true;
        };
        head.header_map().len().saturating_add(set.len()) <= MAX_HEADERS
    }

    /// Schedules a retry that is paid for, and rewrites the request if the retry is to be of another one.
    pub(super) fn schedule(&mut self, paid: PaidRetry) -> Command {
        if self.saved.is_none() {
            return self.fails(StopReason::BodyNotReplayable);
        }
        if !self.rewrite(&paid) {
            return self.fails(StopReason::NotRetryable);
        }
        self.saved.iter_mut().for_each(C::Requests::next_in_turn);
        let at = self.judged_at();
        let command = self.session.step(Event::Paid(&paid), at);
        if let Command::Wait(until) = command {
            self.recorder.retry_scheduled(&paid, until);
        }
        self.paid = Some(Box::new(paid));
        command
    }

    /// Rewrites the request's body, if the plan says so. Returns `false` if that cannot be done.
    fn rewrite(&mut self, paid: &PaidRetry) -> bool {
        let (Some(rewrite), Some(saved)) = (paid.plan().rewrite(), &mut self.saved) else {
            return true;
        };
        let mut cut = None;
        let mut change = |headers: &mut HeaderMap, body: &[u8]| {
            let other = rewrite(headers, body)?;
            self.engine
                .renew(self.route.policy(), &mut self.session, headers);
            let (body, before, after) = other.into_parts();
            cut = Some(TextCut::new(before, after));
            Some(body)
        };
        let edit = RequestEdit {
            rewrite: Some(&mut change),
            ..RequestEdit::default()
        };
        let is_changed = C::Requests::edit(saved, edit);
        if let Some(cut) = cut.filter(|_| is_changed) {
            self.recorder.text_was_cut(cut, self.engine.runtime.now());
        }
        is_changed
    }

    /// Reads the rest of a failed response, so that its connection can serve again, and keeps it if it has ended.
    async fn drain(&mut self) {
        let response = match self.result_mut().take() {
            Some(Ok(response)) => response,
            other => return *self.result_mut() = other,
        };
        let drain = self.engine.drain;
        let left = self.time_left().unwrap_or(Duration::MAX);
        let time = self.engine.runtime.sleep(drain.time.min(left));
        let (response, end) = C::Responses::read(response, Reading::Drain(drain.bytes), time).await;
        *self.result_mut() = matches!(end, Ok(Inspected::AtTheEnd)).then_some(Ok(response));
    }

    /// Changes the request as planned. After a failover the other service has its own gate.
    fn change_request(&mut self) {
        let Some(paid) = self.paid.take() else {
            return;
        };
        let way = self.begin_failover(paid.plan());
        let set = paid.plan().set().cloned();
        let edit = RequestEdit {
            set: set.as_deref(),
            way: way.as_ref(),
            ..RequestEdit::default()
        };
        if let Some(saved) = &mut self.saved {
            C::Requests::edit(saved, edit);
        }
        self.paid = Some(paid);
        if way.is_some() {
            let head = self.saved_head();
            let key = head.and_then(|head| self.find_gate(&head.header_map(), head.extensions));
            self.gate_key = key.unwrap_or_default();
        }
    }

    /// Moves the request to another service, if the plan names one, and returns the way there.
    fn begin_failover(&mut self, plan: &RetryPlan) -> Option<Rebase> {
        let destination = self.route.destinations().get(plan.failover()?)?.clone();
        let head = self.head.as_mut()?;
        head.credentials
            .extend_from_slice(self.session.credentials());
        let mut way = self.route.rebase_to(&destination);
        way.credentials.clone_from(&head.credentials);
        let at = way.of(head.at.as_ref()?)?;
        let there = route::RequestHead::new(&head.method, &at);
        let route = destination.service.route(&there, None);
        head.at = Some(at);
        let now = self.engine.runtime.now();
        let session = self.session.moved_to(route.policy().clone(), now);
        let name = route.name().cloned().unwrap_or_default();
        let budget = self.engine.budget_of(&route, || Arc::clone(&name));
        self.moved_from = Some(Box::new(MovedFrom {
            session: std::mem::replace(&mut self.session, session),
            budget: std::mem::replace(&mut self.budget, budget),
            subject: self.recorder.moved_to(name, &way.to),
            route: std::mem::replace(&mut self.route, route),
        }));
        Some(way)
    }

    /// A request that was not sent elsewhere ends where it was.
    pub(super) fn roll_back(&mut self) {
        if let Some(before) = self.moved_from.take() {
            self.session = before.session;
            self.budget = before.budget;
            self.recorder.undo_move(before.subject);
            self.route = before.route;
        }
    }

    /// Tells the session where the services are that it may send the request to.
    pub(super) fn resolve_targets(&mut self) {
        if self.route.destinations().is_empty() || self.session.knows_servers() {
            return;
        }
        let head = self.head.as_ref();
        let Some(at) = head.and_then(|head| head.at.as_ref()) else {
            return self.session.set_servers(Vec::new());
        };
        let found = self
            .route
            .destinations()
            .iter()
            .filter_map(|(name, there)| {
                self.route.rebase_to(there).of(at)?;
                let server = if is_same_server(at, &there.base) {
                    Server::Same
                } else {
                    Server::Other
                };
                Some((Arc::clone(name), server))
            });
        let servers = found.collect();
        self.session.set_servers(servers);
    }
}
