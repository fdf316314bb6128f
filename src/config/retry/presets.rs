//! Presets as layers.

use super::delays::{Backoff, RetryAfter};
use super::{Growth, Limit, Retry};
use crate::config::gating::Gating;
use crate::config::given::Given;
use crate::config::types::duration_text;
use crate::config::words::word_for;
use crate::policy::{Preset, Source};
use std::sync::Arc;

impl Retry {
    /// A preset as a layer.
    pub(in crate::config) fn preset(preset: &'static Preset) -> Self {
        Self::numbers(preset, &Source::Preset(preset.name))
    }

    /// What holds where the document says nothing: `background`, whose longest delay a longer base raises.
    pub(in crate::config) fn defaults() -> Self {
        Self {
            max_delay: None,
            classifier: None,
            ..Self::numbers(&Preset::BACKGROUND, &Source::Default)
        }
    }

    fn numbers(preset: &Preset, from: &Source) -> Self {
        let limit = match preset.max_retries {
            0 => Limit::Never,
            retries => Limit::Retries(retries),
        };
        let gating = Gating {
            wait: preset.max_gate_wait,
            quotas_at_once: Some(preset.quotas_at_once),
        };
        let gate = preset
            .max_gate_wait
            .map_or_else(|| "off".to_owned(), duration_text);
        let refused = preset.max_refused > 0;
        let is_llm = preset.name == Preset::LLM.name;
        let classifier = if is_llm { "llm" } else { "by status" };
        let (longest, asked) = (preset.max_delay, preset.max_server_delay);
        let retries = preset.max_retries.to_string();
        Self {
            max_retries: Some(from.gives(limit, retries)),
            max_refused: refused
                .then(|| from.gives(preset.max_refused, preset.max_refused.to_string())),
            backoff: Some(Backoff {
                growth: Some(from.gives(Growth::Exponential, "exponential")),
                ..Backoff::default()
            }),
            base: Some(from.gives(preset.base, duration_text(preset.base))),
            max_delay: Some(from.gives(Some(longest), duration_text(longest))),
            retry_after: Some(RetryAfter {
                max: Some(from.gives(Some(asked), duration_text(asked))),
                ..RetryAfter::default()
            }),
            methods: Some(from.gives(preset.methods, word_for(&preset.methods))),
            gate: Some(from.gives(gating, gate)),
            classifier: Some(from.gives(is_llm, classifier)),
            ..Self::default()
        }
    }
}

impl Source {
    fn gives<T>(&self, value: T, text: impl Into<Arc<str>>) -> Given<T> {
        Given {
            value,
            text: text.into(),
            from: self.clone(),
        }
    }
}
