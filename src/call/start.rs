//! A request whose first attempt is about to go, or under way.

use super::client::{AttemptResult, Client, SavedOf};
use super::options::{RequestOptions, gate_key, has_own_key};
use crate::client::requests::{Head, Requests};
use crate::client::responses::Responses;
use crate::engine::Engine;
use crate::nested::AttemptMark;
use crate::policy::{Outcome, RequestLine, Verdict};
use crate::route::Route;
use crate::runtime::Sleep;
use http::{HeaderMap, StatusCode};
use http_retry_core::adapter::{
    Budgets, CallEnd, GateQuota, Hold, NotIdle, Permit, RouteOf, has_quota_header,
};
use std::borrow::Cow;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// A request whose first attempt is about to go, or under way.
pub(crate) struct Call<C: Client> {
    pub(super) permit: HeldPermit,
    pub(super) route: Arc<Route>,
    pub(super) options: RequestOptions,
    pub(crate) mark: AttemptMark,
    pub(super) saved: Option<SavedOf<C>>,
    pub(super) started: Duration,
    /// Created by the first poll that finds no result, so an attempt without a limit never has one.
    timer: Option<Sleep>,
}

/// The point at which the driver takes over.
pub(crate) enum DriverStart<C: Client> {
    /// Nothing was sent yet.
    Request(C::Request),
    /// The first attempt has ended. A classifier may have judged it.
    Ended(AttemptResult<C>, Option<Verdict>),
    /// The first attempt had no time left.
    TimedOut,
}

/// The end of a first attempt.
pub(crate) enum FirstEnd<C: Client> {
    /// It was a success, and is counted.
    Succeeded(AttemptResult<C>),
    /// The driver continues.
    Drive(DriverStart<C>),
}

impl<C: Client> Call<C> {
    #[inline(always)]
    pub(crate) fn new(
        engine: Arc<Engine>,
        request: &mut C::Request,
        mut options: RequestOptions,
    ) -> Self {
        let route = options.route(&engine, C::Requests::head(request));
        let started = engine.runtime.now();
        if engine.idempotency_keys {
            add_key::<C>(&engine, &route, request);
        }
        Self {
            mark: AttemptMark::new(options.may_retry(&route)),
            permit: HeldPermit::new(engine, None),
            route,
            options,
            saved: None,
            started,
            timer: None,
        }
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.permit.engine
    }

    /// Saves the request and returns it for sending, if nothing observes its success and the gate need not decide.
    ///
    /// # Errors
    ///
    /// The request, which the driver must send.
    #[inline(always)]
    pub(crate) fn enter(
        &mut self,
        requests: &C::Requests,
        request: C::Request,
    ) -> Result<C::Request, C::Request> {
        let engine = &self.permit.engine;
        // If no error can report a timeout, the attempt may continue past its limit, which only the driver can do.
        let can_be_cut = self.limit().is_none() || C::own_error().is_some();
        if !can_be_cut || !self.options.is_plain() || !engine.is_silent(&self.route) {
            return Err(request);
        }
        let Some(head) = C::Requests::head(&request) else {
            return Err(request);
        };
        // A nested layer stands aside at the gate too: the outer one waits there, if it has one.
        let is_gated =
            !self.options.is_passthrough() && self.route.policy().gate_wait_limit().is_some();
        if is_gated && !enter_gate(&mut self.permit, &self.route, head, self.started) {
            return Err(request);
        }
        if !self.mark.repeats() {
            let context = (&*self.permit.engine, &*self.route);
            self.options.keep_facts(context, head);
            return Ok(request);
        }
        let (request, saved) = requests.save(request, self.permit.engine.save);
        self.saved = saved;
        // Its body cannot be copied. The driver still needs the facts if the attempt fails.
        if let (None, Some(head)) = (&self.saved, C::Requests::head(&request)) {
            let context = (&*self.permit.engine, &*self.route);
            self.options.keep_facts(context, head);
        }
        Ok(request)
    }

