//! What presets, dialects and documents alone say of a policy.

use super::RetryPolicyBuilder;
use crate::policy::{Meanings, OwnError};
use std::sync::Arc;

impl RetryPolicyBuilder {
    pub(crate) fn own_error(self, own: OwnError) -> Self {
        self.with(|settings| settings.own_errors.push(own))
    }

    /// What services mean by their answers.
    pub(crate) fn meanings(self, meanings: Option<Arc<dyn Meanings>>) -> Self {
        self.with(|settings| settings.meanings = meanings)
    }

    /// What rules say that answers mean.
    pub(crate) fn judged(self, judged: Option<Arc<dyn Meanings>>) -> Self {
        self.with(|settings| settings.judged = judged)
    }

    #[cfg(feature = "llm")]
    pub(crate) fn rewrite(self, rewrite: impl crate::policy::Rewrite + 'static) -> Self {
        self.with(|settings| settings.rewrite = Some(Arc::new(rewrite)))
    }

    #[cfg(feature = "llm")]
    pub(crate) fn streams(self, streams: impl crate::policy::StreamHolder + 'static) -> Self {
        self.with(|settings| settings.streams = Some(Arc::new(streams)))
    }
}
