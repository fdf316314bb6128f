//! A document in force: its services and routes, and the budgets that outlive it.

mod builder;

use super::budget::Budget;
use super::document::Spec;
use super::errors::ConfigErrors;
use super::names::Names;
use super::problems::Problems;
use super::resolve::Resolver;
use super::value::Value;
use crate::budget::{RetryBudget, ServiceBudgets};
use crate::route::{Choose, Head, Route, Services};
use builder::Builder;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A document that applies to every request from its load to the next.
pub(super) struct Live {
    pub(super) document: Arc<Value>,
    pub(super) services: Services,
    budgets: LiveBudgets,
}

/// The buckets, by their names in the document.
#[derive(Clone, Default)]
struct LiveBudgets {
    named: BTreeMap<String, (Budget, RetryBudget)>,
    of_code: BTreeMap<Arc<str>, RetryBudget>,
    /// Those of services that name none.
    own: BTreeMap<String, RetryBudget>,
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
        let built = Builder {
            resolver: Resolver {
                spec: &spec,
                names,
                problems: &problems,
            },
            budgets: LiveBudgets::of(&spec, names, before.map(|before| &before.budgets)),
        }
        .build();
        problems.into_errors()?;
        let (services, rest, budgets) = built;
        Ok(Self {
            document,
            services: Services::new(services, rest),
            budgets,
        })
    }
}

impl Choose for Live {
    fn choose(&self, head: &Head<'_>, service: Option<&str>) -> Arc<Route> {
        self.services.choose(head, service)
    }
}

impl LiveBudgets {
    fn of(spec: &Spec, names: &Names, before: Option<&Self>) -> Self {
        let of_code = names.budgets.clone();
        let named = spec.budgets.iter().map(|(name, numbers)| {
            let kept = before.and_then(|before| before.named.get(name));
            let kept = kept.filter(|(old, _)| old == numbers);
            let budget = kept.map_or_else(|| numbers.build(), |(_, budget)| budget.clone());
            (name.clone(), (numbers.clone(), budget))
        });
        let own = spec.services.keys().map(|name| {
            let kept = before.and_then(|before| before.own.get(name));
            (name.clone(), kept.cloned().unwrap_or_default())
        });
        Self {
            of_code,
            named: named.collect(),
            own: own.collect(),
            rest: before.map(|before| before.rest.clone()).unwrap_or_default(),
        }
    }

    fn named(&self, name: &str) -> Option<RetryBudget> {
        let own = self.named.get(name).map(|(_, budget)| budget);
        own.or_else(|| self.of_code.get(name)).cloned()
    }
}
