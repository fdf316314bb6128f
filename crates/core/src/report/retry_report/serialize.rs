//! Reports as maps, for a log or a store.

use super::{AttemptReport, RetryReport};
use crate::policy::moment::millis;
use crate::policy::{Class, DelaySource, ErrorKind, Reach, Reason, Scope, StopReason};
use crate::report::TextCut;
use serde::{Serialize, Serializer};

/// A report as it is written.
#[derive(Serialize)]
struct ReportMap<'a> {
    attempt_count: u32,
    retries: u32,
    waited_ms: u64,
    stop: StopReason,
    explanation: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped_by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens_left: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown_service: Option<&'a str>,
    from_elsewhere: bool,
    attempts: &'a [AttemptReport],
}

/// An attempt as it is written.
#[derive(Serialize)]
struct AttemptMap<'a> {
    number: u32,
    started_ms: u64,
    took_ms: u64,
    delay_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay_source: Option<DelaySource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_type: Option<&'static str>,
    class: Class,
    reach: Reach,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked_ms: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreadable: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Reason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    row: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cut: Option<TextCut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    copies: Option<u32>,
}

impl Serialize for RetryReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let map = ReportMap {
            attempt_count: self.attempt_count,
            retries: self.retries(),
            waited_ms: millis(self.waited),
            stop: self.stop,
            explanation: &self.stop.explain_by(self.stopped_by.as_deref()),
            stopped_by: self.stopped_by.as_deref(),
            tokens_left: self
                .tokens_left
                .and_then(|tokens| tokens.to_string().parse().ok()),
            budget: self.budget.as_deref(),
            unknown_service: self.unknown_service.as_deref(),
            from_elsewhere: self.from_elsewhere,
            attempts: &self.attempts,
        };
        map.serialize(serializer)
    }
}

impl Serialize for AttemptReport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let map = AttemptMap {
            number: self.number,
            started_ms: millis(self.started),
            took_ms: millis(self.took),
            delay_ms: millis(self.delay),
            delay_source: self.delay_source,
            status: self.status.map(|status| status.as_u16()),
            error: self.error,
            error_type: self.error_type,
            class: self.class,
            reach: self.reach,
            asked_ms: self.asked.map(millis),
            unreadable: self.unreadable().collect(),
            reason: self.reason,
            rule: self.rule.as_deref(),
            row: self.row.as_deref(),
            scope: self.scope.map(scope_name),
            cut: self.cut,
            copies: Some(self.copies).filter(|copies| *copies > 1),
        };
        map.serialize(serializer)
    }
}

/// Returns the kind of a scope. The hash of a named one differs from process to process.
fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Account => "account",
        Scope::Route => "route",
        Scope::MethodRoute => "method_route",
        Scope::Named(_) => "named",
        Scope::Request => "request",
    }
}
