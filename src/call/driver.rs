//! The driver: carries out what the session commands, until the request is finished.

use super::client::{AttemptResult, Client, OwnError, SavedOf, number};
use super::options::{has_own_key, kept_head, key_at_the_gate};
use super::start::{Call, DriverStart, HeldPermit};
use super::{KeptHead, Limit};
use crate::budget::{PaidRetry, RetryBudget};
use crate::client::requests::Head;
use crate::client::requests::Requests;
use crate::client::responses::Responses;
use crate::engine::Engine;
use crate::error::{AttemptTimeout, RequestFailed};
use crate::nested::AttemptMark;
use crate::policy::rules::OnExhausted;
use crate::policy::{
    Attempt, Command, ErrorBody, Event, Moment, Outcome, RetrySession, StopReason,
};
use crate::report::{DeadLetter, RetryReport};
use crate::route::Route;
use crate::runtime::within;
use http_retry_core::adapter::{AttemptSpan, CallKind, GateKey, ReportRecorder, Subject};
use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Context;
use std::time::Duration;

/// A request on its way, and the client that it goes through.
pub(crate) struct Driver<C: Client> {
    pub(super) client: C,
    requests: C::Requests,
    /// The request, until it is sent for the first time.
    first: Option<Box<C::Request>>,
    /// Absent if the first attempt had no time left.
    next: Option<Command>,
    pub(super) state: CallState<C>,
}

/// The part of a driver that needs no client.
pub(crate) struct CallState<C: Client> {
    pub(super) engine: Arc<Engine>,
    pub(super) route: Arc<Route>,
    pub(super) session: RetrySession,
    pub(super) budget: RetryBudget,
    pub(super) recorder: ReportRecorder,
    /// Kept only if the policy may need it in the end.
    pub(super) head: Option<Box<KeptHead>>,
    /// The gate of the requests that share a rate limit with this one.
    pub(crate) gate_key: GateKey,
    /// The right to send the attempt under way, and that of narrower limits.
    pub(super) permit: Option<HeldPermit>,
    pub(super) narrower: Vec<(GateKey, HeldPermit)>,
    /// The client must be asked before the next attempt whether it is ready.
    pub(super) asks_ready: bool,
    /// The redirects seen in the last attempt.
    pub(super) mark: AttemptMark,
    pub(super) limit: Option<Limit>,
    pub(super) saved: Option<SavedOf<C>>,
    /// `None` until an attempt has ended.
    pub(super) ended: Option<Box<LastAttempt<C>>>,
    /// The retry that is scheduled, and the service that it leaves.
    pub(super) paid: Option<Box<PaidRetry>>,
    pub(super) moved_from: Option<Box<MovedFrom>>,
}

/// The end of the last attempt.
pub(super) struct LastAttempt<C: Client> {
    /// The result for the caller, if it was kept.
    pub(super) result: Option<AttemptResult<C>>,
    /// Its meaning, and when it was judged.
    pub(super) outcome: Outcome<'static>,
    pub(super) at: Moment,
    /// The name of the error's type, if its kind says nothing.
    pub(super) error_type: Option<&'static str>,
    /// The text of the error that has broken a response.
    pub(super) broken: Option<ErrorBody>,
}

impl<C: Client> Default for LastAttempt<C> {
    fn default() -> Self {
        Self {
            result: None,
            outcome: Outcome::success(),
            at: Moment::default(),
            error_type: None,
            broken: None,
        }
    }
}

/// The service that a request leaves.
pub(super) struct MovedFrom {
    pub(super) route: Arc<Route>,
    pub(super) session: RetrySession,
    pub(super) budget: RetryBudget,
    pub(super) subject: Subject,
}

