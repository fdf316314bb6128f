//! The driver: carries out what the session commands, until the request is finished.

use super::client::{AttemptResult, Client, SavedOf, number};
use super::options::{has_own_key, kept_head, key_at_the_gate};
use super::start::{Call, DriverStart, HeldPermit, HeldRefusal};
use super::{KeptHead, Limit};
use crate::RateLimited;
use crate::budget::{PaidRetry, RetryBudget};
use crate::client::requests::{Head, Requests};
use crate::client::responses::Responses;
use crate::engine::Engine;
use crate::error::{AttemptTimeout, LayerError, RequestFailed};
use crate::nested::AttemptMark;
use crate::policy::rules::OnExhausted;
use crate::policy::{Attempt, ErrorBody, Moment, Outcome, RetrySession, StopReason};
use crate::report::{DeadLetter, RetryReport};
use crate::route::Route;
use crate::runtime::within;
use http_retry_core::adapter::{
    AttemptSpan, CallKind, Command, Event, GateKey, ReportRecorder, Subject,
};
use http_retry_core::attempt::{self, AttemptHandle};
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
    /// `None` unless a failover, a dead letter or a made-up response may need it.
    pub(super) head: Option<Box<KeptHead>>,
    /// The gate of the requests that share a rate limit with this one.
    pub(crate) gate_key: GateKey,
    /// The right to send the attempt under way, and that of narrower limits.
    pub(super) permit: Option<HeldPermit>,
    /// The refusal of the attempt, while its response is read.
    pub(super) held: Option<Box<HeldRefusal>>,
    pub(super) narrower: Vec<(GateKey, HeldPermit)>,
    /// `true` if the client must be polled for readiness before the next attempt.
    pub(super) must_poll_ready: bool,
    /// The observations of the last attempt, and its handle for other tasks.
    pub(super) mark: AttemptMark,
    pub(super) handle: Option<AttemptHandle>,
    /// The handle to an attempt of an outer layer in another task.
    pub(super) outer: Option<AttemptHandle>,
    pub(super) limit: Option<Limit>,
    pub(super) saved: Option<SavedOf<C>>,
    /// `None` until an attempt has ended.
    pub(super) last: Option<Box<LastAttempt<C>>>,
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
    /// Creates the driver of a call, before or after its first attempt.
    pub(crate) fn new(
        call: Call<C>,
        client: C,
        requests: C::Requests,
        start: DriverStart<C>,
    ) -> Self {
        let request = match &start {
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
        // After the first attempt the request itself is gone. Its saved copy still has the head; `options` has the
        // facts of a request that was not saved.
        let saved_head = saved.as_ref().and_then(C::Requests::saved_head);
        let head = request.and_then(C::Requests::head).or(saved_head);
        let context = (&*engine, &*route);
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
            Some(head) => key_at_the_gate(context, &subject.authority, head),
            None => options.gate_key(),
        };
        let session = options.session(route.policy(), facts, started);
        let session = session.with_method(subject.method.clone()).of_request(line);
        let head_copy = head.filter(|_| route.keeps_head()).map(kept_head);
        let named = options.own().and_then(|own| own.service_name());
        let unknown = engine.unknown_service(&route, named);
        let recorder = ReportRecorder::new(
            subject.clone(),
            Arc::clone(&engine.observers),
            options.slot().cloned(),
            started,
        );
        let routed = (engine, route);
        let mut state = CallState::new(routed, session, subject, recorder);
        state.recorder.names_unknown(unknown);
        // An empty permit has nothing to report to the gate when the attempt ends.
        state.permit = Some(permit).filter(|permit| permit.inner.is_some());
        state.head = head_copy;
        state.gate_key = gate_key.unwrap_or_default();
        state.mark = mark;
        state.outer = options.outer().cloned();
        state.saved = saved;
        Self::with_state(client, requests, state, start)
    }

    /// Creates a driver that starts from a request's state.
    pub(crate) fn with_state(
        mut client: C,
        requests: C::Requests,
        mut state: CallState<C>,
        start: DriverStart<C>,
    ) -> Self {
        let (mut first, mut next) = (None, None);
        match start {
            DriverStart::Request(request) => {
                first = Some(Box::new(request));
                let now = Moment::new(state.engine.runtime.now());
                next = Some(state.session.step(Event::Start, now));
            }
            DriverStart::Ended(result, judged) => {
                // The attempt went out before there was a driver, so its start is recorded now.
                state.start_attempt(state.session.started());
                next = Some(state.attempt_ended(&client, result, judged));
                // The caller's `poll_ready` covers the first attempt only.
                state.must_poll_ready = true;
            }
            DriverStart::TimedOut => {
                state.start_attempt(state.session.started());
                client.leave_connection(state.session.policy(), None);
                // The next command may need a fleet's answer, which only `carry_out` can await: `next` stays `None`.
                state.must_poll_ready = true;
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

    async fn carry_out(&mut self) -> AttemptResult<C> {
        // Thousands of calls may be in flight at once, and an async function is as large as its largest await. So each
        // step has a box of its own, which lives only as long as the step.
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

    /// Waits at the gate. A client that was ready for the first attempt is released for the wait, and polled again
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
        state.must_poll_ready |= released;
        let now = Moment::new(state.engine.runtime.now());
        match waited {
            Ok(waited) => state.session.step(Event::Admitted(waited), now),
            Err(shut_for) if state.out_of_time(shut_for) => {
                state.fail(StopReason::DeadlineExceeded)
            }
            // There is no outcome to return, so the attempt is sent although the deadline has passed.
            Err(_) => {
                state.must_poll_ready = true;
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
        // A body that is shared with earlier attempts may have lost bytes to them since the retry was planned. Without
        // an outcome to return instead, it is sent unchecked.
        let has_no_result = state.result().is_none();
        let is_whole = |saved: &SavedOf<C>| has_no_result || C::Requests::is_whole(saved, false);
        let Some(saved) = state.saved.take().filter(is_whole) else {
            return Err(state.fail(StopReason::BodyNotReplayable));
        };
        if state.session.may_have_done_harm() {
            // If this layer stands further in, an outer attempt sends more than the request of its outcome.
            attempt::sent();
            state.outer.iter().for_each(AttemptHandle::sent);
        }
        // From here on the retry is sent: drop the last response, make a failover final, and spend the tokens.
        if let Some(last) = &mut state.last {
            last.result = None;
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

    /// Waits until the client is ready, or until the deadline. If the deadline passes and there is no outcome to
    /// return, it waits on, and the attempt is sent late.
    async fn ready(&mut self) -> Result<(), Command> {
        let Self { client, state, .. } = self;
        if !state.must_poll_ready {
            return Ok(());
        }
        let mut ready = pin!(poll_fn(|cx| client.poll_ready(cx)));
        let left = state.time_left();
        let in_time = match left {
            None => Some(ready.as_mut().await),
            // `within` polls the client first, so a ready client would beat a deadline that has passed.
            Some(Duration::ZERO) => None,
            Some(left) => within(state.engine.runtime.sleep(left), ready.as_mut()).await,
        };
        let is_ready = match in_time {
            Some(is_ready) => is_ready,
            None if state.out_of_time(None) => {
                return Err(state.fail(StopReason::DeadlineExceeded));
            }
            None => ready.await,
        };
        is_ready.map_err(|error| {
            state.result_mut().get_or_insert(Err(error));
            state.fail(StopReason::NotReady)
        })
    }

    async fn send(&mut self) -> Command {
        let mark = AttemptMark::new(self.state.session.repeats());
        let layer = self.state.engine.id();
        // Taken before the first await, so that the future keeps no room for the request.
        let request = match self.take_request() {
            Ok(request) => request,
            Err(command) => return command,
        };
        let Self { client, state, .. } = self;
        let (span, attempt) = state.start_attempt(state.engine.runtime.now());
        state.must_poll_ready = true;
        let end = {
            // The mark must be set during the call and every poll, since an inner retry layer may look at either.
            let sent = {
                let mut request = request;
                state.number(&mut request, attempt);
                let handle = state.handle.clone();
                let send = || client.send(request, attempt, handle);
                mark.around(layer, || span.around(send))
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
                    // No retry follows and no error can report the timeout, so the attempt runs to its end.
                    None => Ok(sent.await),
                },
            }
        };
        match end {
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

    /// Decides the command that follows a first attempt that timed out.
    async fn cut_first(&mut self) -> Command {
        let state = &mut self.state;
        let mark = std::mem::replace(&mut state.mark, AttemptMark::new(false));
        match state.cut(&mark).await {
            Some(command) => command,
            // `Call::enter` sends a limited attempt itself only if an error can report its timeout.
            None => state.fail(StopReason::DeadlineExceeded),
        }
    }
}

impl<C: Client> CallState<C> {
    /// Creates the state of a request without a saved head.
    pub(crate) fn new(
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
            held: None,
            narrower: Vec::new(),
            must_poll_ready: false,
            mark: AttemptMark::new(false),
            handle: None,
            outer: None,
            limit: None,
            saved: None,
            last: None,
            paid: None,
            moved_from: None,
        }
    }

    /// Returns the result for the caller, if it was kept.
    pub(super) fn result(&self) -> Option<&AttemptResult<C>> {
        self.last.as_ref()?.result.as_ref()
    }

    pub(super) fn result_mut(&mut self) -> &mut Option<AttemptResult<C>> {
        &mut self.last.get_or_insert_default().result
    }

    /// Returns the meaning of the last outcome.
    pub(super) fn outcome(&self) -> Outcome<'static> {
        let last = self.last.as_ref();
        last.map_or(Outcome::success(), |last| last.outcome)
    }

    /// Returns when the last outcome was judged.
    pub(super) fn judged_at(&self) -> Moment {
        self.last.as_ref().map(|last| last.at).unwrap_or_default()
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

    fn start_attempt(&mut self, now: Duration) -> (AttemptSpan, Attempt) {
        let span = self.recorder.attempt_started(now);
        let timeout = self.session.attempt_limit(now);
        self.limit = timeout.map(|timeout| Limit {
            timeout,
            until: now.saturating_add(timeout),
        });
        (span, Attempt::new(self.recorder.number(), timeout))
    }

    /// Adds the number of the attempt, for the server or for a layer in another task, and a handle for the latter.
    fn number(&mut self, request: &mut C::Request, attempt: Attempt) {
        if self.engine.across_tasks || attempt.number() > 1 {
            let handle = self.handle.insert(AttemptHandle::default());
            if let Some(extensions) = C::Requests::extensions_mut(request) {
                extensions.insert(attempt);
                extensions.insert(handle.clone());
            }
        }
        number::<C::Requests, _>(self.engine.attempt_header.as_ref(), request, attempt);
    }

    /// Reports to the session that its command could not be carried out. Rolls an unsent failover back.
    pub(super) fn fail(&mut self, why: StopReason) -> Command {
        self.roll_back();
        // Dropping the payment returns its tokens: the retry was not sent.
        self.paid = None;
        let now = Moment::new(self.engine.runtime.now());
        self.session.step(Event::Failed(why), now)
    }

    /// Returns `true` if there is an outcome to return past the deadline: the last one if it was kept, else an error if
    /// the client's type can hold one. `shut_for` is set if the gate ends the call early.
    fn out_of_time(&mut self, shut_for: Option<Duration>) -> bool {
        if let (None, Some(own)) = (self.result(), C::own_error()) {
            let error = match shut_for {
                Some(time) => LayerError::Limited(RateLimited::new(self.recorder.service(), time)),
                None => {
                    let allowed = self.session.allowed().unwrap_or_default();
                    LayerError::Timeout(AttemptTimeout::in_wait(allowed))
                }
            };
            *self.result_mut() = Some(Err(own(error)));
        }
        self.result().is_some()
    }

    pub(super) fn saved_head(&self) -> Option<Head<'_>> {
        self.saved.as_ref().and_then(C::Requests::saved_head)
    }
}

impl<C: Client> CallState<C> {
    /// Closes the report, and returns the last outcome or the policy's replacement for it.
    fn finish(&mut self, why: StopReason) -> Option<AttemptResult<C>> {
        let now = self.engine.runtime.now();
        let ends_with = self.session.ends_with().clone();
        // `stopped` closes the report, which must say that no server sent the response.
        if matches!(ends_with, OnExhausted::Respond(_)) {
            self.recorder.responds_itself();
        }
        let service = self.recorder.service();
        let end = (why, self.session.stopped_by());
        let report = self.recorder.stopped(end, now, &self.budget);
        let mut result = self.result_mut().take();
        match (&ends_with, &report, &self.head) {
            (OnExhausted::Respond(canned), _, Some(head)) => {
                let canned = C::Responses::canned(canned, &head.uri);
                result = canned.map(Ok).or(result);
            }
            (OnExhausted::Fail, Some(report), _) => {
                // An error already tells the caller of the failure, and stays unchanged.
                let own = C::own_error().filter(|_| matches!(result, Some(Ok(_))));
                let failed =
                    own.map(|own| own(LayerError::Failed(RequestFailed::new(report.clone()))));
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
        // Last, so that a made-up response carries the report too.
        if let (Some(Ok(response)), Some(report)) = (&mut result, report) {
            if let Some(extensions) = C::Responses::extensions_mut(response) {
                extensions.insert::<RetryReport>(report);
            }
        }
        result
    }
}
