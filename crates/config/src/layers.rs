//! Merging of layers: a block lies above the policy that it uses, and every name must be known.

use super::builder::RetryConfigBuilder;
use super::document::{ServiceSpec, Spec};
use super::live::Budgets;
use super::problems::{Diagnostics, Path, hint};
use super::reader::Spanned;
use super::retry::{ExhaustedAction, Growth, Limit, MEANS_NEVER, PRESETS, Retry};
use super::values::Name;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The longest chain of policies, or of dialects, that use each other.
pub(super) const MAX_CHAIN: usize = 16;

/// One document while its names are resolved and its levels are built.
pub(super) struct Resolver<'a> {
    pub(super) spec: &'a Spec,
    pub(super) names: &'a RetryConfigBuilder,
    pub(super) problems: &'a Diagnostics,
    pub(super) budgets: &'a Budgets,
    /// The path of each failover setting, by the level's name for the builder and the service.
    pub(super) failovers: BTreeMap<(String, Arc<str>), Arc<str>>,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(
        spec: &'a Spec,
        names: &'a RetryConfigBuilder,
        problems: &'a Diagnostics,
        budgets: &'a Budgets,
    ) -> Self {
        Self {
            spec,
            names,
            problems,
            budgets,
            failovers: BTreeMap::new(),
        }
    }
}

