//! One budget per service or host, so that a failing host does not spend another's tokens.

use super::{BudgetTerms, RetryBudget, RetryBudgetBuilder};
use crate::error::ConfigError;
use crate::name_hasher::NameHasher;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// One budget per service name or host, created on first use and shared by all clones of the handle.
///
/// A request counts for the service that its [`RetryOverride`](crate::RetryOverride::service) names, else for its host
/// and port, such as `api.example` or `api.example:8443`. The handle keeps at most 1,000 budgets. The least recently
/// used one is dropped, and starts again with its `initial` tokens on its next use.
///
/// ```
/// use http_retry::{RetryBudget, ServiceBudgets};
/// use std::time::Duration;
///
/// let budgets = ServiceBudgets::new(RetryBudget::builder().capacity(50))?
///     .max_services(200)
///     .service("payments", RetryBudget::builder().capacity(5).build()?);
/// assert_eq!(budgets.get("payments").available(Duration::ZERO), 5);
/// assert_eq!(budgets.get("api.example:8443").available(Duration::ZERO), 50);
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
///
/// Pass it to a layer, a client or a runner instead of a single budget:
///
/// ```
/// # {
/// use http_retry::tower::RetryLayer;
/// use http_retry::{RetryPolicy, ServiceBudgets};
///
/// let layer = RetryLayer::new(RetryPolicy::background()).budgets(ServiceBudgets::default());
/// # }
/// ```
///
/// The default handle creates default budgets. Calls that use existing budgets do not wait for each other; only the
/// first use of a service locks the table for a moment.
#[derive(Debug, Clone)]
pub struct ServiceBudgets {
    each: BudgetSource,
    named: HashMap<Arc<str>, RetryBudget>,
    max_services: usize,
    used: Arc<RwLock<UsedBudgets>>,
}

/// The source of the budget of a service that has none yet.
#[derive(Clone)]
enum BudgetSource {
    /// A budget of this process.
    Built(BudgetTerms),
    Made(Arc<dyn Fn(&str) -> RetryBudget + Send + Sync>),
}

/// The budgets by name.
#[derive(Debug, Default)]
struct UsedBudgets {
    /// Each with the number of its last use.
    budgets: HashMap<Arc<str>, (RetryBudget, AtomicU64), NameHasher>,
    /// Each name once, with a use that may no longer be its last; it is corrected when it reaches the top.
    order: BinaryHeap<Reverse<(u64, Arc<str>)>>,
    /// The number of the last use that was not of the same budget as the one before.
    uses: AtomicU64,
}

const MAX_SERVICES: usize = 1_000;

impl ServiceBudgets {
    /// Creates a handle whose budgets `each` builds, one per service or host.
    ///
    /// # Errors
    ///
    /// Returns a [`ConfigError`] that names the first invalid field of `each`. Building a budget later cannot fail.
    #[expect(clippy::needless_pass_by_value, reason = "a builder is used up")]
    pub fn new(each: RetryBudgetBuilder) -> Result<Self, ConfigError> {
        Ok(Self {
            each: BudgetSource::Built(each.terms()?),
            ..Self::default()
        })
    }

    /// Creates a handle whose budgets `make` creates from the name of a service or host, such as budgets whose tokens
    /// several processes share.
    ///
    /// `make` is called again for a name that was dropped, and once for each of several threads that use a new name at
    /// the same time; the budget that is ready first is kept. No lock is held meanwhile.
    ///
    /// ```
    /// use http_retry::{RetryBudget, ServiceBudgets};
    /// use std::time::Duration;
    ///
    /// let budgets = ServiceBudgets::made_by(|service| {
    ///     if service.ends_with(".internal") {
    ///         RetryBudget::unlimited()
    ///     } else {
    ///         RetryBudget::default()
    ///     }
    /// });
    /// assert_eq!(budgets.get("orders.internal").tokens_at(Duration::ZERO), None);
    /// ```
    #[must_use]
    pub fn made_by(make: impl Fn(&str) -> RetryBudget + Send + Sync + 'static) -> Self {
        Self {
            each: BudgetSource::Made(Arc::new(make)),
            ..Self::default()
        }
    }

    /// Returns `true` if neither time nor successes refill the budgets that are built here.
    #[must_use]
    pub(crate) fn never_refill(&self) -> bool {
        match &self.each {
            BudgetSource::Built(terms) => terms.never_refill(),
            BudgetSource::Made(_) => false,
        }
    }

