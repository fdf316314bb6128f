//! The table of a policy's settings: each one once, with its type, its default, its setters, its check and
//! its line in an explanation.
//!
//! They are the settings that are a plain value. Classifiers and rules have setters of their own.

mod generate;

use super::bodies::{MAX_ANSWER_BYTES, check_whole_responses};
use super::builder::SetOnBuilder;
use super::classifier::Classifiers;
use super::explain::in_units;
use super::rules::{Rules, ServerDelays};
use super::{
    Backoff, ErrorJudge, Hedge, Methods, RetryPolicy, RetryPolicyBuilder, Rewrite, StreamHolder,
    WorstCase,
};
use crate::error::ConfigError;
use generate::settings;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

settings! {
    /// Passes the names of a policy's settings, which are those of its builder's setters, to a macro that is given by
    /// its path.
    #[macro_export]
    names setting_names, with those of other setters:
        classify_error classifier credentials dialect header_rules hold_streams max_attempts on_exhausted
        otherwise retry_on rewrite rule server_delays stop_on;

    max_retries: u32 {
        default 4;

        /// Sets the maximum number of retries after the first attempt; 0 means one attempt, and `u32::MAX` no limit.
        /// Default 4; 1 in [`RetryPolicy::user_facing`](crate::RetryPolicy::user_facing), 2 in `llm` and
        /// [`rate_limited`](crate::RetryPolicy::rate_limited), 0 in [`never`](crate::RetryPolicy::never).
        ///
        /// It bounds all attempts, refused ones included; [`max_refused`](Self::max_refused) counts those separately.
        /// The retries of a rule follow the limit of the rule's own policy instead. Waits of rules and a failover do
        /// not count. [`RetryOverride::max_retries`](crate::RetryOverride::max_retries) replaces it. When the limit is
        /// reached, the request stops with [`AttemptsExhausted`](crate::StopReason::AttemptsExhausted).
        ///
        /// ```
        /// use http_retry::RetryPolicy;
        ///
        /// let policy = RetryPolicy::builder().max_retries(2).build()?;
        /// assert_eq!(policy.worst_case().attempts, Some(3));
        /// # Ok::<(), http_retry::ConfigError>(())
        /// ```
        set(max_retries: u32) => max_retries;

        /// Sets the maximum number of retries after the first attempt; 0 means one attempt. It may be more than the
        /// policy allows, and applies with [`RetryPolicy::never`](crate::RetryPolicy::never) too. It bounds all
        /// attempts, whatever the policy's [`max_refused`](crate::RetryPolicyBuilder::max_refused).
        request(max_retries: u32) -> u32 => max_retries, open if |_| false;
    }

    max_refused: u32 {
        default 0;

        /// Sets the number of attempts that a rate limit may refuse without a retry being counted: the call waits at
        /// the gate and is sent again. Attempts beyond it count as retries. Default 0, so that
        /// [`max_retries`](Self::max_retries) bounds all attempts; 300 in `llm`, 900 in
        /// [`rate_limited`](crate::RetryPolicy::rate_limited), which wait for a limit.
        ///
        /// Setting `max_retries` or `max_attempts` on such a preset resets it to 0, unless it is set too. Each refused
        /// attempt takes at least a second of [`max_gate_wait`](Self::max_gate_wait), which bounds them as well.
        /// `build` refuses a number above 0 without a gate, or without retries.
        ///
        /// ```
        /// use http_retry::RetryPolicy;
        ///
        /// let policy = RetryPolicy::rate_limited().to_builder().max_attempts(5).max_refused(20).build()?;
        /// let first = policy.explain();
        /// let line = "rate_limited (changed): at most 5 attempts, and 20 more that a rate limit refuses\n";
        /// assert!(first.starts_with(line));
        /// # Ok::<(), http_retry::ConfigError>(())
        /// ```
        set(max_refused: u32) => max_refused;
    }

    backoff: Backoff {
        default Backoff::exponential(Duration::from_secs(2)).max_delay(Duration::from_secs(60));

        /// Sets the delay before each retry. Default exponential from 2 s, factor 2, with full jitter, at most 60 s.
        ///
        /// A server that asks for a longer wait gets it ([`max_server_delay`](Self::max_server_delay)). `build` refuses
        /// a backoff that cannot work: each function of [`Backoff`] documents its bounds.
        ///
        /// ```
        /// use http_retry::{Backoff, RetryPolicy};
        /// use std::time::Duration;
        ///
        /// let backoff = Backoff::exponential(Duration::from_millis(100)).max_delay(Duration::from_secs(5));
        /// let policy = RetryPolicy::builder().backoff(backoff).build()?;
        /// assert!(policy.explain().contains("retry 3: after at most 400ms"));
        /// # Ok::<(), http_retry::ConfigError>(())
        /// ```
        set(backoff: Backoff) => backoff;

        check |settings| settings.backoff.check();
    }

    max_server_delay: Option<Duration> {
        default Some(Duration::from_secs(15 * 60));

        /// Sets the longest wait that a server may ask for; if it asks for more, the request stops with that response
        /// ([`ServerDelayTooLong`](crate::StopReason::ServerDelayTooLong)). `None` allows any wait. Default 15 min,
        /// which covers a short announced maintenance; 2 s in
        /// [`RetryPolicy::user_facing`](crate::RetryPolicy::user_facing), 2 min in `llm`.
        ///
        /// An earlier retry would ignore the server, a longer wait the caller. A random extra is added to the wait, so
        /// that callers with the same wait do not come back at once: up to a fifth of what the server asks for, at most
        /// 10 s. [`server_delays`](Self::server_delays) cuts longer waits instead, or ignores them all.
        ///
        /// ```
        /// use http_retry::RetryPolicy;
        /// use std::time::Duration;
        ///
        /// let policy = RetryPolicy::builder().max_server_delay(Duration::from_secs(30)).build()?;
        /// # Ok::<(), http_retry::ConfigError>(())
        /// ```
        set(most: impl Into<Option<Duration>>) => most.into();

        explain |settings, worst| worst.repeats().then(|| match settings.max_server_delay {
            _ if settings.rules.server_delays == ServerDelays::Ignore => {
                "waits that a server asks for are ignored".to_owned()
            }
            Some(most) => format!("a server may ask for a wait of at most {}", in_units(most)),
            None => "a server may ask for any wait".to_owned(),
        });
    }

    max_gate_wait: Option<Duration> {
        default Some(Duration::from_secs(5 * 60));

        /// Sets the longest total wait of a call at the gate, above 0; `None` for no gate. Default 5 min; 15 min in
        /// [`RetryPolicy::rate_limited`](crate::RetryPolicy::rate_limited), none in
        /// [`user_facing`](crate::RetryPolicy::user_facing) and [`never`](crate::RetryPolicy::never).
        ///
        /// The gate is one pause for all callers of a service: after several 429s in a row, calls wait for as long as
        /// the server asks (100 ms if it names no time), except for single new ones that probe the limit, and then
        /// continue in order. One 429 delays only its own call. While time is left, the retry after a 429 costs no
        /// token; it uses as much of the time as the server asks for, and at least a second. A call that has used up
        /// its time is sent anyway. Each attempt counts, except those of [`max_refused`](Self::max_refused).
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
        set(most: impl Into<Option<Duration>>) => most.into();

        check |settings| above_zero("max_gate_wait", settings.max_gate_wait);
        explain |settings, worst| settings.max_gate_wait.filter(|_| worst.repeats()).map(|most| format!(
            "after several 429s in a row all callers wait together, each for at most {} in all",
            in_units(most)
        ));
    }

    quotas_at_once: bool {
        default false;

        /// Enables quotas at the gate from the first response that reports one, not only after a refusal. Default
        /// `false`; `true` in `RetryPolicy::llm` and [`rate_limited`](crate::RetryPolicy::rate_limited). Without a gate
        /// it has no effect.
        ///
        /// ```
        /// use http_retry::RetryPolicy;
        ///
        /// let policy = RetryPolicy::builder().quotas_at_once(true).build()?;
        /// # Ok::<(), http_retry::ConfigError>(())
        /// ```
        set(at_once: bool) => at_once;
    }

    methods: Methods {
        default Methods::Idempotent;

        /// Sets the methods that may be repeated after the server may have processed the request, or by
        /// [`Methods::only`] those that may be repeated at all. Default [`Methods::Idempotent`]; [`Methods::All`] in
        /// `RetryPolicy::llm`.
        ///
        /// A single POST becomes safe to repeat with an `Idempotency-Key` header, or with
        /// [`RetryOverride::idempotent`](crate::RetryOverride::idempotent) if the caller knows that it is.
        ///
        /// ```
        /// use http_retry::{Methods, RetryPolicy};
        ///
        /// // Searches are sent by POST here, and change nothing.
        /// let policy = RetryPolicy::builder().methods(Methods::All).build()?;
        /// # Ok::<(), http_retry::ConfigError>(())
        /// ```
        ///
        /// # Source
        ///
        /// RFC 9110 section 9.2.2: a client does not automatically repeat a request whose method is not idempotent,
        /// unless it knows that the request is, or that it was not applied.
        #[doc(alias = "allowed_methods")]
        set(methods: Methods) => methods;

        check |settings| match &settings.methods {
            Methods::Only(methods) if methods.is_empty() => {
                Err(ConfigError::new("methods", "an empty list", "name at least one method"))
            }
            _ => Ok(()),
        };
        explain |settings, worst| worst.repeats().then(|| match &settings.methods {
            Methods::Idempotent => {
                "methods that are not idempotent are repeated only when the request was not processed".to_owned()
            }
            Methods::All => "all methods are repeated, processed or not".to_owned(),
            Methods::Only(methods) => {
                let names: Vec<&str> = methods.iter().map(http::Method::as_str).collect();
                format!("no method but {} is repeated", names.join(", "))
            }
        });
    }

    deadline: Option<Duration> {
        default None;

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
        #[doc(alias = "timeout")]
        set(deadline: impl Into<Option<Duration>>) => deadline.into();

        /// Sets the longest time for the whole request, from the start of its first attempt, waits included. It may be
        /// longer than the policy's; with 0 the first attempt is sent with no time left, and none follows.
        request(deadline: Duration) -> Duration => deadline, open if |settings| settings.deadline.is_none();

        check |settings| above_zero("deadline", settings.deadline);
    }

    whole_responses: u64 {
        default 0;

        /// Reads a response that is a success by its head to its end before the caller gets it, if its body has at most
        /// this many bytes: a body that is cut, reset or stalled is then a failed attempt. Default 0, off; at most 64
        /// MiB.
        ///
        /// The whole body is held in memory, and [`attempt_timeout`](Self::attempt_timeout) and the deadline cover the
        /// reading. A body that is longer, or that need not end (an event stream, lines of JSON, gRPC), is handed over
        /// as it comes. A server that has responded has processed the request, so a request that is not idempotent is
        /// not repeated after a broken body; the caller then gets the head, the bytes that came, and the error.
        ///
        /// A body that ends before its declared length is broken too, even if the client ends it without an error, as
        /// hyper may on HTTP/2. The caller then gets an `IncompleteBody` error, unless the layer keeps the body's own
        /// error type. Without a declared length, only a body that is hyper's own shows such an end. The guide has the
        /// rules.
        ///
        /// ```
        /// use http_retry::RetryPolicy;
        ///
        /// let policy = RetryPolicy::background().to_builder().whole_responses(2 << 20).build()?;
        /// # Ok::<(), http_retry::ConfigError>(())
        /// ```
        set(bytes: usize) => u64::try_from(bytes).unwrap_or(u64::MAX);

        /// Reads the response whole if its body has at most this many bytes, whatever the policy says
        /// ([`RetryPolicyBuilder::whole_responses`](crate::RetryPolicyBuilder::whole_responses)). With 0 the caller gets it
        /// as it comes: for a response that need not end under a plain content type, such as a watch. More than 64 MiB
        /// counts as 64 MiB.
        request(bytes: usize) -> u32 => most_bytes(bytes), open if |settings| settings.whole_responses == 0;

        check |settings| check_whole_responses(settings.whole_responses);
        explain |settings, _| Some(settings.whole_responses)
            .filter(|bytes| *bytes > 0)
            .map(|bytes| format!("a body of at most {bytes} bytes is read whole"));
    }

    attempt_timeout: Option<Duration> {
        default None;

        /// Sets the longest time for one attempt up to its response head, up to the first output of a stream that is
        /// held back, or up to the end of a body that [`whole_responses`](Self::whole_responses) reads; above 0, at most
        /// the deadline. Default none: the client's own timeouts apply.
        ///
        /// The server may have processed an attempt that was cut, so a request that is not idempotent is not repeated
        /// after it. A retry after it costs the budget's `timeout_cost`. On the tower layer with `unchanged_errors()`
        /// and in `Runner`, an attempt that no retry can follow is not cut, since no error could report it.
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
        #[doc(alias = "timeout")]
        set(timeout: impl Into<Option<Duration>>) => timeout.into();

        /// Sets the longest time of one attempt of this request, up to its response head; it may be longer than the
        /// [policy's](crate::RetryPolicyBuilder::attempt_timeout). With 0 every attempt is cut at once.
        ///
        /// ```
        /// use http_retry::RetryOverride;
        /// use std::time::Duration;
        ///
        /// // A report that takes its time.
        /// let slow = RetryOverride::new().attempt_timeout(Duration::from_secs(60));
        /// ```
        request(timeout: Duration) -> Duration => timeout, open if |settings| settings.attempt_timeout.is_none();

        check |settings| settings.check_attempt();
        explain |settings, _| settings.attempt_timeout.map(|timeout| {
            let end = if settings.whole_responses > 0 { "end of such a body" } else { "response head" };
            format!("one attempt: at most {timeout:?} to the {end}")
        });
    }

    hedge: Option<Box<Hedge>> {
        default None;

        /// Sets when a hedging layer below (crate `http-retry-hedge`) sends a slow request once more. Default none: the
        /// setting of that layer applies. Without such a layer it has no effect.
        ///
        /// ```
        /// use http_retry::RetryPolicy;
        /// use http_retry::policy::Hedge;
        ///
        /// let policy = RetryPolicy::user_facing().to_builder().hedge(Hedge::percentile(99)).build()?;
        /// assert_eq!(policy.worst_case().requests, Some(4));
        /// # Ok::<(), http_retry::ConfigError>(())
        /// ```
        set(hedge: impl Into<Option<Hedge>>) => hedge.into().map(Box::new);

        /// Allows or forbids hedging this request; with `false` each of its attempts sends one copy. Default `true`, for
        /// a request that may be repeated.
        request(hedge: bool) -> bool => hedge, open if |settings| settings.hedge.is_none();

        check |settings| settings.hedge.as_ref().map_or(Ok(()), |hedge| hedge.check());
        explain |settings, worst| settings.hedge.as_ref().map(|hedge| match worst.requests {
            Some(requests) => format!("{hedge}; at most {requests} requests in all"),
            None => hedge.to_string(),
        });
    }
}

