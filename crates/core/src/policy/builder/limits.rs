//! The limits of a policy: numbers and times, and the values that are refused.

use super::RetryPolicyBuilder;
use crate::error::ConfigError;
use crate::policy::Settings;
use crate::policy::bodies::check_whole_answers;
use std::time::Duration;

impl RetryPolicyBuilder {
    /// Sets the maximum number of retries after the first attempt; 0 means one attempt, and `u32::MAX` no limit.
    /// Default 4; 1 in [`RetryPolicy::user_facing`](crate::RetryPolicy::user_facing), 2 in `llm` and
    /// [`rate_limited`](crate::RetryPolicy::rate_limited), 0 in [`never`](crate::RetryPolicy::never).
    ///
    /// It bounds all attempts, refused ones included; [`max_refused`](Self::max_refused) counts those separately. The
    /// retries of a rule follow the limit of the rule's own policy instead. Waits of rules and a failover do not count.
    /// [`RetryOverride::max_retries`](crate::RetryOverride::max_retries) replaces it. When the limit is reached, the
    /// request stops with [`AttemptsExhausted`](crate::StopReason::AttemptsExhausted).
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    ///
    /// let policy = RetryPolicy::builder().max_retries(2).build()?;
    /// assert_eq!(policy.worst_case().attempts, Some(3));
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn max_retries(self, max_retries: u32) -> Self {
        Self {
            max_retries: Some(max_retries),
            ..self
        }
    }

    /// Sets the maximum number of attempts in all, at least 1: the alternative to `max_retries`, which is one less.
    /// `build` refuses 0, and both at once.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    ///
    /// let policy = RetryPolicy::builder().max_attempts(3).build()?;
    /// assert_eq!(policy.retry_limit(), 2);
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn max_attempts(self, max_attempts: u32) -> Self {
        Self {
            max_attempts: Some(max_attempts),
            ..self
        }
    }

    /// Sets the number of attempts that a rate limit may refuse without a retry being counted: the call waits at the
    /// gate and is sent again. Attempts beyond it count as retries. Default 0, so that
    /// [`max_retries`](Self::max_retries) bounds all attempts; 300 in `llm`, 900 in
    /// [`rate_limited`](crate::RetryPolicy::rate_limited), which wait for a limit.
    ///
    /// Setting `max_retries` or `max_attempts` on such a preset resets it to 0, unless it is set too. Each refused
    /// attempt takes at least a second of [`max_gate_wait`](Self::max_gate_wait), which bounds them as well. `build`
    /// refuses a number above 0 without a gate, or without retries.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    ///
    /// let policy = RetryPolicy::rate_limited().to_builder().max_attempts(5).max_refused(20).build()?;
    /// let first = policy.explain();
    /// assert!(first.starts_with("rate_limited (changed): at most 5 attempts, and 20 more that a rate limit refuses\n"));
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn max_refused(self, max_refused: u32) -> Self {
        Self {
            max_refused: Some(max_refused),
            ..self
        }
    }

    /// Sets the longest time for the whole request from the start of its first attempt, waits included; above 0.
    /// Default none.
    ///
    /// If a retry would start at the deadline or later, the request ends at once, without the wait
    /// ([`DeadlineExceeded`](crate::StopReason::DeadlineExceeded)). An attempt is cut at the deadline; on the tower
    /// layer with `unchanged_errors()` and in `Runner` the last attempt is not, since no error could report it.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    /// use std::time::Duration;
    ///
    /// let policy = RetryPolicy::user_facing().to_builder().deadline(Duration::from_secs(3)).build()?;
    /// assert_eq!(policy.worst_case().time(), Some(Duration::from_secs(3)));
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn deadline(self, deadline: impl Into<Option<Duration>>) -> Self {
        self.with(|settings| settings.deadline = deadline.into())
    }

    /// Sets the longest time for one attempt up to its response head, up to the first output of a stream that is held
    /// back, or up to the end of a body that [`whole_answers`](Self::whole_answers) reads; above 0, at most the
    /// deadline. Default none: the client's own timeouts apply.
    ///
    /// The server may have processed an attempt that was cut, so a request that is not idempotent is not repeated after
    /// it. A retry after it costs the budget's `timeout_cost`. On the tower layer with `unchanged_errors()` and in
    /// `Runner`, an attempt that no retry can follow is not cut, since no error could report it.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    /// use std::time::Duration;
    ///
    /// // Two attempts of at most 1 s.
    /// let policy = RetryPolicy::user_facing();
    /// let policy = policy.to_builder().attempt_timeout(Duration::from_secs(1)).build()?;
    /// assert_eq!(policy.worst_case().sending, Some(Duration::from_secs(2)));
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn attempt_timeout(self, timeout: impl Into<Option<Duration>>) -> Self {
        self.with(|settings| settings.attempt_timeout = timeout.into())
    }