impl Resolver<'_> {
    /// Checks the policies, including those that nothing uses.
    pub(super) fn check_policies(&self) {
        for (name, block) in &*self.spec.policies {
            // `use` would always find the preset, and never this block.
            if PRESETS.iter().any(|(preset, _)| preset == name) {
                let cause =
                    format!("\"{name}\" is the name of a preset: give the block another one");
                let path = Path::default().key("policies").key(name);
                self.problems.add(&path, &name, cause);
            }
            self.check_names(&self.layer(block));
        }
    }

    /// Returns a block merged over the policy that it uses.
    pub(super) fn layer(&self, block: &Retry) -> Retry {
        self.layer_after(block, &mut Vec::new())
    }

    fn layer_after(&self, block: &Retry, chain: &mut Vec<Arc<str>>) -> Retry {
        let mut own = block.clone();
        // Before layers are merged, so that either word for the limit overrides both of the layer below.
        self.merge_limits(&mut own);
        for (key, from) in own
            .on_exhausted
            .iter_mut()
            .flat_map(|end| end.needless.drain(..))
        {
            let cause = format!("{key} has no effect without failover");
            self.problems.add(&from, &"", cause);
        }
        // Taken, so that the merged layer does not pass on the name.
        let Some(uses) = own.uses.take() else {
            return own;
        };
        let Name(name) = &uses.value;
        if let Some(preset) = Retry::preset(name) {
            return own.merged_over(&preset);
        }
        if chain.len() >= MAX_CHAIN {
            let cause = format!("use goes through more than {MAX_CHAIN} policies");
            self.wrong(&uses, cause);
            return own;
        }
        if chain.contains(name) {
            chain.push(Arc::clone(name));
            let cause = format!("use cycle: {}", chain.join(" -> "));
            self.wrong(&uses, cause);
            return own;
        }
        let Some(used) = self.spec.policies.get(&**name) else {
            if MEANS_NEVER.contains(&&**name) {
                self.wrong(&uses, format!("\"{name}\" is no policy: write never"));
                return own;
            }
            let own_names = self.spec.policies.keys().map(String::as_str);
            let presets = PRESETS.iter().map(|(preset, _)| *preset);
            self.unknown(&uses, name, "is no policy", own_names.chain(presets));
            return own;
        };
        chain.push(Arc::clone(name));
        own.merged_over(&self.layer_after(used, chain))
    }

    /// Merges the two keys for a limit into one field, which an explanation calls `max_retries`.
    fn merge_limits(&self, own: &mut Retry) {
        let Some(attempts) = own.max_attempts.take() else {
            return;
        };
        if let Some(retries) = &own.max_retries {
            let set = &retries.text;
            let cause = format!("max_retries is set too, to {set}: give one of the two");
            self.wrong(&attempts, cause);
            return;
        }
        own.max_retries = Some(match attempts.value {
            Limit::Retries(in_all) => {
                // At least one attempt, by the key's type.
                let retries = in_all.saturating_sub(1);
                attempts.with(Limit::Retries(retries), retries.to_string())
            }
            Limit::Never | Limit::Unlimited => {
                attempts.with(Limit::Unlimited, Arc::clone(&attempts.text))
            }
        });
    }

    /// Checks that the names in a layer are known.
    fn check_names(&self, retry: &Retry) {
        self.check_budget(retry);
        self.check_error_types(retry);
        let growth = retry
            .backoff
            .as_ref()
            .and_then(|backoff| backoff.growth.as_ref());
        if let Some(Growth::Custom(name)) = growth.map(|growth| &growth.value) {
            // Made only to report the unknown name: a known one is made for each level, with the merged arguments.
            if !self.names.backoffs.contains_key(name) {
                self.custom_backoff(name, retry);
            }
        }
        let end = retry.on_exhausted.as_ref().and_then(|end| end.end.as_ref());
        let Some(given) = end else {
            return;
        };
        match &given.value {
            ExhaustedAction::Failover(to, _) => {
                // For its problems alone.
                let _ = self.destination(&to.service, &given.from);
            }
            ExhaustedAction::DeadLetter(name) => self.check_dead_letter(given, name),
            ExhaustedAction::Last | ExhaustedAction::Fail | ExhaustedAction::Respond => {}
        }
    }

    pub(super) fn check_dead_letter(&self, given: &Spanned<ExhaustedAction>, name: &str) {
        let known = &self.names.dead_letters;
        if !known.contains_key(name) {
            let known = known.keys().map(|name| &**name);
            let what = "is no dead letter observer of this program";
            self.unknown(given, name, what, known);
        }
    }

    pub(super) fn check_budget(&self, retry: &Retry) {
        let Some(given) = &retry.budget else {
            return;
        };
        let Name(name) = &given.value;
        let (own, from_code) = (&self.spec.budgets, &self.names.budgets);
        if !own.contains_key(&**name) && !from_code.contains_key(name) {
            let from_code = from_code.keys().map(|name| &**name);
            let known = own.keys().map(String::as_str).chain(from_code);
            self.unknown(given, name, "is no budget", known);
        }
    }

    pub(super) fn check_error_types(&self, retry: &Retry) {
        let Some(given) = &retry.classify_error else {
            return;
        };
        let known = &self.names.error_types;
        for Name(name) in &given.value.0 {
            if !known.contains_key(name) {
                let known = known.keys().map(|name| &**name);
                self.unknown(given, name, "is no error type of this program", known);
            }
        }
    }

    /// Returns a service that can be a failover destination.
    pub(super) fn destination(&self, name: &str, from: &str) -> Option<&ServiceSpec> {
        let services = &self.spec.services;
        let Some(service) = services.get(name) else {
            let what = format!("\"{name}\" is no service");
            // Put into order only if the problem is shown.
            let hint = || {
                hint(
                    name,
                    services.in_order().into_iter().map(|(name, _)| &**name),
                )
            };
            self.problems.unknown(&from, &name, what, hint);
            return None;
        };
        if service.base_url.is_none() {
            let path = Path::default().key("services").key(name).key("base_url");
            let cause = format!("\"{name}\" has no place to go to: give {path}");
            self.problems.add(&from, &name, cause);
            return None;
        }
        Some(service)
    }

    pub(super) fn wrong<T>(&self, given: &Spanned<T>, cause: impl Into<String>) {
        self.problems.add(&given.from, &given.text, cause);
    }

    /// Reports a name that is not among the known ones.
    pub(super) fn unknown<'k, T>(
        &self,
        given: &Spanned<T>,
        name: &str,
        what: &str,
        known: impl IntoIterator<Item = &'k str>,
    ) {
        let what = format!("\"{name}\" {what}");
        let hint = || hint(name, known);
        self.problems.unknown(&given.from, &given.text, what, hint);
    }
}