/// Returns `true` if a policy leaves a setting open to its requests. If the policy has origins of its settings, these
/// are the settings at their default; otherwise the value tells.
fn is_open(rules: &Rules, setting: &str, by_value: bool) -> bool {
    if rules.origins.is_empty() {
        return by_value;
    }
    let origin = rules.origins.iter().find(|origin| origin.field == setting);
    origin.is_none_or(|origin| &*origin.from == "default")
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

    /// Returns the time limit of an attempt of a request with these settings of its own, if this much of its deadline
    /// is left.
    #[inline]
    pub(super) fn attempt_limit(
        &self,
        own: Option<&RetryOverride>,
        left: Option<Duration>,
    ) -> Option<Duration> {
        let timeout = own.and_then(|own| own.attempt_timeout);
        match (timeout.or(self.attempt_timeout), left) {
            (Some(timeout), Some(left)) => Some(timeout.min(left)),
            (timeout, left) => timeout.or(left),
        }
    }

    fn check_attempt(&self) -> Result<(), ConfigError> {
        above_zero("attempt_timeout", self.attempt_timeout)?;
        match (self.attempt_timeout, self.deadline) {
            (Some(timeout), Some(deadline)) if timeout > deadline => {
                let allowed = format!("must be at most the deadline, which is {deadline:?}");
                let error = ConfigError::new("attempt_timeout", format!("{timeout:?}"), allowed);
                Err(error.bounded_by("deadline"))
            }
            _ => Ok(()),
        }
    }
}

pub(super) fn above_zero(
    field: &'static str,
    duration: Option<Duration>,
) -> Result<(), ConfigError> {
    match duration {
        Some(Duration::ZERO) => Err(ConfigError::new(field, "0ns", "must be above 0")),
        _ => Ok(()),
    }
}

/// Returns a number of bytes, at most those that may be read whole.
fn most_bytes(bytes: usize) -> u32 {
    let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
    u32::try_from(bytes.min(MAX_ANSWER_BYTES)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
