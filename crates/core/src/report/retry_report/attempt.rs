//! The report of one attempt.

use super::Seconds;
use crate::policy::{Class, DelaySource, ErrorKind, HeaderSet, Outcome, Reach, Reason, Scope};
use crate::report::TextCut;
use http::StatusCode;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// One attempt in a [`RetryReport`](super::RetryReport).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AttemptReport {
    /// 1 for the first attempt, 2 for the first retry, and so on.
    pub number: u32,
    /// When it started, counted from the start of the first attempt.
    pub started: Duration,
    /// The time to the response head or the error, and to the end of what was read of the body to judge it.
    pub took: Duration,
    /// The wait before it: the planned delay, and what the gate added to it.
    pub delay: Duration,
    /// Who set that wait; `None` on a first attempt that did not wait at the gate.
    pub delay_source: Option<DelaySource>,
    /// The response's status, if there was a response.
    pub status: Option<StatusCode>,
    /// The kind of the error, if there was one.
    pub error: Option<ErrorKind>,
    /// The Rust type of an error whose kind is [`ErrorKind::Other`], as [`type_name`](std::any::type_name) has it: what to
    /// name in [`classify_error`](crate::RetryPolicyBuilder::classify_error). Of an error that the service below has
    /// boxed it says no more than `dyn Error`, unless that is an I/O error.
    pub error_type: Option<&'static str>,
    /// What the outcome means for a retry.
    pub class: Class,
    /// How far the attempt got.
    pub reach: Reach,
    /// The delay that the server asked for on a failure, if any.
    pub asked: Option<Duration>,
    pub(in crate::report) unreadable: HeaderSet,
    /// Why the outcome has its class, if the policy's classifier says so.
    pub reason: Option<Reason>,
    /// The rule that judged the outcome, by its name or its place.
    pub rule: Option<Arc<str>>,
    /// The row of the policy's dialect that judged the outcome, such as `github[1]`.
    pub row: Option<Arc<str>>,
    /// That row is a rule.
    pub(in crate::report) of_a_rule: bool,
    /// Whom the limit stops that was met, if a classifier or a row says so.
    pub scope: Option<Scope>,
    /// What was cut from the request's text before this attempt, because it was too long for the model.
    pub cut: Option<TextCut>,
}

impl AttemptReport {
    pub(in crate::report) fn new(number: u32, outcome: &Outcome<'_>, wall: Duration) -> Self {
        Self {
            number,
            started: Duration::ZERO,
            took: Duration::ZERO,
            delay: Duration::ZERO,
            delay_source: None,
            status: outcome.status(),
            error: outcome.error_kind(),
            error_type: None,
            class: outcome.class(),
            reach: outcome.reach(),
            asked: outcome.server_delay(wall),
            unreadable: outcome.unreadable(wall),
            reason: outcome.reason(),
            rule: None,
            row: None,
            of_a_rule: outcome.row().is_some_and(|row| row.is_rule),
            scope: outcome.scope(),
            cut: None,
        }
    }

    /// The headers of a failure that were skipped as not valid, whether or not another one asked for a delay.
    pub fn unreadable(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.unreadable.names()
    }

    /// The dialect whose row judged the outcome: `github` of the row `github[1]`, and `rules` of a rule with `as`.
    #[must_use]
    pub fn dialect(&self) -> Option<&str> {
        let row = self.row.as_deref()?;
        match self.of_a_rule {
            true => Some("rules"),
            false => Some(row.rsplit_once('[').map_or(row, |(dialect, _)| dialect)),
        }
    }
}

impl AttemptReport {
    /// What the answer said, and what judged it.
    fn fmt_why(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(reason) = self.reason {
            write!(f, ", {reason}")?;
        }
        if let Some(delay) = self.asked {
            write!(f, ", the server asks for {}", Seconds(delay))?;
        }
        for header in self.unreadable() {
            write!(f, ", its {header} is not valid and was ignored")?;
        }
        if let Some(row) = &self.row {
            write!(f, ", by the row {row}")?;
        }
        if let Some(rule) = &self.rule {
            write!(f, ", by the rule {rule}")?;
        }
        Ok(())
    }
}

impl fmt::Display for AttemptReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:>10}  attempt {}: ",
            Seconds(self.started),
            self.number
        )?;
        match (self.status, self.error) {
            (Some(status), _) => write!(f, "{}", status.as_u16())?,
            (None, Some(error)) => write!(f, "{error} error")?,
            (None, None) => f.write_str("done")?,
        }
        if let Some(error_type) = self.error_type {
            write!(f, " of the type {error_type}")?;
        }
        write!(f, " after {}", Seconds(self.took))?;
        if self.class != Class::Success {
            write!(f, " ({}, {})", self.class, self.reach)?;
        }
        self.fmt_why(f)?;
        if let Some(TextCut { before, after, .. }) = self.cut {
            write!(
                f,
                "; sent with a text cut from {before} to {after} characters"
            )?;
        }
        match self.delay_source {
            Some(source) => {
                write!(
                    f,
                    "; sent after a wait of {} ({source})",
                    Seconds(self.delay)
                )
            }
            None => Ok(()),
        }
    }
}
