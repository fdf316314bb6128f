//! One request on its way: what to do next, and the effects of that on what requests share.
//!
//! An [`Exchange`] owns a request's route, its session, its permits at the gates, its tokens and its report. An adapter
//! only does I/O: it tells the exchange what came of it, and carries out the [`Todo`] that it gets back. Dropping an
//! exchange gives back what it holds.
//!
//! ```text
//! start -> (Wait ->) Send -> ended -> (Read -> read ->) Prepare -> prepare -> (Read ->) Wait -> Send ..
//!                                  \_________________\_________________________________________-> Done
//! ```
//!
//! A request that succeeds at once has no session, and a report only if somebody observes it: the rest is made by the
//! first event that needs it. An operation that somebody observes has both: it ends with a value, not with a response.

pub(crate) mod engine;
pub(crate) mod gates;
pub(crate) mod head;
mod progress;
pub(crate) mod retry;
pub(crate) mod settings;
pub(crate) mod todo;

use crate::attempt::AttemptHandle;
use crate::attempt::terms::AttemptTerms;
use crate::budget::RetryBudget;
use crate::budget::services::Budgets;
use crate::error::RateLimited;
use crate::gate::ext::GateExt;
use crate::gate::map::Permit;
use crate::gate::state::CallEnd;
use crate::nested::{AttemptMark, RedirectSigns};
use crate::policy::ext::PolicyExt;
use crate::policy::{Attempt, ErrorKind, Moment, Outcome, RetryPolicy, StopReason, Verdict};
use crate::report::recorder::ReportRecorder;
use crate::report::span::is_logged;
use crate::route::Route;
use crate::runtime::Sleep;
use crate::server_hints::has_quota_header;
use engine::Engine;
use gates::{PermitGuard, gate_key, joined_gate_key};
use head::{Head, Kept};
use http::{HeaderMap, StatusCode};
use progress::Progress;
use settings::RequestSettings;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use todo::{End, Ending, Found, Todo};

/// One request on its way.
///
/// # Cancel safety
///
/// Dropping it ends the request: its attempt is over for the gates, it leaves the line at a gate, and the tokens of an
/// unsent retry go back to the budget.
pub struct Exchange {
    /// The settings shared by all requests, and the right to send the first attempt until there is a progress.
    permit: PermitGuard,
    route: Arc<Route>,
    /// The budget of the request's service, if each has its own; else an unlimited one. Found together with the gate, by
    /// the same name.
    found_budget: RetryBudget,
    settings: RequestSettings,
    /// The mark of the attempt under way.
    mark: AttemptMark,
    started: Duration,
    /// The timer of the first attempt, made by the first poll that finds no result.
    timer: Option<Sleep>,
    /// The report of an observed request until there is a progress, which takes it over.
    recorder: Option<Box<ReportRecorder>>,
    /// The parts that a first attempt does not need which succeeds.
    progress: Option<Box<Progress>>,
}

impl Exchange {
    /// Begins a request, or an operation without a head. Nothing is shared yet, so the request may still be changed.
    #[must_use]
    #[inline(always)]
    pub fn new(
        engine: Arc<Engine>,
        mut settings: RequestSettings,
        head: Option<&impl Head>,
    ) -> Self {
        let route = settings.route(&engine, head);
        Self {
            mark: AttemptMark::new(settings.may_retry(&route), !settings.is_passthrough()),
            started: engine.runtime.now(),
            permit: PermitGuard::new(engine, None),
            route,
            found_budget: RetryBudget::unlimited(),
            settings,
            timer: None,
            recorder: None,
            progress: None,
        }
    }

    /// Returns the settings that the request shares with others.
    #[must_use]
    #[inline]
    pub fn engine(&self) -> &Arc<Engine> {
        &self.permit.engine
    }

    /// Returns the policy that the request follows now.
    #[must_use]
    pub fn policy(&self) -> &RetryPolicy {
        match &self.progress {
            Some(progress) => progress.session.policy(),
            None => self.route.policy(),
        }
    }

    /// Returns `true` if a retry can follow the next attempt. If not, the request need not be saved.
    #[must_use]
    #[inline]
    pub fn may_retry(&self) -> bool {
        match &self.progress {
            Some(progress) => progress.session.may_retry(),
            None => self.mark.repeats(),
        }
    }

