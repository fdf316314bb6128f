//! One span per attempt, and one log line per retry and per call that stops without success, with the feature
//! `tracing`.
//!
//! # Source
//!
//! The OpenTelemetry semantic conventions for HTTP clients define the names. `url.full`, which they require too, is left
//! out on purpose: a path or a query can hold a secret or a person's name, which is then in every span. Who wants it opens
//! a span around the call. `otel.kind` and `otel.name` are what `tracing-opentelemetry` reads: the kind of the span, and
//! its name, which is the method alone, since nobody here knows the template of the path.

use super::{AttemptReport, RetryReport, Subject};
use crate::budget::PaidRetry;
use crate::policy::Outcome;

/// The span of one attempt.
#[derive(Clone)]
#[non_exhaustive]
pub(crate) struct AttemptSpan {
    #[cfg(feature = "tracing")]
    span: tracing::Span,
}

/// The level of the log lines on retries; `WARN` by default.
#[derive(Clone, Copy)]
#[cfg_attr(not(feature = "tracing"), derive(Default))]
#[non_exhaustive]
pub(crate) struct RetryLevel {
    #[cfg(feature = "tracing")]
    level: tracing::Level,
}

#[cfg(feature = "tracing")]
mod on {
    use super::*;
    use crate::policy::moment::millis;
    use crate::policy::{ErrorKind, ResumeFailure, StopReason};
    use http::Method;
    use std::time::Duration;
    use tracing::Level;
    use tracing::field::Empty;

    /// Returns `true` if a subscriber is interested in the spans.
    #[inline]
    pub(crate) fn is_traced() -> bool {
        tracing::enabled!(target: "http_retry", tracing::Level::INFO)
    }

    /// Returns `true` if a subscriber is interested in the log lines.
    #[inline]
    pub(crate) fn is_logged() -> bool {
        tracing::enabled!(target: "http_retry", tracing::Level::WARN)
    }

    impl AttemptSpan {
        /// Creates the span of the attempt with this number.
        pub(crate) fn new(call: u64, subject: &Subject, number: u32) -> Self {
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
            Self { span }
        }

        /// Returns a disabled span, for use before the first attempt.
        #[must_use]
        pub(crate) fn none() -> Self {
            Self {
                span: tracing::Span::none(),
            }
        }

        /// Runs a part of the attempt within the span.
        #[inline]
        pub(crate) fn around<T>(&self, part: impl FnOnce() -> T) -> T {
            self.span.in_scope(part)
        }

        /// Ends the span with the outcome's status or error, and with the number of copies that were sent besides the
        /// first request, if there are any.
        pub(crate) fn ended(self, outcome: &Outcome<'_>, copies: u32) {
            if copies > 0 {
                self.span.record("copies", copies.saturating_add(1));
            }
            if let Some(status) = outcome.status() {
                self.span
                    .record("http.response.status_code", status.as_u16());
                // By the conventions, an error status is its own error type.
                if status.as_u16() >= 400 {
                    self.span.record("error.type", status.as_str());
                }
            }
            if let Some(kind) = outcome.error_kind() {
                self.span.record("error.type", kind.as_str());
            }
        }
    }

    /// Returns `true` for the methods that the conventions know: those of RFC 9110, PATCH and QUERY.
    fn is_known(method: &Method) -> bool {
        const KNOWN: [&str; 10] = [
            "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE",
        ];
        KNOWN.contains(&method.as_str())
    }

    impl From<Level> for RetryLevel {
        fn from(level: Level) -> Self {
            Self { level }
        }
    }

    impl Default for RetryLevel {
        fn default() -> Self {
            Self::from(Level::WARN)
        }
    }

