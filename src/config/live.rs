//! A document in force: its services and routes, and the budgets that outlive it.

mod builder;

use super::block::Path;
use super::budget::Budget;
use super::document::Spec;
use super::errors::ConfigErrors;
use super::fleet::{FleetMap, Joined, Membership};
use super::names::Names;
use super::problems::Problems;
use super::resolve::Resolver;
use super::value::Value;
use crate::budget::{NEVER_REFILLS, RetryBudget, ServiceBudgets};
use crate::report::warn_of_misuse;
use crate::route::Services;
use builder::Builder;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A document that applies to every request from its load to the next.
pub(super) struct Live {
    pub(super) document: Arc<Value>,
    pub(super) services: Services,
    budgets: LiveBudgets,
    /// The block of its fleet, as it is written.
    pub(super) names_fleet: Option<FleetMap>,
}

/// The buckets, by their names in the document.
#[derive(Clone, Default)]
struct LiveBudgets {
    joined: Joined,
    named: BTreeMap<String, (Budget, RetryBudget)>,
    of_code: BTreeMap<Arc<str>, RetryBudget>,
    /// Those of services that name none.
    own: BTreeMap<String, (Membership, RetryBudget)>,
    /// Those of hosts without a service.
    rest: ServiceBudgets,
}

impl Live {
    /// The document, with the budgets of the last one if their numbers are the same.
    pub(super) fn load(
        document: Arc<Value>,
        names: &Names,
        before: Option<&Self>,
    ) -> Result<Self, ConfigErrors> {
        let problems = Problems::default();
        let spec = Spec::read(&document, &problems);
        let joined = joined(&spec, names, before, &problems);
        let before = before.map(|before| &before.budgets);
        let built = Builder {
            resolver: Resolver {
                spec: &spec,
                names,
                problems: &problems,
            },
            budgets: LiveBudgets::of(&spec, names, joined, before),
        }
        .build();
        problems.into_errors()?;
        let (services, rest, budgets) = built;
        Ok(Self {
            document,
            services: Services {
                by_name: services,
                rest,
            },
            budgets,
            names_fleet: spec.fleet,
        })
    }

    #[cfg(feature = "redis")]
    pub(super) fn fleet(&self) -> Option<crate::fleet::Fleet> {
        self.budgets.joined.fleet()
    }
}

/// The fleet of a document. Another one than before would be a second fortune, and half of the requests in each.
fn joined(spec: &Spec, names: &Names, before: Option<&Live>, problems: &Problems) -> Joined {
    match before {
        Some(before) if before.names_fleet == spec.fleet => before.budgets.joined.clone(),
        Some(_) => {
            let cause = "cannot change while the program runs: restart it";
            problems.add(&Path::default().key("fleet"), &"", cause);
            Joined::default()
        }
        None => Joined::of(spec.fleet.as_ref(), names, problems),
    }
}

impl LiveBudgets {
    fn of(spec: &Spec, names: &Names, joined: Joined, before: Option<&Self>) -> Self {
        let of_code = names.budgets.clone();
        let named = spec.budgets.iter().map(|(name, numbers)| {
            let kept = before.and_then(|before| before.named.get(name));
            let kept = kept.filter(|(old, _)| old == numbers);
            let make = || match numbers.shared {
                Some(false) => Joined::default().named(name, numbers.builder()),
                _ => joined.named(name, numbers.builder()),
            };
            let budget = kept.map_or_else(make, |(_, budget)| budget.clone());
            if kept.is_none() && budget.never_refills() {
                warn_of_misuse(name, NEVER_REFILLS);
            }
            (name.clone(), (numbers.clone(), budget))
        });
        let own = spec.services.iter().map(|(name, service)| {
            let kept = before.and_then(|before| before.own.get(name));
            let kept = kept.filter(|(membership, _)| *membership == service.fleet);
            let make = || match service.fleet {
                Membership::Member => joined.own(name),
                Membership::Alone => RetryBudget::default(),
            };
            let budget = kept.map_or_else(make, |(_, budget)| budget.clone());
            (name.clone(), (service.fleet, budget))
        });
        let (named, own) = (named.collect(), own.collect());
        Self {
            of_code,
            named,
            own,
            rest: before.map(|before| before.rest.clone()).unwrap_or_default(),
            joined,
        }
    }

    fn named(&self, name: &str) -> Option<RetryBudget> {
        let own = self.named.get(name).map(|(_, budget)| budget);
        own.or_else(|| self.of_code.get(name)).cloned()
    }
}