    /// Returns how long the first attempt may take, if there is a limit.
    #[must_use]
    #[inline]
    pub fn first_limit(&self) -> Option<Duration> {
        self.route.policy().first_limit(self.settings.get())
    }

    /// Records that the client sent another request in the last attempt than the one of its outcome, such as one to
    /// follow a redirect.
    pub fn sent_several(&self) {
        self.mark.redirect();
    }

    /// Takes the request's turn at its gates.
    ///
    /// | if it succeeds at once | it is | it begins with |
    /// |---|---|---|
    /// | and nobody observes it | counted only: *silent* | nothing more |
    /// | and somebody observes it | counted and reported | a recorder |
    /// | and its response is still looked at, or it has to wait | judged as any other | its progress |
    #[inline(always)]
    pub fn start(&mut self, head: Option<&impl Head>) -> Todo {
        let is_silent = self.settings.is_silent() && self.engine().is_silent(&self.route);
        if is_silent && self.takes_first_turn(head) {
            return Todo::Send;
        }
        // Silent, and still not sent: a gate holds it up.
        let must_wait = is_silent;
        self.start_slowly(head, must_wait)
    }

    /// Takes the turn of a request that must wait, that is observed, or whose success is looked at.
    #[cold]
    #[inline(never)]
    fn start_slowly(&mut self, head: Option<&impl Head>, must_wait: bool) -> Todo {
        let needs_recorder_only = !must_wait
            && self.settings.leaves_successes()
            && self.engine().leaves_successes(&self.route);
        if needs_recorder_only && self.takes_first_turn(head) {
            self.recorder = Some(self.new_recorder(head));
            return Todo::Send;
        }
        let now = self.started;
        let (progress, _) = self.opened(head);
        let todo = progress.start(now);
        progress.starts_at_once = matches!(todo, Todo::Send);
        todo
    }

    /// Keeps the facts of a request that is not saved, before it is sent.
    pub fn keep_facts(&mut self, head: &impl Head) {
        let policy = self.route.policy();
        self.settings.facts = Some(head.facts());
        let is_named = || is_logged() && !self.settings.is_passthrough() && !policy.is_off();
        // Its service has a name in the report, as its budget has.
        if self.has_found_budget() || policy.asks_for_the_request() || is_named() {
            self.keep_request(head);
        }
    }

    #[cold]
    fn keep_request(&mut self, head: &impl Head) {
        let (engine, policy) = (&*self.permit.engine, self.route.policy());
        let keyed = head.has_own_key(policy);
        let request = head.keyed_request(policy).into_owned();
        let authority = request.authority().unwrap_or_default();
        let gate_key = joined_gate_key(engine, &self.route, authority, head);
        self.settings.facts = self.settings.facts.map(|facts| facts.keyed(keyed));
        self.settings.keep_request(request, gate_key);
    }

    /// Begins an attempt: spends the tokens of its retry. Call it right before the attempt is sent.
    #[inline(always)]
    pub fn attempt(&mut self) -> Attempt {
        match &mut self.progress {
            None => {
                if let Some(recorder) = &mut self.recorder {
                    recorder.attempt_started(self.started);
                }
                Attempt::new(1, self.first_limit())
            }
            Some(progress) => {
                let repeats = progress.session.repeats();
                self.mark = AttemptMark::new(repeats, !self.settings.is_passthrough());
                progress.attempt(self.settings.outer())
            }
        }
    }

    /// Returns a handle to the attempt that has just begun, for the extensions of its request: a layer in another task
    /// reports by it. Not called, no such layer is heard.
    pub fn handle(&mut self) -> AttemptHandle {
        let recorder = self.recorder();
        let call = recorder.map(ReportRecorder::call);
        let number = recorder.map_or(1, ReportRecorder::number);
        let (progress, permit) = (self.progress.as_ref(), &self.permit);
        let route = progress.map_or(&self.route, |progress| &progress.route);
        self.mark.handle(|| AttemptTerms {
            overrides: self.settings.get().cloned(),
            gate_key: match progress {
                Some(progress) => progress.gate_passed(),
                None => permit.inner.as_ref().map(Permit::key),
            },
            call,
            number,
            is_alone: false,
            ..AttemptTerms::new(Arc::clone(&permit.engine), Arc::clone(route))
        })
    }