    /// Sets the most services that the handle keeps, besides those set with [`ServiceBudgets::service`]; 0 counts as 1.
    /// Default: 1,000, so that memory is bounded for any number of hosts. Call it before you clone the handle.
    #[must_use]
    pub fn max_services(mut self, max_services: usize) -> Self {
        self.max_services = max_services.max(1);
        self
    }

    /// Sets the budget of one service or host. It is never dropped, no matter how many other services there are. The
    /// last budget set for a name counts. Call it before you clone the handle.
    #[must_use]
    pub fn service(mut self, name: impl Into<Arc<str>>, budget: RetryBudget) -> Self {
        let name = name.into();
        let budget = budget.named(Arc::clone(&name));
        self.named.insert(name, budget);
        self
    }

    /// Returns the budget of a service or host, created now on first use, to inspect it or to share it with another
    /// client.
    ///
    /// If the handle is full, a new budget replaces the least recently used one. Clones of a dropped budget keep its
    /// tokens, separate from those of the name's next budget.
    #[must_use]
    pub fn get(&self, service: &str) -> RetryBudget {
        if let Some(budget) = self.named.get(service) {
            return budget.clone();
        }
        let used = self.used.read().unwrap_or_else(PoisonError::into_inner);
        let known = used.touch(service).cloned();
        // `first_use` takes the write lock, and would wait for this guard.
        drop(used);
        known.unwrap_or_else(|| self.first_use(service))
    }

    /// Returns `true` if other processes may share any of the budgets.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self.each, BudgetSource::Made(_))
            || self.named.values().any(RetryBudget::is_shared)
    }

    #[cold]
    fn first_use(&self, service: &str) -> RetryBudget {
        // Made without the lock, since `make` may use the handle.
        let new = match &self.each {
            BudgetSource::Built(terms) => RetryBudget::local(*terms),
            BudgetSource::Made(make) => make(service),
        };
        let new = new.named(service);
        let mut evicted = Vec::new();
        let mut used = self.used.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have come first.
        if let Some(budget) = used.touch(service) {
            return budget.clone();
        }
        while used.budgets.len() >= self.max_services {
            evicted.extend(used.evict_one());
        }
        used.insert(service, new.clone());
        // The evicted budgets are dropped after the lock is: their accounts may be the user's own.
        drop(used);
        new
    }
}

impl Default for ServiceBudgets {
    fn default() -> Self {
        Self {
            each: BudgetSource::Built(BudgetTerms::DEFAULT),
            named: HashMap::new(),
            max_services: MAX_SERVICES,
            used: Arc::default(),
        }
    }
}

impl UsedBudgets {
    /// Returns the budget of a service that has one, and records its use.
    #[inline]
    fn touch(&self, service: &str) -> Option<&RetryBudget> {
        let (budget, last_use) = self.budgets.get(service)?;
        // While all calls go to one service nothing is written, so their threads share the cache line.
        if last_use.load(Ordering::Relaxed) != self.uses.load(Ordering::Relaxed) {
            last_use.store(self.next_use(), Ordering::Relaxed);
        }
        Some(budget)
    }

    fn insert(&mut self, service: &str, budget: RetryBudget) {
        let (name, use_now): (Arc<str>, _) = (service.into(), self.next_use());
        self.order.push(Reverse((use_now, Arc::clone(&name))));
        let used = (budget, AtomicU64::new(use_now));
        self.budgets.insert(name, used);
    }

    fn next_use(&self) -> u64 {
        self.uses.fetch_add(1, Ordering::Relaxed).saturating_add(1)
    }

    /// Removes the least recently used budget.
    fn evict_one(&mut self) -> Option<(RetryBudget, AtomicU64)> {
        while let Some(Reverse((known, name))) = self.order.pop() {
            let used = self.budgets.get(&name);
            match used.map(|(_, last_use)| last_use.load(Ordering::Relaxed)) {
                // Used since it was pushed: a use does not move its entry, which would need the write lock.
                Some(later) if later != known => self.order.push(Reverse((later, name))),
                _ => return self.budgets.remove(&name),
            }
        }
        None
    }
}

impl fmt::Debug for BudgetSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Built(each) => each.fmt(f),
            Self::Made(_) => f.write_str("Made"),
        }
    }
}

/// One budget for all requests, or one per service.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_enums, reason = "there is no third way to pay")]
pub enum Budgets {
    /// One for all requests.
    One(RetryBudget),
    /// One per service.
    PerService(ServiceBudgets),
}

