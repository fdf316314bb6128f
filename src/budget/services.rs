//! One budget per service or host, so that a failing host does not spend another's tokens.

use super::{RetryBudget, RetryBudgetBuilder};
use crate::error::ConfigError;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// One budget per service name or host, made on first use and shared by every clone of the handle.
///
/// A request counts for the service that its [`RetryOverride`](crate::RetryOverride::service) names, else for its host
/// and port. The handle keeps at most 1,000 of them; the least recently used one is dropped, and starts anew on its
/// next use.
///
/// ```
/// use http_retry::{RetryBudget, ServiceBudgets};
///
/// let budgets = ServiceBudgets::new(RetryBudget::builder().capacity(50))?
///     .max_services(200)
///     .service("payments", RetryBudget::builder().capacity(5).build()?);
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
#[derive(Debug, Clone)]
pub struct ServiceBudgets {
    each: RetryBudgetBuilder,
    named: HashMap<Arc<str>, RetryBudget>,
    max_services: usize,
    used: Arc<Mutex<Used>>,
}

/// The budgets by name, and the names in the order of their last use.
#[derive(Debug, Default)]
struct Used {
    budgets: HashMap<Arc<str>, (RetryBudget, u64)>,
    names: BTreeMap<u64, Arc<str>>,
    uses: u64,
}

const MAX_SERVICES: usize = 1_000;

impl ServiceBudgets {
    /// Budgets that `each` builds.
    ///
    /// # Errors
    ///
    /// A [`ConfigError`] that names the first field of `each` that cannot work.
    pub fn new(each: RetryBudgetBuilder) -> Result<Self, ConfigError> {
        each.terms()?;
        Ok(Self {
            each,
            ..Self::default()
        })
    }

    /// The most services that the handle keeps, besides those that [`ServiceBudgets::service`] names; 0 counts as 1.
    #[must_use]
    pub fn max_services(self, max_services: usize) -> Self {
        Self {
            max_services: max_services.max(1),
            ..self
        }
    }

    /// Sets the budget of one service or host, which is always kept. Call it before you clone the handle.
    #[must_use]
    pub fn service(mut self, name: impl Into<Arc<str>>, budget: RetryBudget) -> Self {
        self.named.insert(name.into(), budget);
        self
    }

    /// The budget of a service or host, made now if this is its first use.
    #[must_use]
    pub fn get(&self, service: &str) -> RetryBudget {
        self.get_or(service, |each| each.clone().build().unwrap_or_default())
    }

    /// The same, where its first use makes it in this way.
    pub(crate) fn get_or(
        &self,
        service: &str,
        make: impl FnOnce(&RetryBudgetBuilder) -> RetryBudget,
    ) -> RetryBudget {
        if let Some(budget) = self.named.get(service) {
            return budget.clone();
        }
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(budget) = used.again(service) {
            return budget;
        }
        while used.budgets.len() >= self.max_services {
            let Some((_, oldest)) = used.names.pop_first() else {
                break;
            };
            used.budgets.remove(&oldest);
        }
        let budget = make(&self.each);
        used.insert(service.into(), budget.clone());
        budget
    }
}

impl Default for ServiceBudgets {
    fn default() -> Self {
        Self {
            each: RetryBudget::builder(),
            named: HashMap::new(),
            max_services: MAX_SERVICES,
            used: Arc::default(),
        }
    }
}

impl Used {
    fn again(&mut self, service: &str) -> Option<RetryBudget> {
        let (budget, last_use) = self.budgets.get_mut(service)?;
        self.uses = self.uses.saturating_add(1);
        let before = std::mem::replace(last_use, self.uses);
        if let Some(name) = self.names.remove(&before) {
            self.names.insert(self.uses, name);
        }
        Some(budget.clone())
    }

    fn insert(&mut self, service: Arc<str>, budget: RetryBudget) {
        self.uses = self.uses.saturating_add(1);
        self.names.insert(self.uses, Arc::clone(&service));
        self.budgets.insert(service, (budget, self.uses));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn capacity(budget: &RetryBudget) -> String {
        let snapshot = budget.snapshot(Duration::ZERO).unwrap();
        snapshot.capacity.to_string()
    }

    #[test]
    fn the_same_name_is_the_same_budget_and_another_name_another() {
        let budgets =
            ServiceBudgets::new(RetryBudget::builder().initial(0).per_success(1)).unwrap();
        budgets.get("a").deposit(Duration::ZERO);
        let clone = budgets.clone();
        assert_eq!(clone.get("a").available(Duration::ZERO), 1);
        assert_eq!(clone.get("b").available(Duration::ZERO), 0);
    }

    #[test]
    fn the_least_recently_used_is_forgotten_and_a_named_one_never() {
        let small = RetryBudget::builder().capacity(3).build().unwrap();
        let each = RetryBudget::builder().initial(0).per_success(1);
        let budgets = ServiceBudgets::new(each)
            .unwrap()
            .max_services(2)
            .service("named", small);
        for service in ["a", "b"] {
            budgets.get(service).deposit(Duration::ZERO);
        }
        for service in ["a", "c"] {
            let _ = budgets.get(service);
        }
        assert_eq!(budgets.get("a").available(Duration::ZERO), 1);
        assert_eq!(budgets.get("b").available(Duration::ZERO), 0);
        assert_eq!(capacity(&budgets.get("named")), "3");
    }

    #[test]
    fn what_cannot_work_is_refused_before_the_first_use() {
        let error = ServiceBudgets::new(RetryBudget::builder().capacity(0)).unwrap_err();
        assert_eq!(error.field(), "budget.capacity");
    }
}
