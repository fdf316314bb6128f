//! The fleet of a document, and the budgets that are made in it.

use super::FleetMap;
use crate::budget::{RetryBudget, RetryBudgetBuilder, ServiceBudgets};
use crate::config::block::Path;
use crate::config::names::Names;
use crate::config::problems::{Problems, Unknown};
use crate::error::ConfigError;
use crate::fleet::{Fleet, FleetBuilder};
use crate::route::{Budgets, SharedServices};
use std::sync::Arc;

/// The fleet that shares the budgets, if the document names one.
#[derive(Debug, Clone, Default)]
pub(in crate::config) struct Joined(Option<Fleet>);

impl Joined {
    pub(in crate::config) fn of(
        block: Option<&FleetMap>,
        names: &Names,
        problems: &Problems,
    ) -> Self {
        let place = Path::default().key("fleet");
        let Some(block) = block.filter(|_| !problems.are_within(place.as_str())) else {
            return Self::default();
        };
        Self(match (&block.redis, &block.redis_env, &block.uses) {
            (None, None, Some(name)) => named(name, names, &place, problems),
            (Some(url), None, None) => made(block, ("redis", url), &place, problems),
            (None, Some(variable), None) => of_environment(variable, &place, problems)
                .and_then(|url| made(block, ("redis_env", &url), &place, problems)),
            // None or several, which is a problem already.
            _ => None,
        })
    }

    pub(in crate::config) fn fleet(&self) -> Option<Fleet> {
        self.0.clone()
    }

    /// A budget that has a name in the document. Its numbers are checked when they are read.
    pub(in crate::config) fn named(&self, name: &str, numbers: RetryBudgetBuilder) -> RetryBudget {
        let shared = self.0.as_ref().map(|fleet| {
            // A service of the same name has another budget.
            fleet.budget(&format!("budgets.{name}"), numbers.clone())
        });
        let budget = shared.unwrap_or_else(|| numbers.build());
        budget.unwrap_or_default()
    }

    /// The budget of a service that names none.
    pub(in crate::config) fn own(&self, service: &str) -> RetryBudget {
        match &self.0 {
            Some(fleet) => fleet.budgets().get(service),
            None => RetryBudget::default(),
        }
    }

    /// Those of the hosts without a service.
    pub(in crate::config) fn rest(&self, budgets: &ServiceBudgets) -> Budgets {
        match &self.0 {
            Some(fleet) => Budgets::PerService(fleet.budgets()),
            None => Budgets::PerService(budgets.clone()),
        }
    }
}

fn named(name: &str, names: &Names, place: &Path, problems: &Problems) -> Option<Fleet> {
    let found = names.fleets.get(name);
    if found.is_none() {
        let unknown = Unknown {
            name,
            what: format!("\"{name}\" is no fleet of this program"),
            known: names.fleets.keys().map(|name| &**name),
        };
        problems.unknown(place.key("use").as_str(), &name, unknown);
    }
    found.cloned()
}

fn made(
    block: &FleetMap,
    (key, url): (&str, &str),
    place: &Path,
    problems: &Problems,
) -> Option<Fleet> {
    let prefix = block.prefix.iter().cloned();
    let fleet = prefix.fold(Fleet::builder(), FleetBuilder::prefix);
    let fleet = block.wait.into_iter().fold(fleet, FleetBuilder::wait);
    refused(fleet.redis(url), key, place, problems)
}

fn of_environment(variable: &str, place: &Path, problems: &Problems) -> Option<Arc<str>> {
    let found = std::env::var(variable).ok();
    if found.is_none() {
        let cause = format!("the environment has no {variable}");
        problems.add(&place.key("redis_env"), &variable, cause);
    }
    found.map(Arc::from)
}

/// The builder's word on a key, without what was given: it may be a secret.
fn refused(
    made: Result<Fleet, ConfigError>,
    url: &str,
    place: &Path,
    problems: &Problems,
) -> Option<Fleet> {
    let error = match made {
        Ok(fleet) => return Some(fleet),
        Err(error) => error,
    };
    let key = match error.field() {
        "fleet.prefix" => "prefix",
        "fleet.wait" => "wait",
        _ => url,
    };
    problems.add(&place.key(key), &"", error.allowed());
    None
}