impl Budgets {
    /// Returns `true` if other processes may share the budget, or any of them.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        match self {
            Self::One(budget) => budget.is_shared(),
            Self::PerService(budgets) => budgets.is_shared(),
        }
    }

    /// Returns the budget of a service, created now on first use.
    pub(crate) fn of(&self, service: impl FnOnce() -> Arc<str>) -> RetryBudget {
        match self {
            Self::One(budget) => budget.clone(),
            Self::PerService(budgets) => budgets.get(&service()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::ext::BudgetExt;
    use crate::sharing::SharedAccount;
    use std::sync::OnceLock;
    use std::time::Duration;

    fn capacity(budget: &RetryBudget) -> String {
        budget.capacity(Duration::ZERO).unwrap().to_string()
    }

    #[test]
    fn each_name_has_one_budget_for_all_clones() {
        let budgets =
            ServiceBudgets::new(RetryBudget::builder().initial(0).per_success(1)).unwrap();
        budgets.get("a").deposit(Duration::ZERO);
        let clone = budgets.clone();
        assert_eq!(clone.get("a").available(Duration::ZERO), 1);
        assert_eq!(clone.get("b").available(Duration::ZERO), 0);
    }

    #[test]
    fn the_least_recently_used_unnamed_budget_is_dropped() {
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
    fn a_success_counts_as_a_use_and_hosts_are_bounded() {
        let each = RetryBudget::builder()
            .capacity(500)
            .initial(0)
            .per_success(1);
        let budgets = ServiceBudgets::new(each).unwrap().max_services(10);
        for host in 0..1_000 {
            budgets.get(&format!("host{host}")).deposit(Duration::ZERO);
            budgets.get("busy").deposit(Duration::ZERO);
        }
        assert_eq!(budgets.used.read().unwrap().budgets.len(), 10);
        assert_eq!(budgets.get("busy").available(Duration::ZERO), 500);
        assert_eq!(budgets.get("host999").available(Duration::ZERO), 1);
        assert_eq!(budgets.get("host0").available(Duration::ZERO), 0);
    }

    /// An account that uses the handle that it is in, whatever is done with it.
    struct Nosy(Arc<OnceLock<ServiceBudgets>>);

    impl Nosy {
        fn look(&self) {
            if let Some(all) = self.0.get() {
                let _ = all.get("plain");
            }
        }
    }

    impl SharedAccount for Nosy {
        fn deposit(&self, _: Duration) {
            self.look();
        }

        fn withdraw(&self, _: u64, _: Duration) -> bool {
            self.look();
            true
        }

        fn refund(&self, _: u64) {
            self.look();
        }

        fn tokens(&self) -> u64 {
            self.look();
            u64::MAX
        }

        fn capacity(&self) -> u64 {
            u64::MAX
        }
    }

    impl Drop for Nosy {
        fn drop(&mut self) {
            self.look();
        }
    }

    #[test]
    fn the_users_code_may_use_the_handle_that_calls_it() {
        let (done, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let own = Arc::new(OnceLock::new());
            let handle = Arc::clone(&own);
            let budgets = ServiceBudgets::made_by(move |service| {
                if service == "plain" {
                    return RetryBudget::default();
                }
                let nosy = Nosy(Arc::clone(&handle));
                nosy.look();
                let terms = RetryBudget::builder().terms().unwrap();
                RetryBudget::with_account(terms, nosy)
            });
            let budgets = budgets.max_services(2);
            let _ = own.set(budgets.clone());
            for service in ["a", "b", "c", "a"] {
                budgets.get(service).deposit(Duration::ZERO);
                assert!(budgets.get(service).available(Duration::ZERO) > 0);
            }
            done.send(()).unwrap();
        });
        // A lock that waits for its own thread would wait for ever.
        let limit = Duration::from_secs(60);
        assert_eq!(ended.recv_timeout(limit), Ok(()));
    }

    #[test]
    fn all_threads_find_the_same_budget() {
        let each = RetryBudget::builder().initial(0).capacity(1_000);
        let budgets = ServiceBudgets::new(each.per_success(1)).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for host in (0..400).map(|call| ["a", "b"][call % 2]) {
                        budgets.get(host).deposit(Duration::ZERO);
                    }
                });
            }
        });
        let available = |host| budgets.get(host).available(Duration::ZERO);
        assert_eq!((available("a"), available("b")), (800, 800));
    }

    #[test]
    fn an_invalid_builder_is_rejected_before_the_first_use() {
        let error = ServiceBudgets::new(RetryBudget::builder().capacity(0)).unwrap_err();
        assert_eq!(error.field, "budget.capacity");
    }
}
