//! The names in a policy's rules.

use super::{Action, OnExhausted};
use crate::policy::RetryPolicy;
use std::sync::Arc;

/// The names in a policy's rules that its services or its document resolve.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct NamesUsed<'a> {
    /// The services that the policy fails over to.
    pub failovers: Vec<&'a Arc<str>>,
    /// The budgets that pay.
    pub budgets: Vec<&'a Arc<str>>,
    /// The observers of requests that are given up.
    pub dead_letters: Vec<&'a Arc<str>>,
}

impl<'a> NamesUsed<'a> {
    /// Returns the names in a policy's rules, and in those of the policies that they retry by, each once and in
    /// alphabetical order.
    pub(in crate::policy) fn of(policy: &'a RetryPolicy) -> Self {
        let mut names = Self::default();
        policy.collect_names(&mut names);
        names
    }
}

impl RetryPolicy {
    /// Collects the names that the policy and those that its rules retry by use.
    fn collect_names<'a>(&'a self, names: &mut NamesUsed<'a>) {
        let rules = self.rules();
        if let Some(budget) = &rules.budget {
            add(&mut names.budgets, budget);
        }
        match &rules.on_exhausted {
            OnExhausted::Failover { to, .. } => add(&mut names.failovers, &to.service),
            OnExhausted::DeadLetter { name } => add(&mut names.dead_letters, name),
            _ => {}
        }
        for action in self.actions() {
            match action {
                Action::Failover(to) => add(&mut names.failovers, &to.service),
                // One level deep: such a policy has no rules of its own.
                Action::Retry(policy) => policy.collect_names(names),
                _ => {}
            }
        }
    }
}

/// Adds a name at its place, unless it is there. Names are few: sorting them would be more code.
fn add<'a>(names: &mut Vec<&'a Arc<str>>, name: &'a Arc<str>) {
    if let Err(at) = names.binary_search(&name) {
        names.insert(at, name);
    }
}