    /// Returns how long the first attempt may take, if there is a limit.
    #[inline]
    pub(crate) fn limit(&self) -> Option<Duration> {
        self.route.policy().first_limit(self.options.own())
    }

    /// Polls the first attempt with a function, and counts its success.
    #[inline(always)]
    pub(crate) fn poll_first(
        &mut self,
        cx: &mut Context<'_>,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<AttemptResult<C>>,
    ) -> Poll<FirstEnd<C>> {
        // The guard ends before the result is judged, which looks at the mark that it leaves.
        let polled = {
            let _within = self.mark.polled(self.permit.engine.id());
            poll(cx)
        };
        let Poll::Ready(result) = polled else {
            return match self.limit() {
                Some(limit) if self.is_late(limit, cx) => {
                    Poll::Ready(FirstEnd::Drive(DriverStart::TimedOut))
                }
                _ => Poll::Pending,
            };
        };
        Poll::Ready(match self.succeeds(&result) {
            Ok(()) => FirstEnd::Succeeded(result),
            Err(judged) => FirstEnd::Drive(DriverStart::Ended(result, judged)),
        })
    }

    /// Returns `true` if the attempt has no time left. Otherwise the task will be woken when the time is up.
    fn is_late(&mut self, limit: Duration, cx: &mut Context<'_>) -> bool {
        let runtime = &self.permit.engine.runtime;
        let until = self.started.saturating_add(limit);
        let timer = self
            .timer
            .get_or_insert_with(|| runtime.sleep(until.saturating_sub(runtime.now())));
        timer.as_mut().poll(cx).is_ready()
    }

    /// Counts the result if it is a success that the caller can have at once. Otherwise returns a classifier's verdict,
    /// if there is one.
    #[inline(always)]
    fn succeeds(&mut self, result: &AttemptResult<C>) -> Result<(), Option<Verdict>> {
        let response = result.as_ref().map_err(|_| None)?;
        let (status, headers) = C::Responses::head(response).ok_or(None)?;
        self.route.succeeds(status, headers, || self.line())?;
        if self.mark.repeats() {
            self.deposit();
            let requested = self.saved_head().and_then(|head| head.url());
            let urls = requested.zip(C::Responses::url(response));
            self.permit.engine.redirects.check(&self.mark, urls);
        }
        // Parsing a quota needs the wall clock, so a success that has none takes the short way.
        if self.permit.reads_quotas() && has_quota_header(headers) {
            end_with_quota(&mut self.permit, &self.route, headers);
        } else {
            self.permit.succeeds();
        }
        Ok(())
    }

    fn saved_head(&self) -> Option<Head<'_>> {
        self.saved.as_ref().and_then(C::Requests::saved_head)
    }

    fn line(&self) -> Option<RequestLine> {
        match self.saved_head() {
            Some(head) => Some(head.line()),
            None => self.options.line().cloned(),
        }
    }

    /// Counts a success in the budget of its service.
    #[inline(always)]
    fn deposit(&self) {
        match self.permit.engine.budgets_of(&self.route) {
            Budgets::One(budget) => budget.deposit(self.started),
            budgets => {
                let service = self.options.service(&self.route, self.saved_head());
                budgets.deposit(&service, self.started);
            }
        }
    }
}

/// The right to send one attempt. Dropping it reports to the gate that the attempt is over.
pub(crate) struct HeldPermit {
    pub(crate) engine: Arc<Engine>,
    /// `None` if no gate applies or the gate has no slot for its key, and after the end was reported.
    pub(super) inner: Option<Permit>,
}

impl HeldPermit {
    #[inline]
    pub(crate) fn new(engine: Arc<Engine>, inner: Option<Permit>) -> Self {
        Self { engine, inner }
    }

    /// Returns `true` if the gate uses the quota in the headers of a success.
    #[inline]
    pub(super) fn reads_quotas(&self) -> bool {
        self.inner
            .as_ref()
            .is_some_and(|permit| permit.hears_quotas)
    }