    /// Replies to the layers below that have asked for the attempt.
    #[cold]
    #[inline(never)]
    fn reply(&mut self) {
        let questions = self.mark.take_questions();
        let handle = self.handle();
        for question in &questions {
            // Only the first reply counts.
            let _ = question.set(handle.clone());
        }
    }

    /// Calls or polls the client, so that an inner retry layer and the span of the attempt see it. Then replies to the
    /// layers below that have asked for the attempt.
    #[inline(always)]
    pub fn around<T>(&mut self, part: impl FnOnce() -> T) -> T {
        let result = self
            .mark
            .around(self.permit.engine.id(), || match self.recorder() {
                None => part(),
                Some(recorder) => recorder.around(part),
            });
        if self.mark.is_asked() {
            self.reply();
        }
        result
    }

    /// Completes once the attempt has no time left. Poll it after the attempt itself.
    #[inline]
    pub fn poll_limit(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(progress) = &mut self.progress {
            return progress.poll_limit(cx);
        }
        let Some(limit) = self.first_limit() else {
            return Poll::Pending;
        };
        let runtime = &self.permit.engine.runtime;
        let until = self.started.saturating_add(limit);
        let timer = self
            .timer
            .get_or_insert_with(|| runtime.sleep(until.saturating_sub(runtime.now())));
        timer.as_mut().poll(cx)
    }

    /// Takes the end of an attempt.
    #[inline(always)]
    pub fn ended(&mut self, kept: &impl Kept, end: &End<'_>) -> Todo {
        let judged = match self.progress {
            Some(_) => None,
            None => match self.succeeds(kept, end) {
                Ok(()) => {
                    if self.recorder.is_some() {
                        self.report_success(end);
                    }
                    return Todo::Done;
                }
                Err(judged) => judged,
            },
        };
        self.judge(kept, end, judged)
    }

    /// Takes the end of an attempt that had no time left, or whose response had none. Returns the attempt with its limit,
    /// and `true` if that was the rest of the deadline. Then tell what the caller gets of it, as [`End::Late`] or
    /// [`Found::Late`].
    pub fn cut(&mut self, kept: &impl Kept) -> (Attempt, bool) {
        let head = kept.head();
        self.sent(head.as_ref()).0.limit_reached()
    }

    /// Takes what a read has found in the body of the last response, which has this head.
    pub fn read(
        &mut self,
        kept: &impl Kept,
        head: Option<(StatusCode, &HeaderMap)>,
        found: Found<'_>,
    ) -> Todo {
        match &mut self.progress {
            Some(progress) => progress.read(kept, head, found),
            None => Todo::Done,
        }
    }

    /// Changes the request for its next attempt.
    pub fn prepare(&mut self, kept: &mut impl Kept, has_response: bool) -> Todo {
        match &mut self.progress {
            Some(progress) => progress.prepare(kept, has_response),
            None => Todo::Done,
        }
    }

    /// Waits for the request's turn, for a fleet's answer, or for the time of the retry. `can_end` tells if the caller
    /// can be given anything should the deadline pass.
    pub fn poll_wait(&mut self, cx: &mut Context<'_>, can_end: bool) -> Poll<Todo> {
        match &mut self.progress {
            Some(progress) => progress.poll_wait(cx, can_end),
            None => Poll::Ready(Todo::Send),
        }
    }

