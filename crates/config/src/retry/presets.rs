//! Presets as layers.

use super::blocks::{Backoff, Growth, RetryAfter};
use super::limits::Gating;
use super::{Limit, Retry};
use crate::reader::Spanned;
use crate::values::{Count, Duration, DurationOrNone, duration_text};
use crate::words::{Word, word_for};
use http_retry_core::RetryPolicy;
use http_retry_dialects::llm::LlmPreset;
use std::sync::Arc;

type Preset = (&'static str, fn() -> RetryPolicy);

/// The presets by their names.
pub(crate) const PRESETS: [Preset; 5] = [
    ("user_facing", RetryPolicy::user_facing),
    ("background", RetryPolicy::background),
    ("llm", RetryPolicy::llm),
    ("rate_limited", RetryPolicy::rate_limited),
    ("never", RetryPolicy::never),
];

impl Retry {
    /// Returns a preset as a layer.
    pub(crate) fn preset(name: &str) -> Option<Self> {
        let (_, policy) = PRESETS.iter().find(|(preset, _)| *preset == name)?;
        let from = format!("preset {name}").into();
        let is_llm = name == "llm";
        let classifier = if is_llm { "llm" } else { "by status" };
        Some(Self {
            classifier: spanned(&from, is_llm, classifier),
            ..Self::of_policy(&policy(), &from)
        })
    }

    /// Returns the defaults of a document: those of `background`, but with a longest delay that a longer base raises.
    pub(crate) fn defaults() -> Self {
        // The limit of `background` would make a longer base an error.
        Self {
            max_delay: None,
            ..Self::of_policy(&RetryPolicy::background(), &"default".into())
        }
    }

    fn of_policy(policy: &RetryPolicy, from: &Arc<str>) -> Self {
        let limit = match policy.retry_limit() {
            0 => Limit::Never,
            retries => Limit::Retries(retries),
        };
        let gating = Gating {
            wait: policy.gate_wait_limit(),
            quotas_at_once: Some(policy.obeys_quotas_at_once()),
        };
        let refused = Some(policy.refused_limit()).filter(|refused| *refused > 0);
        // Every preset grows exponentially and reaches its longest delay.
        let (base, longest) = (
            policy.own_backoff().ceiling(1),
            policy.own_backoff().ceiling(u32::MAX),
        );
        let server_max = policy.server_delay_limit();
        let server_max_text = server_max.map_or_else(|| "none".to_owned(), duration_text);
        let methods = policy.retried_methods();
        Self {
            max_retries: spanned(from, limit, policy.retry_limit().to_string()),
            max_refused: refused.and_then(|most| spanned(from, Count(most), most.to_string())),
            backoff: Some(Box::new(Backoff {
                growth: spanned(from, Growth::Exponential, "exponential"),
                args: None,
            })),
            base: spanned(from, Duration(base), duration_text(base)),
            max_delay: spanned(from, DurationOrNone(Some(longest)), duration_text(longest)),
            retry_after: Some(Box::new(RetryAfter {
                max: spanned(from, DurationOrNone(server_max), server_max_text),
                ..RetryAfter::default()
            })),
            methods: spanned(from, Word(methods), word_for(&methods)),
            gate: spanned(from, gating, gating.to_text()),
            ..Self::default()
        }
    }
}

fn spanned<T>(from: &Arc<str>, value: T, text: impl Into<Arc<str>>) -> Option<Spanned<T>> {
    Some(Spanned {
        value,
        text: text.into(),
        from: Arc::clone(from),
    })
}