    /// Reports the success of the attempt, without a quota.
    #[inline(always)]
    pub(super) fn succeeds(&mut self) {
        if let Some(permit) = &self.inner {
            let Engine { gate, runtime, .. } = &*self.engine;
            gate.succeeds(permit, &**runtime);
            // So that `drop` does not report the attempt a second time.
            self.inner = None;
        }
    }

    /// Reports the end of the attempt.
    #[inline(always)]
    pub(super) fn end(&mut self, end: CallEnd, quota: Option<GateQuota>) {
        if let Some(permit) = self.inner.take() {
            let Engine { gate, runtime, .. } = &*self.engine;
            gate.end(&permit, end, quota, &**runtime);
        }
    }
}

/// A refusal that counts at the gate until its response is judged. If the call is dropped before that, it counts for
/// good, as the head of the response said.
pub(crate) struct HeldRefusal {
    engine: Arc<Engine>,
    hold: Option<Hold>,
}

impl HeldPermit {
    /// Reports that the head of the response refuses the attempt, before its body is read.
    pub(super) fn hold(
        mut self,
        asked: Option<Duration>,
        quota: Option<GateQuota>,
    ) -> Option<HeldRefusal> {
        let permit = self.inner.take()?;
        let engine = Arc::clone(&self.engine);
        let hold = engine.gate.hold(permit, asked, quota, &*engine.runtime)?;
        Some(HeldRefusal {
            engine,
            hold: Some(hold),
        })
    }
}

impl HeldRefusal {
    /// Reports the end of the attempt by its body: a refusal counts for good, and anything else lifts it.
    pub(super) fn end(&mut self, end: CallEnd, quota: Option<GateQuota>) {
        if let Some(hold) = self.hold.take() {
            let Engine { gate, runtime, .. } = &*self.engine;
            gate.settle(&hold, end, quota, &**runtime);
        }
    }
}

impl Drop for HeldRefusal {
    fn drop(&mut self) {
        self.end(CallEnd::Refused(None), None);
    }
}

impl Drop for HeldPermit {
    fn drop(&mut self) {
        self.end(CallEnd::Other, None);
    }
}

/// Adds an idempotency key to a request that is not idempotent and has none.
fn add_key<C: Client>(engine: &Engine, route: &Route, request: &mut C::Request) {
    let needs_key = C::Requests::head(request)
        .is_some_and(|head| !head.facts().is_idempotent() && !has_own_key(route.policy(), head));
    if let Some(headers) = C::Requests::headers_mut(request).filter(|_| needs_key) {
        engine.put_new_key(route.policy(), headers);
    }
}

/// Returns `true` if the gate lets the first attempt go at once.
#[inline(always)]
fn enter_gate(permit: &mut HeldPermit, route: &Route, head: Head<'_>, now: Duration) -> bool {
    let engine = &permit.engine;
    let authority = head.authority().unwrap_or(Cow::Borrowed(""));
    let key = gate_key(engine, &authority, head);
    if engine.gate.has_narrower() {
        let call = RouteOf {
            key,
            method: head.method,
            path: head.path(),
        };
        // Waiting at several gates is the driver's work.
        if !engine.gate.narrower(call, now).is_empty() {
            return false;
        }
    }
    match engine
        .gate
        .enter(key, now, route.policy().obeys_quotas_at_once())
    {
        Ok(entered) => {
            permit.inner = entered;
            true
        }
        Err(NotIdle { .. }) => false,
    }
}

/// Reports a success to the gate, with the quota in its headers.
#[cold]
fn end_with_quota(permit: &mut HeldPermit, route: &Route, headers: &HeaderMap) {
    let at = permit.engine.runtime.moment();
    let quota = route.quota(&Outcome::response(StatusCode::OK, headers), at);
    permit.end(CallEnd::Succeeded, quota);
}