impl<C: Client> Driver<C> {
    /// A driver of a call that some first attempt was, or is to be, made for.
    pub(crate) fn new(
        call: Call<C>,
        client: C,
        requests: C::Requests,
        begin: DriverStart<C>,
    ) -> Self {
        let request = match &begin {
            DriverStart::Request(request) => Some(request),
            DriverStart::Ended(..) | DriverStart::TimedOut => None,
        };
        let Call {
            permit,
            route,
            options,
            mark,
            saved,
            started,
            ..
        } = call;
        let engine = Arc::clone(&permit.engine);
        let saved_head = saved.as_ref().and_then(C::Requests::saved_head);
        let head = request.and_then(C::Requests::head).or(saved_head);
        let way = (&*engine, &*route);
        let keyed = head.is_some_and(|head| has_own_key(route.policy(), head));
        let facts = options.facts(head).keyed(keyed);
        let subject = options.subject(&route, head);
        let line = if route.policy().asks_for_the_request() {
            head.map(|head| head.line().keyed(keyed))
                .or(options.line().cloned())
        } else {
            None
        };
        let gate_key = match head {
            Some(head) => key_at_the_gate(way, &subject.authority, head),
            None => options.gate_key(),
        };
        let session = options.session(route.policy(), facts, started);
        let session = session.with_method(subject.method.clone()).of_request(line);
        let kept = head.filter(|_| route.keeps_head()).map(kept_head);
        let named = options.own().and_then(|own| own.service_name());
        let unknown = engine.unknown_service(&route, named);
        let recorder = ReportRecorder::new(
            subject.clone(),
            Arc::clone(&engine.observers),
            options.slot().cloned(),
            started,
        );
        let routed = (engine, route);
        let mut state = CallState::of(routed, session, subject, recorder);
        state.recorder.names_unknown(unknown);
        state.permit = Some(permit).filter(|permit| permit.place.is_some());
        state.head = kept;
        state.gate_key = gate_key.unwrap_or_default();
        state.mark = mark;
        state.saved = saved;
        Self::of(client, requests, state, begin)
    }

    /// A driver that starts from a request's state.
    pub(crate) fn of(
        mut client: C,
        requests: C::Requests,
        mut state: CallState<C>,
        begin: DriverStart<C>,
    ) -> Self {
        let (mut first, mut next) = (None, None);
        match begin {
            DriverStart::Request(request) => {
                first = Some(Box::new(request));
                let now = Moment::new(state.engine.runtime.now());
                next = Some(state.session.step(Event::Start, now));
            }
            DriverStart::Ended(result, judged) => {
                state.attempt_starts(state.session.started());
                next = Some(state.attempt_ended(&client, result, judged));
                state.asks_ready = true;
            }
            DriverStart::TimedOut => {
                state.attempt_starts(state.session.started());
                client.leave_connection(state.session.policy(), None);
                state.asks_ready = true;
            }
        }
        Self {
            client,
            requests,
            first,
            next,
            state,
        }
    }