    /// Completes once the deadline has passed, while the client is not ready.
    pub fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.progress {
            Some(progress) => progress.poll_deadline(cx),
            None => Poll::Pending,
        }
    }

    /// Ends the request, since the last todo cannot be carried out.
    pub fn failed(&mut self, why: StopReason) -> Todo {
        match &mut self.progress {
            Some(progress) => progress.fail(why),
            None => Todo::Done,
        }
    }

    /// Returns the kind of the last error.
    #[must_use]
    pub fn error_kind(&self) -> Option<ErrorKind> {
        self.progress.as_ref()?.last.error_kind()
    }

    /// Returns `true` if the last response came over a connection that cannot serve its request, which a retry must
    /// leave.
    #[must_use]
    pub fn was_misdirected(&self) -> bool {
        self.progress
            .as_ref()
            .is_some_and(|progress| progress.last.is_misdirected())
    }

    /// Returns `true` if the request's own setting or its facts make it idempotent, whatever its policy says.
    #[must_use]
    pub fn is_idempotent_by_itself(&self, head: Option<&impl Head>) -> bool {
        match &self.progress {
            Some(progress) => progress.session.is_idempotent_by_itself(),
            None => {
                let set = self.settings.get().and_then(|settings| settings.idempotent);
                set.unwrap_or(self.facts(head).idempotent)
            }
        }
    }

    /// Returns the longest time that the whole request may take, if it has a deadline.
    #[must_use]
    pub fn time_limit(&self) -> Option<Duration> {
        self.progress.as_ref()?.session.time_limit()
    }

    /// Returns the error of a request that has ended early, since its gate stays shut for longer than its deadline.
    #[must_use]
    pub fn limited(&self) -> Option<RateLimited> {
        let progress = self.progress.as_ref()?;
        Some(RateLimited::new(
            progress.recorder.service(),
            progress.shut_for?,
        ))
    }

    /// Ends the request, and closes its report. Returns `None` if the caller gets the last result as it is: that of a
    /// first attempt that has succeeded, whose report is closed already if it has one.
    #[inline(always)]
    pub fn finish(&mut self) -> Option<Ending> {
        self.progress.as_mut().map(|progress| progress.finish())
    }
}

/// Returns what an adapter knows of the requests that one attempt sends, besides the one of its outcome.
fn signs_of<'a, K: Kept>(_: &K, head: Option<&'a impl Head>) -> RedirectSigns<'a> {
    RedirectSigns {
        may_follow: K::may_follow(),
        path: head.map(Head::path),
        ..RedirectSigns::default()
    }
}

impl Exchange {
    /// Counts a success that the caller can have at once. Otherwise returns a classifier's verdict, if there is one.
    #[inline(always)]
    fn succeeds(&mut self, kept: &impl Kept, end: &End<'_>) -> Result<(), Option<Verdict>> {
        let &End::Response {
            status,
            headers,
            url,
            ..
        } = end
        else {
            return Err(None);
        };
        // The report tells of the copies.
        if self.mark.copies() > 0 {
            return Err(None);
        }
        let accepts = || self.accepts(kept, &Outcome::response(status, headers));
        self.route.succeeds(status, accepts)?;
        if self.mark.repeats() {
            self.budget().deposit(self.started);
            if let Some(url) = url {
                let head = kept.head();
                let requested = head.as_ref().and_then(Head::url);
                let urls = requested.map(|requested| (requested, url));
                self.engine().redirects.check(&self.mark, urls);
            }
        }
        // Parsing a quota needs the wall clock, so a success that has none takes the short way.
        if self.permit.reads_quotas() && has_quota_header(headers) {
            let at = self.engine().runtime.moment();
            let quota = self
                .route
                .quota(&Outcome::response(StatusCode::OK, headers), at);
            self.permit.end(CallEnd::Succeeded, quota);
        } else {
            self.permit.succeeds();
        }
        Ok(())
    }

    /// Judges the end of an attempt that was no plain success.
    #[cold]
    #[inline(never)]
    fn judge(&mut self, kept: &impl Kept, end: &End<'_>, judged: Option<Verdict>) -> Todo {
        let head = kept.head();
        let (progress, mark) = self.sent(head.as_ref());
        progress.ended(kept, end, mark, judged)
    }

    /// Returns `Ok` if the policy's own classifier leaves the success of a first attempt one.
    #[inline(never)]
    fn accepts(&self, kept: &impl Kept, outcome: &Outcome<'_>) -> Result<(), Option<Verdict>> {
        let head = kept.head();
        let policy = self.route.policy();
        let saved = head.as_ref().map(|head| head.keyed_request(policy));
        let unsaved = self.settings.request().map(|request| &**request);
        let request = saved.as_ref().or(unsaved);
        self.route.accepts(&outcome.for_request(request))
    }

