//! The recorders of a request and of a download: the report, and the events for the observers.

use super::span::RetryLevel;
use super::{
    AttemptReport, AttemptSpan, Observer, ReportSlot, RetryEvent, RetryEventKind, RetryReport,
    TextCut,
};
use crate::budget::{PaidRetry, RetryBudget};
use crate::exchange::engine::Engine;
use crate::exchange::head::Head;
use crate::exchange::settings::RequestSettings;
use crate::normal_form::default_port;
use crate::policy::{Class, DelaySource, ErrorKind, Moment, Outcome, ResumeFailure, StopReason};
use crate::route::Route;
use http::uri::Authority;
use http::{Method, Uri};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The unfinished report of one request, and its observers.
pub(crate) struct ReportRecorder {
    /// The number of the call in this process.
    call: u64,
    subject: Subject,
    observers: Arc<[Arc<dyn Observer>]>,
    slot: Option<ReportSlot>,
    report: RetryReport,
    first_started: Duration,
    started: Duration,
    number: u32,
    delay: Duration,
    delay_source: Option<DelaySource>,
    /// `true` from a wait at the gate until an attempt follows.
    is_at_the_gate: bool,
    /// The cut of the text before the next attempt.
    cut: Option<TextCut>,
    /// The copies of the attempt's request that were sent besides the first.
    copies: u32,
    only_success: bool,
    /// The number of times that the request moved to another service.
    moves: u32,
    span: AttemptSpan,
}

impl ReportRecorder {
    /// Creates a recorder of one request that started at `started`. The report goes to the slot, if there is one.
    pub(crate) fn new(
        subject: Subject,
        observers: Arc<[Arc<dyn Observer>]>,
        slot: Option<ReportSlot>,
        started: Duration,
    ) -> Self {
        Self {
            call: next_call(),
            subject,
            observers,
            slot,
            report: RetryReport::new(),
            first_started: started,
            started,
            number: 1,
            delay: Duration::ZERO,
            delay_source: None,
            is_at_the_gate: false,
            cut: None,
            copies: 0,
            only_success: true,
            moves: 0,
            span: AttemptSpan::default(),
        }
    }

    /// Records the service that the request named, if the document does not have it.
    pub(crate) fn names_unknown(&mut self, service: Option<Arc<str>>) {
        self.report.unknown_service = service;
    }

    /// Returns the number of the current attempt; the first is 1.
    #[must_use]
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Returns the number of the call in events.
    #[must_use]
    pub(crate) fn call(&self) -> u64 {
        self.call
    }

    /// Records the copies of the attempt's request that a layer below has sent besides the first.
    pub(crate) fn copies_sent(&mut self, copies: u32) {
        self.copies = copies;
    }

    /// Reports that an attempt is about to be sent.
    pub(crate) fn attempt_started(&mut self, at: Duration) {
        self.started = at;
        // The timeline starts with the first attempt, and not with a wait before it.
        if self.number == 1 {
            self.first_started = at;
        }
        let number = self.number;
        self.emit(at, RetryEventKind::AttemptStarted { number });
        self.span = AttemptSpan::new(self.call, &self.subject, number);
    }

    /// Calls or polls a part of the attempt under way, in its span.
    #[inline]
    pub(crate) fn around<T>(&self, part: impl FnOnce() -> T) -> T {
        self.span.around(part)
    }

    /// Returns the slot that receives the report.
    #[must_use]
    pub(crate) fn slot(&self) -> Option<&ReportSlot> {
        self.slot.as_ref()
    }

    /// Returns the service of the request.
    #[must_use]
    pub(crate) fn subject(&self) -> &Subject {
        &self.subject
    }

    /// Returns the name of the request's service.
    #[must_use]
    pub(crate) fn service(&self) -> Arc<str> {
        Arc::clone(&self.subject.service)
    }

    /// Moves the request to another service with this base URL, and returns the previous service.
    pub(crate) fn moved_to(&mut self, service: Arc<str>, base: &Uri) -> Subject {
        let subject = Subject {
            service,
            authority: base.authority().map_or("", Authority::as_str).into(),
            method: self.subject.method.clone(),
            default_port: Subject::port_of(base.scheme_str()),
        };
        self.moves = self.moves.saturating_add(1);
        std::mem::replace(&mut self.subject, subject)
    }

    /// Records that the caller gets a response that no server sent.
    pub(crate) fn responds_itself(&mut self) {
        // A move that is never undone, so that the report is `from_elsewhere`.
        self.moves = self.moves.saturating_add(1);
    }

