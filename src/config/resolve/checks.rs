//! Names that must mean something.

use super::{Resolver, deadline, no_deadline, of};
use crate::config::block::Path;
use crate::config::document::ServiceSpec;
use crate::config::given::Given;
use crate::config::problems::Unknown;
use crate::config::retry::{Exhausted, Growth, Limit, Retry};
use crate::policy::Preset;
use std::sync::Arc;

impl Resolver<'_> {
    /// Names must be right even in a block that nobody uses.
    pub(in crate::config) fn check_names(&self, retry: &Retry) {
        if let Some(given) = &retry.budget {
            self.check_budget(given);
        }
        self.check_error_types(retry);
        if let Some(Growth::Custom(name)) = of(&retry.backoff, |backoff| &backoff.growth) {
            if !self.names.backoffs.contains_key(&*name) {
                self.custom(&name, retry);
            }
        }
        let Some(given) = retry.exhausted() else {
            return;
        };
        match &given.value {
            Exhausted::Failover(to, _) => {
                let _ = self.destination(&to.service, &given.from.to_string());
            }
            Exhausted::DeadLetter(name) => self.check_dead_letter(given, name),
            Exhausted::Last | Exhausted::Fail | Exhausted::Respond => {}
        }
    }

    /// Retries without a limit must end.
    pub(super) fn check_ends(&self, limit: &Given<Limit>, retry: &Retry) {
        if deadline(retry).is_none() {
            let also = no_deadline(retry);
            let cause = format!("unlimited needs a deadline: write deadline: 2m{also}");
            self.wrong(limit, cause);
        }
    }

    /// `use` would find the preset, and the block never.
    pub(in crate::config) fn check_is_no_preset(&self, name: &str) {
        if Preset::ALL.iter().any(|preset| preset.name == name) {
            let cause = format!("\"{name}\" is the name of a preset: give the block another one");
            let path = Path::default().key("policies").key(name);
            self.problems.add(&path, &name, cause);
        }
    }

    pub(super) fn check_dead_letter(&self, given: &Given<Exhausted>, name: &str) {
        let known = &self.names.dead_letters;
        if !known.contains_key(name) {
            let known = known.keys().map(|name| &**name);
            let what = "is no dead letter observer of this program";
            self.unknown(given, name, what, known);
        }
    }

    pub(super) fn check_budget(&self, given: &Given<Arc<str>>) {
        let (own, of_code) = (&self.spec.budgets, &self.names.budgets);
        if !own.contains_key(&*given.value) && !of_code.contains_key(&given.value) {
            let of_code = of_code.keys().map(|name| &**name);
            let known = own.keys().map(String::as_str).chain(of_code);
            self.unknown(given, &given.value, "is no budget", known);
        }
    }

    /// A service that can be failed over to.
    pub(in crate::config) fn destination(&self, name: &str, from: &str) -> Option<&ServiceSpec> {
        let services = &self.spec.services;
        match services.get(name) {
            None => {
                let unknown = Unknown {
                    name,
                    what: format!("\"{name}\" is no service"),
                    known: services.keys().map(String::as_str),
                };
                self.problems.unknown(from, &name, unknown);
                None
            }
            Some(service) if service.base_url.is_none() => {
                let place = Path::default().key("services").key(name).key("base_url");
                let cause = format!("\"{name}\" has no place to go to: give {place}");
                self.problems.at(from, &name, cause);
                None
            }
            found => found,
        }
    }
}
