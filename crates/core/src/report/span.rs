//! One span per attempt, and one log line per retry and per call that stops without success, with the feature
//! `tracing`.
//!
//! # Source
//!
//! The OpenTelemetry semantic conventions for HTTP clients define the names. `url.full`, which they require too, is left
//! out on purpose: a path or a query can hold a secret or a person's name, which is then in every span. Who wants it opens
//! a span around the call. `otel.kind` and `otel.name` are what `tracing-opentelemetry` reads: the kind of the span, and
//! its name, which is the method alone, since nobody here knows the template of the path.

#![cfg_attr(
    not(feature = "tracing"),
    expect(unused_variables, reason = "nobody listens")
)]

use super::{AttemptReport, RetryReport, Subject};
use crate::budget::PaidRetry;
#[cfg(feature = "tracing")]
use crate::policy::moment::millis;
use crate::policy::{ErrorKind, Outcome, ResumeFailure, StopReason};
#[cfg(feature = "tracing")]
use http::Method;
use std::time::Duration;
#[cfg(feature = "tracing")]
use tracing::{Level, field::Empty};

/// The level of the log lines on retries.
#[cfg(feature = "tracing")]
pub(crate) type RetryLevel = Level;
#[cfg(not(feature = "tracing"))]
pub(crate) type RetryLevel = ();

#[cfg(feature = "tracing")]
pub(crate) const DEFAULT_LEVEL: RetryLevel = Level::WARN;
#[cfg(not(feature = "tracing"))]
pub(crate) const DEFAULT_LEVEL: RetryLevel = ();

/// Returns `true` if a subscriber is interested in the spans.
#[inline]
pub(crate) fn is_traced() -> bool {
    #[cfg(feature = "tracing")]
    return tracing::enabled!(target: "http_retry", Level::INFO);
    #[cfg(not(feature = "tracing"))]
    false
}

/// Returns `true` if a subscriber is interested in the log lines.
#[inline]
pub(crate) fn is_logged() -> bool {
    #[cfg(feature = "tracing")]
    return tracing::enabled!(target: "http_retry", Level::WARN);
    #[cfg(not(feature = "tracing"))]
    false
}

/// The span of one attempt; the default is none, for use before the first attempt.
#[derive(Clone, Default)]
pub(crate) struct AttemptSpan {
    #[cfg(feature = "tracing")]
    span: Option<tracing::Span>,
}

impl AttemptSpan {
    /// Creates the span of the attempt with this number.
    pub(crate) fn new(call: u64, subject: &Subject, number: u32) -> Self {
        #[cfg(feature = "tracing")]
        let span = {
            let method = subject.method.as_ref();
            // Asked only if somebody listens.
            let is_known = || method.is_none_or(is_known);
            let named = method.map(Method::as_str);
            let span = tracing::info_span!(
                target: "http_retry",
                "http.attempt",
                call,
                "otel.kind" = method.map(|_| "client"),
                // The conventions name no other method, so that there are not too many.
                "otel.name" = if is_known() { named } else { Some("HTTP") },
                "http.request.method" = if is_known() { named } else { Some("_OTHER") },
                "http.request.method_original" = named.filter(|_| !is_known()),
                "server.address" = subject.address(),
                "server.port" = subject.port().or(subject.default_port),
                // The conventions leave it out on the first attempt.
                "http.request.resend_count" = (number > 1).then(|| number.saturating_sub(1)),
                "http.response.status_code" = Empty,
                "error.type" = Empty,
                copies = Empty,
            );
            // Nobody listens, which is then seen at once.
            (!span.is_none()).then_some(span)
        };
        Self {
            #[cfg(feature = "tracing")]
            span,
        }
    }

    /// Runs a part of the attempt within the span.
    #[inline]
    pub(crate) fn around<T>(&self, part: impl FnOnce() -> T) -> T {
        #[cfg(feature = "tracing")]
        if let Some(span) = &self.span {
            return span.in_scope(part);
        }
        part()
    }

    /// Ends the span with the outcome's status or error, and with the number of copies that were sent besides the first
    /// request, if there are any.
    #[inline]
    pub(crate) fn ended(self, outcome: &Outcome<'_>, copies: u32) {
        #[cfg(feature = "tracing")]
        if let Some(span) = self.span {
            if copies > 0 {
                span.record("copies", copies.saturating_add(1));
            }
            if let Some(status) = outcome.status() {
                span.record("http.response.status_code", status.as_u16());
                // By the conventions, an error status is its own error type.
                if status.as_u16() >= 400 {
                    span.record("error.type", status.as_str());
                }
            }
            if let Some(kind) = outcome.error_kind() {
                span.record("error.type", kind.as_str());
            }
        }
    }
}

