//! The presets, each number with its reason. All share one rule: bounded attempts, always jitter.

use super::{Backoff, Methods, RetryPolicy, Settings};
use std::time::Duration;

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

impl RetryPolicy {
    /// For a call that a person waits for.
    ///
    /// 2 attempts, base 500 ms, delays up to 2 s, a server's wish up to 2 s, idempotent methods only. One quick second
    /// try hides most blips; a person would rather see an error than wait for more, and a server that asks for more
    /// than 2 s is better reported than waited for.
    #[must_use]
    pub fn user_facing() -> Self {
        Self::preset(Settings {
            max_retries: 1,
            backoff: Backoff::exponential(Duration::from_millis(500)).max_delay(seconds(2)),
            max_server_delay: Some(seconds(2)),
            ..Settings::named("user_facing")
        })
    }

    /// For jobs that nobody watches; the default.
    ///
    /// 5 attempts, base 2 s, delays up to 60 s, a server's wish up to 15 min, idempotent methods only. Five attempts
    /// ride out half a minute of trouble and a restart; a quarter of an hour covers a short maintenance that announces
    /// itself.
    #[must_use]
    pub fn background() -> Self {
        Self::preset(Settings {
            max_retries: 4,
            backoff: Backoff::exponential(seconds(2)).max_delay(seconds(60)),
            max_server_delay: Some(seconds(15 * 60)),
            ..Settings::named("background")
        })
    }

    /// For calls to a large language model.
    ///
    /// 3 attempts, base 1 s, delays up to 60 s, a server's wish up to 2 min, **all methods**: a completion is a POST
    /// without an effect but its cost, and its quota windows are mostly a minute long. Do not use it for calls that
    /// order, pay or send something.
    #[must_use]
    pub fn llm() -> Self {
        Self::preset(Settings {
            max_retries: 2,
            backoff: Backoff::exponential(seconds(1)).max_delay(seconds(60)),
            max_server_delay: Some(seconds(2 * 60)),
            methods: Methods::All,
            ..Settings::named("llm")
        })
    }

    /// For an API with a strict quota.
    ///
    /// 3 attempts, base 2 s, delays up to 2 min, a server's wish up to 10 min, idempotent methods only. A quota is kept
    /// by waiting as long as the server says and not by trying more often.
    #[must_use]
    pub fn rate_limited() -> Self {
        Self::preset(Settings {
            max_retries: 2,
            backoff: Backoff::exponential(seconds(2)).max_delay(seconds(120)),
            max_server_delay: Some(seconds(10 * 60)),
            ..Settings::named("rate_limited")
        })
    }

    /// One attempt: for switching retries off without taking the layer out.
    ///
    /// A request that asks for retries all the same ([`RetryOverride`](crate::RetryOverride)) gets them as under
    /// [`RetryPolicy::background`].
    #[must_use]
    pub fn never() -> Self {
        let background = Settings::clone(&Self::background().0);
        Self::preset(Settings {
            name: "never",
            max_retries: 0,
            ..background
        })
    }
}

impl Default for RetryPolicy {
    /// [`RetryPolicy::background`].
    fn default() -> Self {
        Self::background()
    }
}

impl Settings {
    /// One attempt and nothing else, under a preset's name.
    fn named(name: &'static str) -> Self {
        Self {
            name,
            changed: false,
            max_retries: 0,
            backoff: Backoff::none(),
            deadline: None,
            attempt_timeout: None,
            max_server_delay: None,
            methods: Methods::Idempotent,
            classify: None,
            own_errors: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_passes_the_checks_of_its_own_builder() {
        for preset in [
            RetryPolicy::user_facing(),
            RetryPolicy::background(),
            RetryPolicy::llm(),
            RetryPolicy::rate_limited(),
            RetryPolicy::never(),
        ] {
            let rebuilt = preset.to_builder().build().unwrap();
            let unchanged = rebuilt.explain().replacen(" (changed)", "", 1);
            assert_eq!(unchanged, preset.explain());
        }
    }

    #[test]
    fn never_retries_decently_where_a_request_asks_for_it() {
        let policy = RetryPolicy::never();
        assert_eq!(policy.max_retries(), 0);
        let schedule = policy
            .to_builder()
            .max_retries(4)
            .build()
            .unwrap()
            .explain();
        let background = RetryPolicy::background().explain();
        let rules = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(rules(&schedule), rules(&background));
    }
}