    /// Undoes a move, since the request was not sent there.
    pub(crate) fn undo_move(&mut self, subject: Subject) {
        self.moves = self.moves.saturating_sub(1);
        self.subject = subject;
    }

    /// Reports that the attempt ended with this outcome.
    pub(crate) fn attempt_ended(
        &mut self,
        (outcome, error): (&Outcome<'_>, Option<&(dyn Error + 'static)>),
        at: Moment,
        (rule, row): (Option<&Arc<str>>, Option<Arc<str>>),
        error_type: Option<&'static str>,
        done: bool,
    ) {
        std::mem::take(&mut self.span).ended(outcome, self.copies);
        self.is_at_the_gate = false;
        let is_only_request = self.number == 1 && self.copies == 0;
        self.only_success &= outcome.class() == Class::Success && is_only_request && done;
        // A plain success needs no report if nobody can receive it.
        if self.only_success && self.slot.is_none() && self.observers.is_empty() {
            return;
        }
        let attempt = AttemptReport {
            started: self.started.saturating_sub(self.first_started),
            took: at.now.saturating_sub(self.started),
            delay: self.delay,
            delay_source: self.delay_source,
            rule: rule.cloned(),
            row,
            cut: self.cut.take(),
            copies: std::mem::take(&mut self.copies).saturating_add(1),
            error_type,
            ..AttemptReport::new(self.number, outcome, at.wall)
        };
        let ended = RetryEventKind::AttemptEnded(&attempt);
        self.subject
            .emit(&self.observers, (Some(self.call), error), at.now, ended);
        self.report.push(attempt);
    }

    /// Reports that a paid retry will be sent at `due`, with a log line at this level. `max_attempts` is the limit of the
    /// policy that it follows, if there is one.
    pub(crate) fn retry_scheduled(
        &mut self,
        paid: &PaidRetry,
        due: Duration,
        max_attempts: Option<u64>,
        level: RetryLevel,
    ) {
        self.delay = paid.delay();
        self.delay_source = Some(paid.source());
        let (retry, delay, source) = (paid.retry(), paid.delay(), paid.source());
        let kind = RetryEventKind::RetryScheduled {
            retry,
            delay,
            due,
            source,
        };
        // The event happens now, which is `delay` before `due`.
        self.emit(due.saturating_sub(delay), kind);
        let last = self.report.attempts.last();
        super::span::log_retry(level, self.call, &self.subject, paid, last, max_attempts);
    }

    /// Reports that the request waited at the gate.
    pub(crate) fn waited_at_the_gate(&mut self, waited: Duration, at: Duration) {
        self.delay = match self.delay_source {
            // The wait was before the first attempt, which has no delay.
            None => waited,
            Some(_) => self.delay.saturating_add(waited),
        };
        self.delay_source = Some(DelaySource::Gate);
        self.is_at_the_gate = true;
        self.emit(at, RetryEventKind::WaitedAtGate { waited });
    }

    /// Reports that the request's text was cut.
    pub(crate) fn text_was_cut(&mut self, cut: TextCut, at: Duration) {
        self.cut = Some(cut);
        self.emit(at, RetryEventKind::TextCut(cut));
    }

    /// Records that the scheduled retry is being sent.
    pub(crate) fn retry_sent(&mut self) {
        self.number = self.number.saturating_add(1);
    }

    /// Closes the report, and returns it if it belongs in the response. `by` is the list or rule that ended the request
    /// (`RetrySession::stopped_by`).
    pub(crate) fn stopped(
        &mut self,
        (stop, by): (StopReason, Option<Arc<str>>),
        at: Duration,
        budget: &RetryBudget,
    ) -> Option<RetryReport> {
        let name = budget.name_or(Arc::clone(&self.subject.service));
        if self.is_at_the_gate {
            self.report.waited = self.report.waited.saturating_add(self.delay);
        }
        (self.report.stop, self.report.stopped_by) = (stop, by);
        self.report.tokens_left = budget.tokens_at(at);
        self.report.budget = name.cloned();
        self.report.from_elsewhere = self.moves > 0;
        self.emit(at, RetryEventKind::Stopped(&self.report));
        super::span::log_stop(self.call, &self.subject, &self.report);
        // No report in a response means that its first attempt succeeded.
        let says_nothing = self.only_success && stop == StopReason::Succeeded;
        let report = &mut self.report;
        let mut take = || std::mem::replace(report, RetryReport::new());
        let Some(slot) = &self.slot else {
            return (!says_nothing).then(take);
        };
        let report = take();
        let in_response = (!says_nothing).then(|| report.clone());
        slot.put(report);
        in_response
    }

    fn emit(&self, at: Duration, kind: RetryEventKind<'_>) {
        self.subject
            .emit(&self.observers, (Some(self.call), None), at, kind);
    }
}

