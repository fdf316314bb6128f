//! A policy in words: its schedule, and the worst that it can cost.

use super::session::longest_spread;
use super::{Methods, Origin, RetryPolicy, Settings};
use std::fmt::{self, Write};
use std::time::Duration;

/// The retries that an explanation lists before it says "and so on".
const LISTED: u32 = 10;
/// The retries that a worst case adds up one by one before it counts the rest as long as the last of them.
const ADDED: u32 = 1_000;

impl RetryPolicy {
    /// The policy as text: the schedule with its ceilings, the worst-case number of attempts and the worst-case time.
    ///
    /// ```
    /// let text = http_retry::RetryPolicy::user_facing().explain();
    /// assert!(text.contains("at most 2 attempts"));
    /// ```
    #[must_use]
    pub fn explain(&self) -> String {
        let mut text = String::new();
        // Writing into a String does not fail.
        let _ = self.0.explain(&mut text);
        text
    }
}

impl Settings {
    fn explain(&self, text: &mut String) -> fmt::Result {
        let attempts = u64::from(self.max_retries).saturating_add(1);
        let plural = if attempts == 1 { "" } else { "s" };
        let changed = if self.changed { " (changed)" } else { "" };
        writeln!(
            text,
            "{}{changed}: at most {attempts} attempt{plural}",
            self.name
        )?;
        if self.max_retries > 0 {
            self.explain_schedule(text)?;
            self.explain_rules(text)?;
        }
        self.explain_worst_case(text)?;
        self.explain_origins(text)
    }

    fn explain_origins(&self, text: &mut String) -> fmt::Result {
        for Origin { field, value, from } in self.directives.origins.iter() {
            writeln!(text, "  {field}: {value} (from {from})")?;
        }
        Ok(())
    }

    fn explain_schedule(&self, text: &mut String) -> fmt::Result {
        writeln!(text, "  backoff: {}", self.backoff)?;
        for retry in 1..=self.max_retries.min(LISTED) {
            let longest = self.backoff.longest(retry);
            writeln!(text, "  retry {retry}: after at most {}", Words(longest))?;
        }
        if self.max_retries > LISTED {
            writeln!(text, "  and so on, up to retry {}", self.max_retries)?;
        }
        Ok(())
    }

    fn explain_rules(&self, text: &mut String) -> fmt::Result {
        match self.max_server_delay {
            Some(most) => writeln!(
                text,
                "  a server may ask for a wait of at most {}",
                Words(most)
            )?,
            None => writeln!(text, "  a server may ask for any wait")?,
        }
        match self.methods {
            Methods::Idempotent => writeln!(
                text,
                "  methods that are not idempotent are repeated only when the request was not processed"
            ),
            Methods::All => writeln!(text, "  all methods are repeated, processed or not"),
        }
    }

    fn explain_worst_case(&self, text: &mut String) -> fmt::Result {
        if let Some(timeout) = self.attempt_timeout {
            writeln!(
                text,
                "  one attempt: at most {timeout:?} to the response head"
            )?;
        }
        if let Some(deadline) = self.deadline {
            return writeln!(
                text,
                "  worst case: {} in all, by the deadline",
                Words(deadline)
            );
        }
        let attempts = match self.attempt_timeout {
            Some(timeout) => format!("{} of attempts", Words(self.attempts_last(timeout))),
            None => "the attempts, which have no limit".to_owned(),
        };
        let backoff = self.total(|retry| self.backoff.longest(retry));
        if self.max_retries == 0 {
            return writeln!(text, "  worst case: {attempts}");
        }
        writeln!(
            text,
            "  worst case: {} of backoff and {attempts}",
            Words(backoff)
        )?;
        match self.max_server_delay {
            None => writeln!(text, "  worst case where a server asks for waits: no limit"),
            Some(most) => {
                let waits = self.total(|retry| {
                    let asked = most.saturating_add(longest_spread(most));
                    self.backoff.longest(retry).max(asked)
                });
                let waits = Words(waits);
                writeln!(
                    text,
                    "  worst case where a server asks for waits: {waits} of waits"
                )
            }
        }
    }

    fn attempts_last(&self, timeout: Duration) -> Duration {
        timeout
            .saturating_mul(self.max_retries)
            .saturating_add(timeout)
    }

    fn total(&self, wait: impl Fn(u32) -> Duration) -> Duration {
        let listed = self.max_retries.min(ADDED);
        let sum = (1..=listed).map(&wait);
        let rest = wait(self.max_retries);
        sum.fold(Duration::ZERO, Duration::saturating_add)
            .saturating_add(rest.saturating_mul(self.max_retries.saturating_sub(listed)))
    }
}

/// A duration as a person would say it: `500ms`, `30s`, `1h 40s`.
struct Words(Duration);

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
        let Self(duration) = *self;
        if duration < Duration::from_secs(120) {
            return write!(f, "{duration:?}");
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
        f.write_str(&parts.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Backoff;

    #[test]
    fn the_background_preset_in_words() {
        assert_eq!(
            RetryPolicy::background().explain(),
            "background: at most 5 attempts\n  \
             backoff: exponential from 2s, factor 2, full jitter, at most 60s\n  \
             retry 1: after at most 2s\n  \
             retry 2: after at most 4s\n  \
             retry 3: after at most 8s\n  \
             retry 4: after at most 16s\n  \
             a server may ask for a wait of at most 15min\n  \
             methods that are not idempotent are repeated only when the request was not processed\n  \
             worst case: 30s of backoff and the attempts, which have no limit\n  \
             worst case where a server asks for waits: 1h 40s of waits\n"
        );
    }

    #[test]
    fn a_policy_without_retries_has_no_schedule() {
        let text = RetryPolicy::never().explain();
        assert!(text.starts_with("never: at most 1 attempt\n"));
        assert!(!text.contains("backoff:"));
    }

    #[test]
    fn worst_cases_count_timeouts_and_stop_at_the_deadline() {
        let second = Duration::from_secs(1);
        let builder = RetryPolicy::builder()
            .max_retries(2)
            .backoff(Backoff::fixed(second))
            .attempt_timeout(second * 3);
        let text = builder.clone().build().unwrap().explain();
        assert!(
            text.contains("worst case: 2s of backoff and 9s of attempts"),
            "{text}"
        );
        let text = builder.deadline(second * 5).build().unwrap().explain();
        assert!(text.contains("worst case: 5s in all"), "{text}");
    }

    #[test]
    fn a_great_many_retries_are_explained_at_once() {
        let policy = RetryPolicy::builder()
            .max_retries(u32::MAX)
            .build()
            .unwrap();
        let text = policy.explain();
        assert!(text.contains("at most 4294967296 attempts"));
        assert!(text.lines().count() < 20);
    }
}
