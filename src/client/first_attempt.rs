//! The first attempt, which an adapter makes in place: the loop starts only where it is not a success.

#[cfg(feature = "hyper")]
use super::connection::ConnectionUsed;
use super::facts::{give_key, line};
use super::options::RequestOptions;
use super::{Answer, HasHead, Resend};
use crate::engine::Engine;
use crate::gate::End;
use crate::nested::AttemptMark;
use crate::policy::{Outcome, Verdict};
use crate::retry_loop::{Admission, Call, CutFirst, Outcomes, Progress, Transport};
use crate::route::{Budgets, Route};
use crate::runtime::{Runtime, Sleep};
use crate::server_hints::tells_of_a_quota;
use http::{HeaderMap, StatusCode};
use std::future::Future;
use std::ops::Deref;
use std::sync::Arc;
use std::task::Context;
use std::time::Duration;

/// A request whose first attempt is about to start or under way, and what the loop needs should it not be a success.
pub(crate) struct StartedRequest<Q: Resend> {
    pub(crate) route: Arc<Route>,
    pub(crate) mark: AttemptMark,
    options: RequestOptions,
    saved: Option<Q::InPlace>,
    started: Duration,
    /// Nothing as long as no timer runs for the first attempt.
    limited: Option<Box<Limited>>,
}

impl<Q: Resend + Send + 'static> StartedRequest<Q> {
    #[inline(always)]
    pub(crate) fn new(engine: &Engine, request: &mut Q, mut options: RequestOptions) -> Self {
        let route = options.route(engine, request);
        let started = engine.runtime.now();
        give_key(engine, &route, request);
        Self {
            mark: AttemptMark::new(options.may_retry(&route)),
            route,
            options,
            saved: None,
            started,
            limited: None,
        }
    }

    /// Lets the first attempt go at once, where nobody is told of it and the gate has nothing to decide or there is none.
    /// It matters only to some whether the client's error type can say that an attempt was cut.
    ///
    /// # Errors
    ///
    /// The engine, where the loop makes the first attempt too.
    #[inline(always)]
    pub(crate) fn enter<E: Deref<Target = Engine>>(
        &mut self,
        engine: E,
        request: &mut Q,
        says_cuts: impl FnOnce() -> bool,
    ) -> Result<Admission<E>, E> {
        if !self.options.is_plain() || !engine.is_silent(&self.route) {
            return Err(engine);
        }
        // What is asked of a fleet is asked when the attempt is gone, and then something must be said of that.
        if self.limit().is_some() && engine.budgets_of(&self.route).is_shared() && !says_cuts() {
            return Err(engine);
        }
        let now = self.started;
        let admission = self.options.enter(engine, &self.route, request, now)?;
        if self.mark.repeats() {
            let recorded = admission.engine.recorded;
            self.saved = match admission.engine.plain_requests {
                true => request.save_what_is_sent(recorded),
                false => request.save_in_place(recorded),
            };
        }
        if self.saved.is_none() {
            let way = (&*admission.engine, &*self.route);
            self.options.keep_facts(way, request);
        }
        Ok(admission)
    }

    /// Counts the answer if it is a success that needs nothing more; else gives what is said of it so far.
    #[inline(always)]
    pub(crate) fn succeeds<E: Deref<Target = Engine>, A: Answer>(
        &self,
        admission: &mut Admission<E>,
        answer: Option<&A>,
    ) -> Result<(), Option<Verdict>> {
        let answer = answer.ok_or(None)?;
        let request = || match self.saved.as_deref() {
            Some(saved) => Some(line(saved)),
            None => self.options.line().cloned(),
        };
        self.route
            .succeeds(answer.status(), answer.headers(), request)?;
        if self.mark.repeats() {
            self.deposit(&admission.engine);
            let asked = self.saved.as_deref().and_then(HasHead::url);
            let redirects = &admission.engine.redirects;
            redirects.check(&self.mark, asked.zip(answer.url()));
        }
        match admission.hears_quotas() && tells_of_a_quota(answer.headers()) {
            true => tells(admission, &self.route, answer.headers()),
            false => admission.succeeds(),
        }
        Ok(())
    }

    /// Counts a success in the budget of its service.
    #[inline(always)]
    fn deposit(&self, engine: &Engine) {
        match engine.budgets_of(&self.route) {
            Budgets::One(budget) => budget.deposit(self.started),
            each => {
                let service = self.options.service(&self.route, self.saved.as_deref());
                each.deposit(&service, self.started);
            }
        }
    }

    /// How long the first attempt may take, if there is a limit.
    #[inline]
    pub(crate) fn limit(&self) -> Option<Duration> {
        self.options.first_limit(&self.route.policy)
    }

    /// What is known of an attempt that has a limit.
    pub(crate) fn limited(&mut self) -> &mut Limited {
        self.limited.get_or_insert_default()
    }

    /// The connection that the first attempt has used, if that was noted.
    #[cfg(feature = "hyper")]
    pub(crate) fn take_connection(&mut self) -> Option<Box<ConnectionUsed>> {
        self.limited.as_mut()?.connection.take()
    }

    /// Whether the first attempt, which is not over, has no time left; else the task is woken when that is so.
    #[inline]
    pub(crate) fn is_late(&mut self, engine: &Engine, cx: &mut Context<'_>) -> bool {
        match self.limit() {
            None => false,
            Some(limit) => {
                let until = self.started.saturating_add(limit);
                self.limited().is_over(until, &*engine.runtime, cx)
            }
        }
    }

    /// Cuts the first attempt, whose time is up; nothing where it must go on, since nothing could say that it was cut.
    #[cold]
    pub(crate) fn cut<T: Transport<Request = Q>>(
        &mut self,
        engine: Arc<Engine>,
        admission: Option<Admission>,
    ) -> Option<Box<CutFirst<T>>> {
        let way = (engine, Arc::clone(&self.route));
        let mut progress = self
            .options
            .progress(way, self.saved.as_deref(), self.started);
        progress.admission = admission;
        let first = (&self.mark, self.started);
        let saved = self.saved.take().map(Into::into);
        let cut = progress.cut_first::<T>(first, saved);
        cut.map_err(|saved| self.saved = saved.map(Into::into)).ok()
    }

    /// The loop, with the request still to be sent.
    pub(crate) fn run<T: Transport<Request = Q>>(
        self,
        engine: Arc<Engine>,
        transport: T,
        request: Q,
    ) -> impl Future<Output = Outcomes<T>> {
        let way = (engine, self.route);
        let call = Call {
            transport,
            progress: self.options.progress(way, Some(&request), self.started),
        };
        call.run(request)
    }

    /// The loop, with a first attempt that was not a success, and what was said of it.
    pub(crate) fn go_on<T: Transport<Request = Q>>(
        self,
        engine: Arc<Engine>,
        transport: T,
        admission: Option<Admission>,
        ended: (Outcomes<T>, Option<Verdict>),
    ) -> impl Future<Output = Outcomes<T>> {
        let way = (engine, self.route);
        let progress = self
            .options
            .progress(way, self.saved.as_deref(), self.started);
        let call = Call {
            transport,
            progress: Progress {
                admission,
                mark: self.mark,
                ..progress
            },
        };
        call.go_on(ended, self.saved.map(Into::into), self.started)
    }
}

