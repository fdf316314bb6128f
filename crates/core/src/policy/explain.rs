//! A policy as text: its schedule, and the most that it can cost.

use super::rules::predicate::joined;
use super::rules::{Action, Counter, OnExhausted, Wait};
use super::worst_case::{WorstCase, limited};
use super::{Origin, RetryPolicy, Settings};
use std::fmt::{self, Write};
use std::time::Duration;

/// The number of retries that an explanation lists before it says "and so on".
const LISTED: u32 = 10;

impl RetryPolicy {
    /// Returns the policy as text, with a line for each setting that matters: the schedule with its ceilings, the rules
    /// and lists, the worst-case number of attempts and the worst-case time. The text is for people, and its wording
    /// may change.
    ///
    /// ```
    /// let text = http_retry::RetryPolicy::user_facing().explain();
    /// let lines: Vec<&str> = text.lines().take(3).collect();
    /// assert_eq!(
    ///     lines,
    ///     [
    ///         "user_facing: at most 2 attempts",
    ///         "  backoff: exponential from 500ms, factor 2, full jitter, at most 2s",
    ///         "  retry 1: after at most 500ms",
    ///     ]
    /// );
    /// ```
    #[must_use]
    pub fn explain(&self) -> String {
        let mut text = String::new();
        // Writing to a `String` does not fail.
        let _ = self.0.explain(&mut text);
        text
    }
}

impl Settings {
    fn explain(&self, text: &mut String) -> fmt::Result {
        // The settings of a document are not changes to it.
        let changed = if self.changed && self.rules.origins.is_empty() {
            " (changed)"
        } else {
            ""
        };
        let worst = self.worst_case();
        write!(
            text,
            "{}{changed}: {}",
            self.name,
            most_attempts(worst.attempts)
        )?;
        if worst.gated_attempts > 0 {
            let refused = worst.gated_attempts;
            write!(text, ", and {refused} more that a rate limit refuses")?;
        }
        writeln!(text)?;
        let attempts = limited(self.max_retries).map(|retries| retries.saturating_add(1));
        if worst.attempts != attempts {
            writeln!(text, "  without its rules: {}", most_attempts(attempts))?;
        }
        if self.max_retries > 0 {
            self.explain_schedule(text)?;
        }
        self.explain_rules(text)?;
        for line in self.lines(&worst) {
            writeln!(text, "  {line}")?;
        }
        self.explain_worst_case(&worst, text)?;
        self.explain_origins(text)
    }

    fn explain_origins(&self, text: &mut String) -> fmt::Result {
        for Origin { field, value, from } in self.rules.origins.iter() {
            writeln!(text, "  {field}: {value} (from {from})")?;
        }
        Ok(())
    }

    fn explain_schedule(&self, text: &mut String) -> fmt::Result {
        writeln!(text, "  backoff: {}", self.backoff)?;
        for retry in 1..=self.max_retries.min(LISTED) {
            let longest = self.backoff.longest(retry);
            writeln!(text, "  retry {retry}: after at most {}", in_units(longest))?;
        }
        match limited(self.max_retries) {
            Some(retries) if self.max_retries > LISTED => {
                writeln!(text, "  and so on, up to retry {retries}")
            }
            Some(_) => Ok(()),
            None => writeln!(text, "  and so on"),
        }
    }

    fn explain_rules(&self, text: &mut String) -> fmt::Result {
        for line in self.classifiers.lines() {
            writeln!(text, "  {line}")?;
        }
        match &self.rules.otherwise {
            Action::Classify => {}
            // That of a document is shown by its origin.
            _ if !self.rules.origins.is_empty() => {}
            otherwise => writeln!(text, "  otherwise: {otherwise}")?,
        }
        self.explain_lists(text)
    }

    fn explain_worst_case(&self, worst: &WorstCase, text: &mut String) -> fmt::Result {
        // The deadline bounds everything else, so no other number is shown.
        if let Some(deadline) = worst.deadline {
            let deadline = in_units(deadline);
            write!(text, "  worst case: {deadline} in all, by the deadline")?;
            // A body may stall for ever.
            return text.write_str(if self.whole_responses == 0 {
                ", which ends with the response head\n"
            } else {
                "\n"
            });
        }
        let attempts = match worst.sending {
            Some(sending) => format!("{} of attempts", in_units(sending)),
            None => "the attempts, which have no limit".to_owned(),
        };
        if !worst.repeats() {
            return writeln!(text, "  worst case: {attempts}");
        }
        let Some(backoff) = worst.backoff else {
            return writeln!(text, "  worst case: no limit");
        };
        writeln!(
            text,
            "  worst case: {} of backoff and {attempts}",
            in_units(backoff)
        )?;
        text.write_str("  worst case if a server asks for waits: ")?;
        match (worst.waits, worst.gated_waits) {
            (None, _) => writeln!(text, "no limit"),
            (Some(waits), Duration::ZERO) => writeln!(text, "{} of waits", in_units(waits)),
            (Some(waits), gated) => {
                let (waits, gated) = (in_units(waits), in_units(gated));
                writeln!(text, "{waits} of waits, and {gated} at the gate")
            }
        }
    }