/// Returns the number of a new call. It tells calls apart and nothing more: it is neither random nor of the request.
fn next_call() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The service of a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct Subject {
    /// The name given by the caller, else the authority.
    pub(crate) service: Arc<str>,
    /// Host and port.
    pub(crate) authority: Arc<str>,
    /// The request's method; `None` for an operation that is not HTTP.
    pub(crate) method: Option<Method>,
    /// The port of the request's scheme, which counts if the authority names none; `None` if it is not known.
    #[cfg_attr(
        not(feature = "tracing"),
        expect(dead_code, reason = "only spans show it")
    )]
    pub(crate) default_port: Option<u16>,
}

impl Subject {
    /// Sends an event of a request for the service to observers.
    pub(crate) fn emit(
        &self,
        observers: &[Arc<dyn Observer>],
        (call, error): (Option<u64>, Option<&(dyn Error + 'static)>),
        at: Duration,
        kind: RetryEventKind<'_>,
    ) {
        let event = RetryEvent {
            call,
            error,
            service: &self.service,
            method: self.method.as_ref(),
            at,
            kind,
        };
        for observer in observers {
            observer.on_event(&event);
        }
    }

    /// Returns the port of a scheme.
    pub(crate) fn port_of(scheme: Option<&str>) -> Option<u16> {
        default_port(scheme).parse().ok()
    }

    /// Returns the authority without its port.
    #[cfg(feature = "tracing")]
    #[must_use]
    pub(crate) fn address(&self) -> &str {
        self.host_and_port()
            .map_or(&self.authority, |(host, _)| host)
    }

    /// Returns the port in the authority, if any.
    #[cfg(feature = "tracing")]
    pub(super) fn port(&self) -> Option<u16> {
        self.host_and_port().map(|(_, port)| port)
    }

    #[cfg(feature = "tracing")]
    fn host_and_port(&self) -> Option<(&str, u16)> {
        let (host, port) = self.authority.rsplit_once(':')?;
        let is_digits = port.bytes().all(|byte| byte.is_ascii_digit());
        // `parse` alone accepts a sign, as in `+80`.
        let port = port.parse().ok().filter(|_| is_digits)?;
        Some((host, port))
    }
}

/// The recorder of one download: its service, and the observers of its events.
pub struct DownloadRecorder {
    subject: Subject,
    observers: Arc<[Arc<dyn Observer>]>,
}

impl DownloadRecorder {
    /// Creates a recorder that reports to the observers of `engine`.
    pub fn new(
        engine: &Engine,
        settings: &RequestSettings,
        route: &Route,
        head: &impl Head,
    ) -> Self {
        Self {
            subject: settings.subject(route, Some(head)),
            observers: Arc::clone(&engine.observers),
        }
    }

    /// Returns the name of the download's service.
    #[must_use]
    pub fn service(&self) -> Arc<str> {
        Arc::clone(&self.subject.service)
    }

    /// Reports that the body broke, and that its rest will be requested.
    pub fn resuming(
        &self,
        (at, length): (u64, u64),
        kind: ErrorKind,
        delay: Duration,
        now: Duration,
    ) {
        let event = RetryEventKind::Resuming {
            at,
            length,
            kind,
            delay,
        };
        self.emit(now, event);
        super::span::log_resume(&self.subject, (at, length), kind, delay);
    }

    /// Reports that the rest has begun to arrive.
    pub fn resumed(&self, at: u64, kind: ErrorKind, now: Duration) {
        self.emit(now, RetryEventKind::Resumed { at, kind });
    }

    /// Reports that the download broke for good.
    pub fn interrupted(
        &self,
        (at, length): (u64, u64),
        kind: Option<ErrorKind>,
        (why, by): (ResumeFailure, Option<&str>),
        now: Duration,
    ) {
        self.emit(now, RetryEventKind::Interrupted { at, kind, why });
        super::span::log_interrupted(&self.subject, (at, length), kind, (why, by));
    }

    fn emit(&self, at: Duration, kind: RetryEventKind<'_>) {
        // A download consists of several calls, each with its own number.
        self.subject.emit(&self.observers, (None, None), at, kind);
    }
}