    /// Logs a line at a level that is not known until now: `tracing` wants a constant.
    macro_rules! event_at {
        ($level:expr, $($line:tt)+) => {
            match $level {
                Level::ERROR => tracing::event!(target: "http_retry", Level::ERROR, $($line)+),
                Level::WARN => tracing::event!(target: "http_retry", Level::WARN, $($line)+),
                Level::INFO => tracing::event!(target: "http_retry", Level::INFO, $($line)+),
                Level::DEBUG => tracing::event!(target: "http_retry", Level::DEBUG, $($line)+),
                _ => tracing::event!(target: "http_retry", Level::TRACE, $($line)+),
            }
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
        let took = last.map(|last| last.took);
        let last = AttemptFields::from_report(last);
        event_at!(
            level.level,
            {
                call,
                service = &*subject.service,
                "http.request.method" = subject.method.as_ref().map(http::Method::as_str),
                "server.address" = subject.address(),
                "server.port" = subject.port(),
                "http.response.status_code" = last.status,
                "error.type" = last.error,
                "exception.type" = last.error_type,
                class = last.class,
                reach = last.reach,
                rule = last.rule,
                row = last.row,
                took_ms = took.map(millis),
                "http.request.resend_count" = paid.retry(),
                max_attempts,
                delay_ms = millis(paid.delay()),
                delay_source = paid.source().as_str(),
            },
            "will retry the request"
        );
    }

    /// Logs a call that stops without success. Not logged are calls without a retry whose response is not retryable,
    /// and calls whose retries are off or left to another layer.
    pub(crate) fn log_stop(call: u64, subject: &Subject, report: &RetryReport) {
        let retries = report.attempts().len().saturating_sub(1);
        // These went as the caller or its settings wanted, so a warning would be noise.
        let is_expected = match report.stop() {
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
        let last = AttemptFields::from_report(report.attempts().last());
        tracing::event!(
            target: "http_retry",
            tracing::Level::WARN,
            {
                call,
                stop = report.stop().as_str(),
                stopped_by = report.stopped_by(),
                service = &*subject.service,
                "http.request.method" = subject.method.as_ref().map(http::Method::as_str),
                "server.address" = subject.address(),
                "server.port" = subject.port(),
                "http.response.status_code" = last.status,
                "error.type" = last.error,
                "exception.type" = last.error_type,
                class = last.class,
                reach = last.reach,
                rule = last.rule,
                row = last.row,
                "http.request.resend_count" = (retries > 0).then_some(retries),
            },
            "stopped without success"
        );
    }

    /// The fields of an attempt in the log.
    #[derive(Default)]
    struct AttemptFields<'a> {
        status: Option<u16>,
        error: Option<&'static str>,
        error_type: Option<&'static str>,
        class: Option<&'static str>,
        reach: Option<&'static str>,
        rule: Option<&'a str>,
        row: Option<&'a str>,
    }

    impl<'a> AttemptFields<'a> {
        fn from_report(attempt: Option<&'a AttemptReport>) -> Self {
            let Some(attempt) = attempt else {
                return Self::default();
            };
            Self {
                status: attempt.status.map(|status| status.as_u16()),
                error: attempt.error.map(ErrorKind::as_str),
                error_type: attempt.error_type,
                class: Some(attempt.class.as_str()),
                reach: Some(attempt.reach.as_str()),
                rule: attempt.rule.as_deref(),
                row: attempt.row.as_deref(),
            }
        }
    }

    pub(crate) fn log_resume(
        subject: &Subject,
        (at, length): (u64, u64),
        kind: ErrorKind,
        delay: Duration,
    ) {
        tracing::event!(
            target: "http_retry",
            tracing::Level::WARN,
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

    /// Warns of a setting that has no effect, or hardly the intended one.
    pub(crate) fn warn_of_misuse(name: &str, what: &str) {
        tracing::event!(
            target: "http_retry",
            tracing::Level::WARN,
            name,
            "{what}"
        );
    }

    pub(crate) fn log_interrupted(
        subject: &Subject,
        (at, length): (u64, u64),
        kind: Option<ErrorKind>,
        (why, stopped_by): (ResumeFailure, Option<&str>),
    ) {
        tracing::event!(
            target: "http_retry",
            tracing::Level::WARN,
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

    /// Warns that a part of the policy has no effect with this setting of the layer.
    pub fn warn_of_setting(setting: &str, lost: &str) {
        tracing::event!(
            target: "http_retry",
            tracing::Level::WARN,
            lost,
            "a part of the policy does nothing under `{setting}`"
        );
    }
}

#[cfg(not(feature = "tracing"))]
#[expect(missing_docs, reason = "documented where each does something")]
mod on {
    use super::*;

    #[inline]
    #[must_use]
    pub(crate) fn is_traced() -> bool {
        false
    }

    #[inline]
    #[must_use]
    pub(crate) fn is_logged() -> bool {
        false
    }

    impl AttemptSpan {
        #[inline]
        #[must_use]
        pub(crate) fn new(_: u64, _: &Subject, _: u32) -> Self {
            Self {}
        }

        #[inline]
        #[must_use]
        pub(crate) fn none() -> Self {
            Self {}
        }

        #[inline]
        pub(crate) fn around<T>(&self, part: impl FnOnce() -> T) -> T {
            part()
        }

        pub(crate) fn ended(self, _: &Outcome<'_>, _: u32) {}
    }

    pub(crate) fn log_retry(
        _: RetryLevel,
        _: u64,
        _: &Subject,
        _: &PaidRetry,
        _: Option<&AttemptReport>,
        _: Option<u64>,
    ) {
    }

    pub(crate) fn log_stop(_: u64, _: &Subject, _: &RetryReport) {}

    pub(crate) fn log_resume(
        _: &Subject,
        _: (u64, u64),
        _: crate::policy::ErrorKind,
        _: std::time::Duration,
    ) {
    }

    pub(crate) fn warn_of_misuse(_: &str, _: &str) {}

    pub(crate) fn log_interrupted(
        _: &Subject,
        _: (u64, u64),
        _: Option<crate::policy::ErrorKind>,
        _: (crate::policy::ResumeFailure, Option<&str>),
    ) {
    }

    pub fn warn_of_setting(_: &str, _: &str) {}
}

pub use on::*;