/// Returns `true` for the methods that the conventions know: those of RFC 9110, PATCH and QUERY.
#[cfg(feature = "tracing")]
fn is_known(method: &Method) -> bool {
    const KNOWN: [&str; 10] = [
        "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE",
    ];
    KNOWN.contains(&method.as_str())
}

/// Logs a line at a level, which `tracing` wants as a constant.
#[cfg(feature = "tracing")]
macro_rules! log {
    (at $level:expr, $($line:tt)+) => {
        match $level {
            Level::ERROR => log!(ERROR, $($line)+),
            Level::WARN => log!(WARN, $($line)+),
            Level::INFO => log!(INFO, $($line)+),
            Level::DEBUG => log!(DEBUG, $($line)+),
            _ => log!(TRACE, $($line)+),
        }
    };
    ($level:ident, $($line:tt)+) => {
        tracing::event!(target: "http_retry", Level::$level, $($line)+)
    };
}
#[cfg(not(feature = "tracing"))]
macro_rules! log {
    ($($line:tt)+) => {};
}

/// Logs a line with the facts of a request and of its last attempt, between the fields given.
macro_rules! log_attempt {
    (
        ($($level:tt)+), ($subject:ident, $last:ident),
        { $($before:tt)+ }, { $($after:tt)+ }, $message:literal
    ) => {
        log!(
            $($level)+,
            {
                $($before)+,
                service = &*$subject.service,
                "http.request.method" = $subject.method.as_ref().map(Method::as_str),
                "server.address" = $subject.address(),
                "server.port" = $subject.port(),
                "http.response.status_code" = $last.and_then(|last| last.status).map(|status| status.as_u16()),
                "error.type" = $last.and_then(|last| last.error).map(ErrorKind::as_str),
                "exception.type" = $last.and_then(|last| last.error_type),
                class = $last.map(|last| last.class.as_str()),
                reach = $last.map(|last| last.reach.as_str()),
                rule = $last.and_then(|last| last.rule.as_deref()),
                row = $last.and_then(|last| last.row.as_deref()),
                $($after)+
            },
            $message
        )
    };
}

pub(crate) fn log_retry(
    level: RetryLevel,
    call: u64,
    subject: &Subject,
    paid: &PaidRetry,
    last: Option<&AttemptReport>,
    max_attempts: Option<u64>,
) {
    log_attempt!(
        (at level), (subject, last),
        { call },
        {
            took_ms = last.map(|last| millis(last.took)),
            "http.request.resend_count" = paid.retry(),
            max_attempts,
            delay_ms = millis(paid.delay()),
            delay_source = paid.source().as_str(),
        },
        "will retry the request"
    );
}

/// Logs a call that stops without success. Not logged are calls without a retry whose response is not retryable, and
/// calls whose retries are off or left to another layer.
pub(crate) fn log_stop(call: u64, subject: &Subject, report: &RetryReport) {
    let retries = report.attempts.len().saturating_sub(1);
    // These went as the caller or its settings wanted, so a warning would be noise.
    let is_expected = match report.stop {
        StopReason::NotRetryable => retries == 0,
        stop => matches!(
            stop,
            StopReason::Succeeded
                | StopReason::Accepted
                | StopReason::Disabled
                | StopReason::Nested
        ),
    };
    if is_expected {
        return;
    }
    let last = report.attempts.last();
    log_attempt!(
        (WARN), (subject, last),
        { call, stop = report.stop.as_str(), stopped_by = report.stopped_by.as_deref() },
        {
            "http.request.resend_count" = (retries > 0).then_some(retries),
        },
        "stopped without success"
    );
}

pub(crate) fn log_resume(
    subject: &Subject,
    (at, length): (u64, u64),
    kind: ErrorKind,
    delay: Duration,
) {
    log!(
        WARN,
        {
            service = &*subject.service,
            "server.address" = subject.address(),
            "server.port" = subject.port(),
            "error.type" = kind.as_str(),
            at,
            length,
            delay_ms = millis(delay),
        },
        "will resume the download"
    );
}

pub(crate) fn log_interrupted(
    subject: &Subject,
    (at, length): (u64, u64),
    kind: Option<ErrorKind>,
    (why, stopped_by): (ResumeFailure, Option<&str>),
) {
    log!(
        WARN,
        {
            why = why.as_str(),
            stopped_by,
            service = &*subject.service,
            "server.address" = subject.address(),
            "server.port" = subject.port(),
            "error.type" = kind.map(ErrorKind::as_str),
            at,
            length,
        },
        "the download broke for good"
    );
}

/// Warns of a setting that has no effect, or hardly the intended one.
pub(crate) fn warn_of_misuse(name: &str, what: &str) {
    log!(WARN, name, "{what}");
}

/// Warns that a part of the policy has no effect with this setting of the layer.
pub fn warn_of_setting(setting: &str, lost: &str) {
    log!(
        WARN,
        lost,
        "a part of the policy does nothing under `{setting}`"
    );
}
