//! The presets, with the reason for each number. All bound the attempts and use jitter.

use super::{Backoff, Methods, RetryPolicy, Settings};
use std::sync::Arc;
use std::time::Duration;

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The numbers of a preset.
#[derive(Debug)]
struct Preset {
    pub(crate) name: &'static str,
    pub(crate) max_retries: u32,
    pub(crate) max_refused: u32,
    pub(crate) base: Duration,
    pub(crate) max_delay: Duration,
    pub(crate) max_server_delay: Duration,
    pub(crate) max_gate_wait: Option<Duration>,
    pub(crate) quotas_at_once: bool,
    pub(crate) methods: Methods,
}

impl Preset {
    const USER_FACING: Self = Self {
        name: "user_facing",
        max_retries: 1,
        max_refused: 0,
        base: Duration::from_millis(500),
        max_delay: seconds(2),
        max_server_delay: seconds(2),
        max_gate_wait: None,
        quotas_at_once: false,
        methods: Methods::Idempotent,
    };

    pub(crate) const BACKGROUND: Self = Self {
        name: "background",
        max_retries: 4,
        max_refused: 0,
        base: seconds(2),
        max_delay: seconds(60),
        max_server_delay: seconds(15 * 60),
        max_gate_wait: Some(seconds(5 * 60)),
        quotas_at_once: false,
        methods: Methods::Idempotent,
    };

    const RATE_LIMITED: Self = Self {
        name: "rate_limited",
        max_retries: 2,
        max_refused: 900,
        base: seconds(2),
        max_delay: seconds(120),
        max_server_delay: seconds(15 * 60),
        max_gate_wait: Some(seconds(15 * 60)),
        quotas_at_once: true,
        methods: Methods::Idempotent,
    };

    const NEVER: Self = Self {
        name: "never",
        max_retries: 0,
        max_gate_wait: None,
        ..Self::BACKGROUND
    };

    fn policy(&self) -> RetryPolicy {
        RetryPolicy(Arc::new(Settings {
            never: self.max_retries == 0,
            max_retries: self.max_retries,
            max_refused: self.max_refused,
            backoff: Backoff::exponential(self.base).max_delay(self.max_delay),
            max_server_delay: Some(self.max_server_delay),
            max_gate_wait: self.max_gate_wait,
            quotas_at_once: self.quotas_at_once,
            methods: self.methods,
            ..Settings::new(self.name)
        }))
    }
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
        Preset::USER_FACING.policy()
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
        Preset::BACKGROUND.policy()
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
    #[must_use]
    pub fn rate_limited() -> Self {
        Preset::RATE_LIMITED.policy()
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
        Preset::NEVER.policy()
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
        assert_eq!(policy.retry_limit(), 0);
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
