//! The presets, with the reason for each number. All bound the attempts and use jitter.

use super::{Backoff, RetryPolicy, Settings};
use std::sync::Arc;
use std::time::Duration;

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

impl RetryPolicy {
    /// Returns the preset for a call that a person waits for.
    ///
    /// 2 attempts, base 500 ms, delays up to 2 s, server waits up to 2 s, idempotent methods only, no gate. One quick
    /// second try hides most short failures; a person would rather see an error than wait longer. There is no deadline:
    /// set one, since an attempt may take as long as the client allows.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    /// use std::time::Duration;
    ///
    /// let policy = RetryPolicy::user_facing().to_builder().deadline(Duration::from_secs(5)).build()?;
    /// assert_eq!(policy.worst_case().attempts, Some(2));
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    #[must_use]
    pub fn user_facing() -> Self {
        Self::of(Settings {
            max_retries: 1,
            backoff: Backoff::exponential(Duration::from_millis(500)).max_delay(seconds(2)),
            max_server_delay: Some(seconds(2)),
            max_gate_wait: None,
            ..Settings::new("user_facing")
        })
    }

    /// Returns the preset for jobs that nobody watches; the default.
    ///
    /// 5 attempts, base 2 s, delays up to 60 s, server waits up to 15 min, idempotent methods only. Five attempts
    /// outlast half a minute of trouble or a restart; 15 min covers a short announced maintenance. There is a gate:
    /// after several 429s in a row all callers of the service wait together, each for at most 5 min in all, and a
    /// refusal costs no token but counts as an attempt. Without the gate, the calls of a batch would spend their budget on a rate limit,
    /// and most of them would fail. Quota headers count only after a first 429, so the gate changes nothing for a
    /// service that never sends one.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    /// use std::time::Duration;
    ///
    /// let worst = RetryPolicy::background().worst_case();
    /// assert_eq!(worst.attempts, Some(5));
    /// assert_eq!(worst.backoff, Some(Duration::from_secs(2 + 4 + 8 + 16)));
    /// ```
    #[must_use]
    pub fn background() -> Self {
        Self::of(Settings::new("background"))
    }

    /// Returns the preset for an API with a strict quota.
    ///
    /// 3 attempts, base 2 s, delays up to 2 min, server waits up to 15 min, idempotent methods only. A quota needs
    /// waits as long as the server asks for, not more attempts. There is a gate: after several 429s in a row all
    /// callers of the service wait together, each for at most 15 min in all. Quota headers count from the first response on. Up to 900 refused
    /// attempts count separately ([`max_refused`](crate::RetryPolicyBuilder::max_refused)), one for each second of
    /// these 15 min.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    /// use std::time::Duration;
    ///
    /// let worst = RetryPolicy::rate_limited().worst_case();
    /// assert_eq!(worst.attempts, Some(3));
    /// assert_eq!(worst.gated_waits, Duration::from_secs(15 * 60));
    /// ```
    #[doc(alias = "429")]
    #[must_use]
    pub fn rate_limited() -> Self {
        Self::of(Settings {
            max_retries: 2,
            max_refused: 900,
            backoff: Backoff::exponential(seconds(2)).max_delay(seconds(120)),
            max_gate_wait: Some(seconds(15 * 60)),
            quotas_at_once: true,
            ..Settings::new("rate_limited")
        })
    }

    /// Returns the preset with one attempt, which switches retries off without removing the layer. A failure stops with
    /// [`StopReason::Disabled`](crate::StopReason::Disabled).
    ///
    /// A request that still asks for retries ([`RetryOverride`](crate::RetryOverride)) gets those of
    /// [`RetryPolicy::background`], without a gate.
    ///
    /// ```
    /// let policy = http_retry::RetryPolicy::never();
    /// assert_eq!(policy.worst_case().attempts, Some(1));
    /// ```
    #[must_use]
    pub fn never() -> Self {
        Self::of(Settings {
            never: true,
            max_retries: 0,
            max_gate_wait: None,
            ..Settings::new("never")
        })
    }

    fn of(settings: Settings) -> Self {
        Self(Arc::new(settings))
    }
}

impl Default for RetryPolicy {
    /// Returns [`RetryPolicy::background`].
    fn default() -> Self {
        Self::background()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_passes_the_checks_of_build() {
        for preset in [
            RetryPolicy::user_facing(),
            RetryPolicy::background(),
            RetryPolicy::rate_limited(),
            RetryPolicy::never(),
        ] {
            let rebuilt = preset.to_builder().build().unwrap();
            let unchanged = rebuilt.explain().replacen(" (changed)", "", 1);
            assert_eq!(unchanged, preset.explain());
        }
    }

    #[test]
    fn never_with_retries_set_follows_background_without_a_gate() {
        let policy = RetryPolicy::never();
        assert_eq!(policy.0.max_retries, 0);
        let schedule = policy
            .to_builder()
            .max_retries(4)
            .build()
            .unwrap()
            .explain();
        let background = RetryPolicy::background().to_builder().max_gate_wait(None);
        let background = background.build().unwrap().explain();
        let rules = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(rules(&schedule), rules(&background));
    }
}