    /// Shows the outcome lists, and what follows once retries are exhausted. The action of a document is shown by its
    /// origin.
    fn explain_lists(&self, text: &mut String) -> fmt::Result {
        if let Some(conditions) = &self.rules.retry_on {
            let listed = joined(conditions, ", ");
            writeln!(text, "  retry_on: only {listed}, whatever the class")?;
        }
        if !self.rules.stop_on.is_empty() {
            let listed = joined(&self.rules.stop_on, ", ");
            writeln!(text, "  stop_on: never {listed}")?;
        }
        self.explain_on_exhausted(text)
    }

    fn explain_on_exhausted(&self, text: &mut String) -> fmt::Result {
        let (setting, gets) = match &self.rules.on_exhausted {
            OnExhausted::Last => return Ok(()),
            OnExhausted::Fail => (
                "fail".to_owned(),
                "an error that RequestFailed finds".to_owned(),
            ),
            OnExhausted::Respond(response) => {
                let status = response.status.as_u16();
                let gets = format!("a response of the policy, {status}");
                (format!("respond {status}"), gets)
            }
            OnExhausted::Failover { to, .. } => {
                let gets = format!("the outcome of {}", to.service);
                (format!("failover to {}", to.service), gets)
            }
            OnExhausted::DeadLetter { name } => {
                let gets = format!("the last outcome, and {name} is told");
                (format!("dead_letter {name}"), gets)
            }
        };
        if self.rules.origins.is_empty() {
            writeln!(text, "  on_exhausted: {setting}")?;
        }
        writeln!(text, "  once retries are exhausted, the caller gets {gets}")
    }
}

fn most_attempts(attempts: Option<u64>) -> String {
    match attempts {
        Some(1) => "at most 1 attempt".to_owned(),
        Some(attempts) => format!("at most {attempts} attempts"),
        None => "attempts without a limit".to_owned(),
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Classify => f.write_str("classify"),
            Self::Accept => f.write_str("accept"),
            Self::Fail => f.write_str("fail"),
            Self::ByOutcome => f.write_str("by_outcome"),
            Self::Stop => f.write_str("stop"),
            Self::Retry(policy) => policy.0.fmt_retry(f),
            Self::Wait(wait) => wait.fmt(f),
            Self::Failover(to) => {
                write!(f, "failover to {}", to.service)?;
                f.write_str(if to.same_keys { ", same keys" } else { "" })
            }
        }
    }
}

impl Settings {
    /// Formats the policy that a rule retries by.
    fn fmt_retry(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match limited(self.max_retries) {
            Some(retries) => write!(f, "retry, at most {retries}")?,
            None => f.write_str("retry without a limit")?,
        }
        match self.rules.counter {
            Counter::Rule => f.write_str(" of its own")?,
            Counter::Request => {}
        }
        write!(f, ", {}", self.backoff)
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.delay {
            Some(delay) => write!(f, "wait {}", in_units(delay))?,
            None => f.write_str("wait")?,
        }
        if let Some(times) = self.at_most {
            write!(f, ", at most {times} times")?;
        }
        match self.max {
            Some(max) => write!(f, ", at most {} in all", in_units(max)),
            None => Ok(()),
        }
    }
}

/// Returns a duration in units for people, as a document writes them: `500ms`, `30s`, `1h 40s`, `15m`.
pub(super) fn in_units(duration: Duration) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")];
    if duration.is_zero() {
        return "0s".to_owned();
    }
    // Short durations keep their fraction, which the units below drop.
    if duration < Duration::from_secs(120) {
        return format!("{duration:?}");
    }
    let mut left = duration.as_secs();
    let mut parts = Vec::new();
    for (seconds, unit) in UNITS {
        let whole = left.checked_div(seconds).unwrap_or_default();
        left = left.checked_rem(seconds).unwrap_or_default();
        if whole > 0 {
            parts.push(format!("{whole}{unit}"));
        }
    }
    parts.join(" ")
}

#[cfg(test)]
mod tests;