    /// Makes attempts until the session says that the request is finished.
    #[expect(
        clippy::manual_async_fn,
        reason = "the future of an async function holds its arguments twice, and the driver is large"
    )]
    pub(crate) fn run(mut self) -> impl Future<Output = AttemptResult<C>> {
        async move { self.carry_out().await }
    }

    /// Very many calls may wait at once for the first of their attempts, or be under way, so what is large and rarely
    /// wanted is in a box of its own.
    async fn carry_out(&mut self) -> AttemptResult<C> {
        let mut command = match self.next.take() {
            Some(command) => command,
            None => Box::pin(self.cut_first()).await,
        };
        loop {
            command = match command {
                Command::Admit => Box::pin(self.admit()).await,
                Command::Send => match Box::pin(self.ready()).await {
                    Ok(()) => Box::pin(self.send()).await,
                    Err(command) => command,
                },
                Command::Read(requirement) => Box::pin(self.read(requirement)).await,
                Command::Withdraw(plan) => Box::pin(self.withdraw(plan)).await,
                Command::Wait(until) => Box::pin(self.wait(until)).await,
                Command::Finish(why) => {
                    if let Some(result) = self.state.finish(why) {
                        return result;
                    }
                    // No command finishes a request before it has an outcome.
                    return pending().await;
                }
            };
        }
    }

    /// Waits at the gate. The client was ready for a first attempt; who waits holds no place of the client, and takes one
    /// afterwards.
    async fn admit(&mut self) -> Command {
        let Self { client, state, .. } = self;
        let kind = match state.paid {
            Some(_) => CallKind::Retry,
            None => CallKind::Newcomer,
        };
        let mut released = false;
        let mut release = || released = kind == CallKind::Newcomer && client.release();
        let waited = state.pass_the_gates(kind, &mut release).await;
        state.asks_ready |= released;
        let now = Moment::new(state.engine.runtime.now());
        match waited {
            Some(waited) => state.session.step(Event::Admitted(waited), now),
            None if state.out_of_time() => state.fails(StopReason::DeadlineExceeded),
            // Some outcome must come of the request, so an attempt goes out all the same.
            None => {
                state.asks_ready = true;
                state.session.step(Event::Admitted(Duration::ZERO), now)
            }
        }
    }

    /// Returns the request to send, and saves what later attempts are made of.
    ///
    /// # Errors
    ///
    /// The next command, if none is sent.
    fn take_request(&mut self) -> Result<C::Request, Command> {
        let state = &mut self.state;
        if let Some(request) = self.first.take() {
            if !state.session.may_retry() {
                return Ok(*request);
            }
            let (request, saved) = self.requests.save(*request, state.engine.save);
            state.saved = saved;
            return Ok(request);
        }
        let is_gone = state.result().is_none();
        let is_whole = |saved: &SavedOf<C>| is_gone || C::Requests::is_whole(saved, false);
        let Some(saved) = state.saved.take().filter(is_whole) else {
            // A body that is shared with earlier attempts may have lost it to them by now.
            return Err(state.fails(StopReason::BodyNotReplayable));
        };
        if let Some(ended) = &mut state.ended {
            ended.result = None;
        }
        state.moved_from = None;
        if let Some(paid) = state.paid.take() {
            paid.commit();
        }
        state.recorder.retry_sent();
        let (request, saved) = C::Requests::restore(saved, !state.session.may_retry());
        state.saved = saved;
        Ok(request)
    }

    /// Waits for the client until the deadline. Past it, some outcome must still come of the request: if there is none, an
    /// attempt goes out all the same.
    async fn ready(&mut self) -> Result<(), Command> {
        let Self { client, state, .. } = self;
        if !state.asks_ready {
            return Ok(());
        }
        let mut ready = pin!(poll_fn(|cx| client.poll_ready(cx)));
        let left = state.time_left();
        let in_time = match left {
            None => Some(ready.as_mut().await),
            Some(Duration::ZERO) => None,
            Some(left) => within(state.engine.runtime.sleep(left), ready.as_mut()).await,
        };
        let is_ready = match in_time {
            Some(is_ready) => is_ready,
            None if state.out_of_time() => {
                return Err(state.fails(StopReason::DeadlineExceeded));
            }
            None => ready.await,
        };
        is_ready.map_err(|error| {
            state.result_mut().get_or_insert(Err(error));
            state.fails(StopReason::NotReady)
        })
    }

    async fn send(&mut self) -> Command {
        let mark = AttemptMark::new(self.state.session.repeats());
        let layer = self.state.engine.id();
        // The request's place is free again before anything is waited for.
        let request = match self.take_request() {
            Ok(request) => request,
            Err(command) => return command,
        };
        let Self { client, state, .. } = self;
        let (span, attempt) = state.attempt_starts(state.engine.runtime.now());
        state.asks_ready = true;
        let ended = {
            // The start and every poll are marked, for retry layers further in.
            let sent = {
                let mut request = request;
                state.number(&mut request, attempt);
                mark.around(layer, || span.around(|| client.send(request, attempt)))
            };
            let mut sent = pin!(sent);
            let poll = |cx: &mut Context<'_>| {
                mark.around(layer, || span.around(|| sent.as_mut().poll(cx)))
            };
            let mut sent = pin!(poll_fn(poll));
            let in_time = match attempt.limit() {
                None => Some(sent.as_mut().await),
                Some(limit) => within(state.engine.runtime.sleep(limit), sent.as_mut()).await,
            };
            match in_time {
                Some(result) => Ok(result),
                None => match Box::pin(state.cut(&mark)).await {
                    Some(command) => Err(command),
                    None => Ok(sent.await),
                },
            }
        };
        match ended {
            Ok(result) => {
                state.mark = mark;
                state.attempt_ended(client, result, None)
            }
            Err(command) => {
                client.leave_connection(state.session.policy(), None);
                command
            }
        }
    }

    /// Goes on after a first attempt that had no time left.
    async fn cut_first(&mut self) -> Command {
        let state = &mut self.state;
        let mark = std::mem::replace(&mut state.mark, AttemptMark::new(false));
        match state.cut(&mark).await {
            Some(command) => command,
            // Such an attempt is made only if an error can tell of the timeout.
            None => state.fails(StopReason::DeadlineExceeded),
        }
    }
}

impl<C: Client> CallState<C> {
    /// The state of a request without a saved head.
    pub(crate) fn of(
        (engine, route): (Arc<Engine>, Arc<Route>),
        session: RetrySession,
        subject: Subject,
        recorder: ReportRecorder,
    ) -> Self {
        Self {
            budget: engine.budget_of(&route, || subject.service),
            engine,
            route,
            session,
            recorder,
            head: None,
            gate_key: GateKey::default(),
            permit: None,
            narrower: Vec::new(),
            asks_ready: false,
            mark: AttemptMark::new(false),
            limit: None,
            saved: None,
            ended: None,
            paid: None,
            moved_from: None,
        }
    }

    /// Returns the result for the caller, if it was kept.
    pub(super) fn result(&self) -> Option<&AttemptResult<C>> {
        self.ended.as_ref()?.result.as_ref()
    }

