//! A retry: its payment, the wait before it, and the service that it goes to.

use super::client::Client;
use super::driver::{CallState, Driver, MovedFrom};
use crate::budget::PaidRetry;
use crate::client::requests::{RequestEdit, Requests};
use crate::client::responses::{Reading, Responses};
use crate::policy::{ErrorKind, Moment, RetryPlan, StopReason};
use crate::route;
use http::HeaderMap;
use http_retry_core::adapter::{
    Command, Event, Inspected, PaymentResult, Rebase, Server, frame_body, is_same_server,
};
use http_retry_core::report::TextCut;
use std::sync::Arc;
use std::time::Duration;

/// The maximum number of headers of a request whose retry sets headers. A header map panics at 24,576 names, and may
/// fail from 6,554 on if many of them share a hash; servers accept about 100.
const MAX_HEADERS: usize = 4_096;

impl<C: Client> Driver<C> {
    /// Pays for a retry from the budget, and schedules it.
    pub(super) async fn withdraw(&mut self, plan: Box<RetryPlan>) -> Command {
        let Self { client, state, .. } = self;
        let paid = match state.grant(*plan).await {
            Ok(paid) => paid,
            Err(command) => return command,
        };
        let command = state.schedule(paid);
        let kind = state.outcome().error_kind();
        // Only if a retry follows: it would go over the same dead connection. Otherwise the client is left alone.
        if let (Command::Wait(_), Some(Err(error))) = (&command, state.result()) {
            if kind.is_some_and(ErrorKind::is_of_connection) {
                client.leave_connection(state.session.policy(), Some(error));
            }
        }
        if matches!(command, Command::Wait(_)) && state.outcome().is_misdirected() {
            client.leave_connection(state.session.policy(), None);
        }
        command
    }

    /// Drains the last response, waits, and applies the retry's changes to the request.
    pub(super) async fn wait(&mut self, until: Duration) -> Command {
        let state = &mut self.state;
        // `until` is a point in time: draining is part of the wait.
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
    /// Pays for a planned retry. The wait for a fleet is bounded by the fleet's limit and the request's deadline.
    ///
    /// # Errors
    ///
    /// The next command, if the retry is refused.
    pub(super) async fn grant(&mut self, plan: RetryPlan) -> Result<PaidRetry, Command> {
        if !self.has_room(&plan) {
            return Err(self.fail(StopReason::NotRetryable));
        }
        let at = self.judged_at();
        let paid = match self.route.ask(plan, &self.budget, at.now) {
            PaymentResult::Paid(paid) => Some(paid),
            PaymentResult::Refused => None,
            PaymentResult::Pending(pending) => {
                let left = self.time_left().unwrap_or(Duration::MAX);
                self.engine.answer(pending, left).await
            }
        };
        let outcome = self.outcome();
        paid.ok_or_else(|| self.session.step(Event::Refused(&outcome), at))
    }

    /// Returns `true` if the request has room for the headers that the retry sets. Without them it would be another
    /// request than the policy demands.
    fn has_room(&self, plan: &RetryPlan) -> bool {
        let Some((set, head)) = plan.set().zip(self.saved_head()) else {
            return true;
        };
        head.header_map().len().saturating_add(set.len()) <= MAX_HEADERS
    }

    /// Schedules a retry that is paid for, and rewrites the request if its plan says so.
    pub(super) fn schedule(&mut self, paid: PaidRetry) -> Command {
        if self.saved.is_none() {
            return self.fail(StopReason::BodyNotReplayable);
        }
        if !self.rewrite(&paid) {
            return self.fail(StopReason::NotRetryable);
        }
        // From now on a cut attempt that is still being sent cannot take bytes of a shared body from the next one.
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
            let shorter = rewrite(headers, body)?;
            // The server would take the shorter text under the old key for a repetition of the longer one.
            self.engine
                .renew(self.route.policy(), &mut self.session, headers);
            let (body, before, after) = shorter.into_parts();
            cut = Some(TextCut::new(before, after));
            frame_body(headers, body.len());
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

    /// Reads the rest of a failed response, so that its connection can be reused. Without a deadline, keeps the
    /// response only if its body has ended.
    async fn drain(&mut self) {
        let left = self.time_left();
        // The deadline may pass before the retry is sent, and the caller then gets this response.
        let is_kept = left.is_some();
        let response = match self.result_mut().take() {
            Some(Ok(response)) if !is_kept || C::Responses::GIVES_BACK => response,
            other => return *self.result_mut() = other,
        };
        let drain = self.engine.drain;
        let time = drain.time.min(left.unwrap_or(Duration::MAX));
        let time = self.engine.runtime.sleep(time);
        let (response, end) = C::Responses::read(response, Reading::Drain(drain.bytes), time).await;
        let has_ended = matches!(end, Ok(Inspected::AtTheEnd));
        *self.result_mut() = (is_kept || has_ended).then_some(Ok(response));
    }

    /// Changes the request as planned.
    fn change_request(&mut self) {
        let Some(paid) = self.paid.take() else {
            return;
        };
        let rebase = self.begin_failover(paid.plan());
        let set = paid.plan().set().cloned();
        let edit = RequestEdit {
            set: set.as_deref(),
            rebase: rebase.as_ref(),
            ..RequestEdit::default()
        };
        if let Some(saved) = &mut self.saved {
            C::Requests::edit(saved, edit);
        }
        self.paid = Some(paid);
        // The other service has its own gate.
        if rebase.is_some() {
            let head = self.saved_head();
            let key = head.and_then(|head| self.find_gate(&head.header_map(), head.extensions));
            self.gate_key = key.unwrap_or_default();
        }
    }

    /// Moves the request to another service, if the plan names one, and returns the rebase of its URI.
    fn begin_failover(&mut self, plan: &RetryPlan) -> Option<Rebase> {
        let destination = self.route.destination(plan.failover()?)?.clone();
        let head = self.head.as_mut()?;
        // A later failover must strip the credentials of every service that the request has gone by so far.
        head.credentials
            .extend_from_slice(self.session.credentials());
        let mut rebase = self.route.rebase_to(&destination);
        rebase.credentials.clone_from(&head.credentials);
        let at = rebase.of(head.at.as_ref()?)?;
        let moved = route::RequestHead::new(&head.method, &at);
        let route = destination.service.route(&moved, None);
        head.at = Some(at);
        let now = self.engine.runtime.now();
        let session = self.session.moved_to(route.policy().clone(), now);
        let name = route.name().cloned().unwrap_or_default();
        let budget = self.engine.budget_of(&route, || Arc::clone(&name));
        self.moved_from = Some(Box::new(MovedFrom {
            session: std::mem::replace(&mut self.session, session),
            budget: std::mem::replace(&mut self.budget, budget),
            subject: self.recorder.moved_to(name, &rebase.to),
            route: std::mem::replace(&mut self.route, route),
        }));
        Some(rebase)
    }

    /// Undoes a failover that was not sent: the request ends at the service of its last attempt.
    pub(super) fn roll_back(&mut self) {
        if let Some(first) = self.moved_from.take() {
            self.session = first.session;
            self.budget = first.budget;
            self.recorder.undo_move(first.subject);
            self.route = first.route;
        }
    }

    /// Resolves the services that the request may fail over to, once for each session.
    pub(super) fn resolve_targets(&mut self) {
        if self.route.destinations().is_empty() || self.session.knows_servers() {
            return;
        }
        let head = self.head.as_ref();
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
