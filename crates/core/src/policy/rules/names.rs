//! The names in a policy's rules.

use super::{Action, OnExhausted, Rules};
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

impl RetryPolicy {
    /// Returns the names in the policy's rules, and in those of the policies that they retry by, each once and in
    /// alphabetical order.
    #[must_use]
    pub fn names_used(&self) -> NamesUsed<'_> {
        let mut names = NamesUsed::default();
        self.rules().names(&mut names);
        for names in [
            &mut names.failovers,
            &mut names.budgets,
            &mut names.dead_letters,
        ] {
            names.sort_unstable();
            names.dedup();
        }
        names
    }
}

impl NamesUsed<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        let Self {
            failovers,
            budgets,
            dead_letters,
        } = self;
        failovers.is_empty() && budgets.is_empty() && dead_letters.is_empty()
    }
}

impl Rules {
    /// Collects the names that these rules and the policies that they retry by use.
    fn names<'a>(&'a self, names: &mut NamesUsed<'a>) {
        names.budgets.extend(&self.budget);
        match &self.on_exhausted {
            OnExhausted::Failover { to, .. } => names.failovers.push(&to.service),
            OnExhausted::DeadLetter { name } => names.dead_letters.push(name),
            _ => {}
        }
        let actions = self.list.iter().map(|rule| &rule.action);
        for action in actions.chain([&self.otherwise]) {
            match action {
                Action::Failover(to) => names.failovers.push(&to.service),
                // One level deep: such a policy has no rules of its own.
                Action::Retry(policy) => policy.rules().names(names),
                _ => {}
            }
        }
    }
}