    /// Sets the longest wait that a server may ask for; if it asks for more, the request stops with that response
    /// ([`ServerDelayTooLong`](crate::StopReason::ServerDelayTooLong)). `None` allows any wait. Default 15 min, which
    /// covers a short announced maintenance; 2 s in [`RetryPolicy::user_facing`](crate::RetryPolicy::user_facing), 2
    /// min in `llm`.
    ///
    /// An earlier retry would ignore the server, a longer wait the caller. A random extra is added to the wait, so that
    /// callers with the same wait do not come back at once: up to a fifth of what the server asks for, at most 10 s.
    /// [`server_delays`](Self::server_delays) cuts longer waits instead, or ignores them all.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    /// use std::time::Duration;
    ///
    /// let policy = RetryPolicy::builder().max_server_delay(Duration::from_secs(30)).build()?;
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn max_server_delay(self, most: impl Into<Option<Duration>>) -> Self {
        self.with(|settings| settings.max_server_delay = most.into())
    }

    /// Sets the longest total wait of a call at the gate, above 0; `None` for no gate. Default 5 min; 15 min in
    /// [`RetryPolicy::rate_limited`](crate::RetryPolicy::rate_limited), none in
    /// [`user_facing`](crate::RetryPolicy::user_facing) and [`never`](crate::RetryPolicy::never).
    ///
    /// The gate is one pause for all callers of a service: after several 429s in a row, calls wait for as long as the
    /// server asks (100 ms if it names no time), except for single new ones that probe the limit, and then continue in
    /// order. One 429 delays only its own call. While time is left, the retry after a 429 costs no token; it uses as
    /// much of the time as the server asks for, and at least a second. A call that has used up its time is sent anyway.
    /// Each attempt counts, except those of [`max_refused`](Self::max_refused).
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    /// use std::time::Duration;
    ///
    /// let policy = RetryPolicy::user_facing();
    /// let gated = policy.to_builder().max_gate_wait(Duration::from_secs(3)).build()?;
    /// assert_eq!(gated.worst_case().gated_waits, Duration::from_secs(3));
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn max_gate_wait(self, most: impl Into<Option<Duration>>) -> Self {
        self.with(|settings| settings.max_gate_wait = most.into())
    }

    /// Enables quotas at the gate from the first response that reports one, not only after a refusal. Default `false`;
    /// `true` in `RetryPolicy::llm` and [`rate_limited`](crate::RetryPolicy::rate_limited). Without a gate it has no
    /// effect.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    ///
    /// let policy = RetryPolicy::builder().quotas_at_once(true).build()?;
    /// assert!(policy.obeys_quotas_at_once());
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn quotas_at_once(self, at_once: bool) -> Self {
        self.with(|settings| settings.quotas_at_once = at_once)
    }

    /// Reads a response that is a success by its head to its end before the caller gets it, if its body has at most
    /// this many bytes: a body that is cut, reset or stalled is then a failed attempt. Default 0, off; at most 64 MiB.
    ///
    /// The whole body is held in memory, and [`attempt_timeout`](Self::attempt_timeout) and the deadline cover the
    /// reading. A body that is longer, or that need not end (an event stream, lines of JSON, gRPC), is handed over as
    /// it comes. A server that has responded has processed the request, so a request that is not idempotent is not
    /// repeated after a broken body; the caller then gets the head, the bytes that came, and the error.
    ///
    /// A body that ends before its declared length is broken too, even if the client ends it without an error, as hyper
    /// may on HTTP/2. The caller then gets an `IncompleteBody` error, unless the layer keeps the body's own error type.
    /// Without a declared length, only a body that is hyper's own shows such an end. The guide has the rules.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    ///
    /// let policy = RetryPolicy::background().to_builder().whole_answers(2 << 20).build()?;
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn whole_answers(self, bytes: usize) -> Self {
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.with(|settings| settings.whole_answers = bytes)
    }
}

impl Settings {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        self.backoff.check()?;
        above_zero("deadline", self.deadline)?;
        above_zero("attempt_timeout", self.attempt_timeout)?;
        above_zero("max_gate_wait", self.max_gate_wait)?;
        let streams = self.streams.as_ref();
        let first_event_timeout = streams.and_then(|streams| streams.first_event_timeout());
        above_zero("first_event_timeout", first_event_timeout)?;
        check_whole_answers(self.whole_answers)?;
        match (self.attempt_timeout, self.deadline) {
            (Some(timeout), Some(deadline)) if timeout > deadline => Err(ConfigError::new(
                "attempt_timeout",
                format!("{timeout:?}"),
                format!("must be at most the deadline, which is {deadline:?}"),
            )),
            _ => Ok(()),
        }
    }
}

impl Settings {
    /// Refuses a limit that the caller has set and that has no effect.
    pub(super) fn check_refused(&self, given: Option<u32>) -> Result<(), ConfigError> {
        let Some(most) = given.filter(|most| *most > 0) else {
            return Ok(());
        };
        let allowed = if self.max_gate_wait.is_none() {
            "has no effect without a gate: set max_gate_wait too"
        } else if self.max_retries == 0 {
            "has no effect without retries: set max_attempts to 2 or more"
        } else {
            return Ok(());
        };
        Err(ConfigError::new("max_refused", most, allowed))
    }
}

fn above_zero(field: &'static str, duration: Option<Duration>) -> Result<(), ConfigError> {
    match duration {
        Some(Duration::ZERO) => Err(ConfigError::new(field, "0ns", "must be above 0")),
        _ => Ok(()),
    }
}