/// What there is of an attempt only where it may be cut.
#[derive(Default)]
pub(crate) struct Limited {
    timer: Timer,
    #[cfg(feature = "hyper")]
    pub(crate) connection: Option<Box<ConnectionUsed>>,
}

#[derive(Default)]
enum Timer {
    /// The attempt was not waited for yet.
    #[default]
    Off,
    Runs(Sleep),
    /// It has run out.
    Over,
}

impl Limited {
    /// Whether an attempt runs out of time in this poll, in which it did not end. It does so once.
    fn is_over(&mut self, until: Duration, runtime: &dyn Runtime, cx: &mut Context<'_>) -> bool {
        if let Timer::Off = self.timer {
            let left = until.saturating_sub(runtime.now());
            self.timer = Timer::Runs(runtime.sleep(left));
        }
        let over = match &mut self.timer {
            Timer::Runs(timer) => timer.as_mut().poll(cx).is_ready(),
            Timer::Off | Timer::Over => false,
        };
        if over {
            self.timer = Timer::Over;
        }
        over
    }
}

/// Tells the gate of a success, and what its answer says of a quota.
#[cold]
fn tells<E: Deref<Target = Engine>>(
    admission: &mut Admission<E>,
    route: &Route,
    headers: &HeaderMap,
) {
    let at = admission.engine.runtime.moment();
    let quota = route.quota(&Outcome::response(StatusCode::OK, headers), at);
    admission.ends(End::Succeeded, quota);
}