    /// Returns the report of the request, if it has one already.
    #[inline]
    fn recorder(&self) -> Option<&ReportRecorder> {
        match &self.progress {
            Some(progress) => Some(&progress.recorder),
            None => self.recorder.as_deref(),
        }
    }

    /// Reports the success of the first attempt, and with it that of the request.
    #[inline(never)]
    fn report_success(&mut self, end: &End<'_>) {
        let recorder = self.recorder.take();
        let (
            Some(mut recorder),
            &End::Response {
                status, headers, ..
            },
        ) = (recorder, end)
        else {
            return;
        };
        let at = Moment::new(self.engine().runtime.now());
        let outcome = Outcome::response(status, headers);
        recorder.attempt_ended((&outcome, None), at, (None, None), None, true);
        let unlimited = RetryBudget::unlimited();
        let budget = if self.mark.repeats() {
            self.budget()
        } else {
            // Nothing pays for a request that is never sent again.
            &unlimited
        };
        recorder.stopped((StopReason::Succeeded, None), at.now, budget);
    }

    /// Returns `true` if the budget of the request's service was looked up. An unlimited one counts as if it were not:
    /// nothing is asked of it.
    #[inline(always)]
    fn has_found_budget(&self) -> bool {
        !self.found_budget.is_unlimited()
    }

    /// Returns the budget of the request's service, or an unlimited one if it was not looked up.
    #[inline(always)]
    fn budget(&self) -> &RetryBudget {
        if self.has_found_budget() {
            return &self.found_budget;
        }
        match self.engine().budgets_of(&self.route) {
            Budgets::One(budget) => budget,
            Budgets::PerService(_) => &self.found_budget,
        }
    }

    /// Finds the budget of the request's service, and takes the first attempt's turn at the gate: `true` if it may go at
    /// once. One look-up serves both. If it may not, and for every retry, [`Progress::start`] takes the turn.
    #[inline(always)]
    fn takes_first_turn(&mut self, head: Option<&impl Head>) -> bool {
        let (engine, policy) = (&*self.permit.engine, self.route.policy());
        // A nested layer stands aside at the gate too: the outer one waits there, if it has one.
        let is_gated = !self.settings.is_passthrough() && policy.gate_wait_limit().is_some();
        let budgets = match engine.budgets_of(&self.route) {
            Budgets::PerService(budgets) if self.mark.repeats() => Some(budgets),
            _ => None,
        };
        if !is_gated && budgets.is_none() {
            return true;
        }
        let authority = head.and_then(Head::authority).unwrap_or_default();
        if let Some(budgets) = budgets {
            self.found_budget = budgets.get(self.settings.service(&self.route, &authority));
        }
        if !is_gated {
            return true;
        }
        let key = match (head, self.settings.operation(&self.route)) {
            (Some(head), _) => gate_key(engine, &authority, head),
            (None, Some(service)) => engine.gate.key(service, None),
            (None, None) => return false,
        };
        // Waiting at several gates is the progress's work.
        if engine.gate.has_narrower() {
            return false;
        }
        let entered = engine
            .gate
            .enter(key, self.started, policy.obeys_quotas_at_once());
        match entered {
            Ok(permit) => {
                self.permit.inner = permit;
                true
            }
            Err(_) => false,
        }
    }

    /// Returns the progress of a request that was sent. If its start was not reported yet, it is now.
    fn sent(&mut self, head: Option<&impl Head>) -> (&mut Progress, &AttemptMark) {
        let (is_new, is_reported) = (self.progress.is_none(), self.recorder.is_some());
        let (progress, mark) = self.opened(head);
        if is_new {
            progress.was_sent(is_reported);
        }
        (progress, mark)
    }

    /// Returns the progress, and opens it if there is none.
    fn opened(&mut self, head: Option<&impl Head>) -> (&mut Progress, &AttemptMark) {
        // The progress has a timer of its own.
        self.timer = None;
        let progress = match self.progress.take() {
            Some(progress) => progress,
            None => self.new_progress(head),
        };
        (self.progress.insert(progress), &self.mark)
    }
}