    pub(super) fn result_mut(&mut self) -> &mut Option<AttemptResult<C>> {
        &mut self.ended.get_or_insert_default().result
    }

    /// Returns the meaning of the last outcome.
    pub(super) fn outcome(&self) -> Outcome<'static> {
        let ended = self.ended.as_ref();
        ended.map_or(Outcome::success(), |ended| ended.outcome)
    }

    /// Returns when the last outcome was judged.
    pub(super) fn judged_at(&self) -> Moment {
        self.ended
            .as_ref()
            .map(|ended| ended.at)
            .unwrap_or_default()
    }

    /// Returns the rest of the attempt's time, if that is limited.
    pub(super) fn attempt_time_left(&self) -> Option<Duration> {
        let until = self.limit?.until;
        Some(until.saturating_sub(self.engine.runtime.now()))
    }

    /// Returns the rest of the deadline, if there is one.
    pub(super) fn time_left(&self) -> Option<Duration> {
        let deadline = self.session.deadline()?;
        Some(deadline.saturating_sub(self.engine.runtime.now()))
    }

    fn attempt_starts(&mut self, now: Duration) -> (AttemptSpan, Attempt) {
        let span = self.recorder.attempt_started(now);
        let most = self.session.attempt_limit(now);
        self.limit = most.map(|most| Limit {
            most,
            until: now.saturating_add(most),
        });
        (span, Attempt::new(self.recorder.number(), most))
    }

    /// Writes which attempt this is, if the server or a layer in another task is to know.
    fn number(&self, request: &mut C::Request, attempt: Attempt) {
        if self.engine.across_tasks || attempt.number() > 1 {
            if let Some(extensions) = C::Requests::extensions_mut(request) {
                extensions.insert(attempt);
            }
        }
        number::<C::Requests, _>(self.engine.attempt_header.as_ref(), request, attempt);
    }

    /// The last command cannot be carried out: a request that was to go elsewhere stays where it was.
    pub(super) fn fails(&mut self, why: StopReason) -> Command {
        self.roll_back();
        self.paid = None;
        let now = Moment::new(self.engine.runtime.now());
        self.session.step(Event::Failed(why), now)
    }

    /// Returns `true` if there is an outcome to hand over past the deadline: the last one, as far as it was kept, else a
    /// timeout, if the client's error type can hold it.
    fn out_of_time(&mut self) -> bool {
        if let (None, Some(own)) = (self.result(), C::own_error()) {
            let allowed = self.session.allowed().unwrap_or_default();
            *self.result_mut() = Some(Err(own(OwnError::Timeout(AttemptTimeout::in_wait(
                allowed,
            )))));
        }
        self.result().is_some()
    }

    pub(super) fn saved_head(&self) -> Option<Head<'_>> {
        self.saved.as_ref().and_then(C::Requests::saved_head)
    }
}

impl<C: Client> CallState<C> {
    /// Closes the report, and returns the last outcome, or what the policy puts in its place.
    fn finish(&mut self, why: StopReason) -> Option<AttemptResult<C>> {
        let now = self.engine.runtime.now();
        let tokens_left = self.budget.tokens_at(now);
        let ends_with = self.session.ends_with().clone();
        if matches!(ends_with, OnExhausted::Respond(_)) {
            self.recorder.responds_itself();
        }
        let service = self.recorder.service();
        let report = self.recorder.stopped(why, now, tokens_left);
        let mut result = self.result_mut().take();
        match (&ends_with, &report, &self.head) {
            (OnExhausted::Respond(canned), _, Some(head)) => {
                let canned = C::Responses::canned(canned, &head.uri);
                result = canned.map(Ok).or(result);
            }
            (OnExhausted::Fail, Some(report), _) => {
                let own = C::own_error().filter(|_| matches!(result, Some(Ok(_))));
                let failed =
                    own.map(|own| own(OwnError::Failed(RequestFailed::new(report.clone()))));
                result = failed.map(Err).or(result);
            }
            (OnExhausted::DeadLetter { name, .. }, Some(report), Some(head)) => {
                if let Some(observer) = self.route.dead_letters(name) {
                    observer.on_dead_letter(&DeadLetter::new(
                        &service,
                        &head.method,
                        &head.uri,
                        &head.headers,
                        report,
                    ));
                }
            }
            _ => {}
        }
        if let (Some(Ok(response)), Some(report)) = (&mut result, report) {
            if let Some(extensions) = C::Responses::extensions_mut(response) {
                extensions.insert::<RetryReport>(report);
            }
        }
        result
    }
}
