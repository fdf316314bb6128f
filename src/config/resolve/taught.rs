//! What a policy judges and changes by: what code taught, and what only calls to language models need.

use super::{Resolver, value};
use crate::config::retry::Retry;
use crate::policy::{Classify, RetryPolicyBuilder};
use std::sync::Arc;

impl Resolver<'_> {
    /// The builder with what code taught, after what the document names of it.
    pub(super) fn taught(&self, builder: RetryPolicyBuilder, retry: &Retry) -> RetryPolicyBuilder {
        let named = value(&retry.classify_error).unwrap_or_default();
        let named = named
            .iter()
            .filter_map(|name| self.names.error_types.get(name));
        let errors = named.chain(&self.names.errors);
        let builder = errors.fold(builder, |builder, own| builder.own_error(own.clone()));
        let own = self.names.classifiers.iter().cloned();
        let own = own.chain(of_preset(retry));
        let builder = own.fold(builder, RetryPolicyBuilder::classifier);
        for_models(builder, retry)
    }

    pub(super) fn check_error_types(&self, retry: &Retry) {
        let Some(given) = &retry.classify_error else {
            return;
        };
        let known = &self.names.error_types;
        for name in given.value.iter().filter(|name| !known.contains_key(*name)) {
            let known = known.keys().map(|name| &**name);
            self.unknown(given, name, "is no error type of this program", known);
        }
    }
}

#[cfg(feature = "llm")]
fn of_preset(retry: &Retry) -> Option<Arc<dyn Classify>> {
    let is_llm = value(&retry.classifier) == Some(true);
    is_llm.then(|| Arc::new(crate::llm::LlmClassifier::new()) as Arc<dyn Classify>)
}

#[cfg(not(feature = "llm"))]
fn of_preset(_: &Retry) -> Option<Arc<dyn Classify>> {
    None
}

#[cfg(feature = "llm")]
fn for_models(builder: RetryPolicyBuilder, retry: &Retry) -> RetryPolicyBuilder {
    use crate::config::retry::Kept;
    use crate::llm::{HoldStreams, Truncation};
    let builder = match value(&retry.truncate).flatten() {
        Some(cut) => {
            let truncation = match cut.keep {
                None | Some(Kept::Head) => Truncation::keep_head(),
                Some(Kept::Tail) => Truncation::keep_tail(),
                Some(Kept::Ends) => Truncation::keep_ends(),
            };
            builder.rewrite(cut.share.into_iter().fold(truncation, Truncation::share))
        }
        None => builder,
    };
    match value(&retry.hold_streams).flatten() {
        Some(hold) => {
            let most = hold.first_event_timeout.into_iter();
            builder.hold_streams(most.fold(HoldStreams::new(), HoldStreams::first_event_timeout))
        }
        None => builder,
    }
}

#[cfg(not(feature = "llm"))]
fn for_models(builder: RetryPolicyBuilder, _: &Retry) -> RetryPolicyBuilder {
    builder
}
