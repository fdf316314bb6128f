//! The retry budget: one bucket of tokens for all retries of a program to one service, so that retries never make an
//! outage worse.
//!
//! Successes fill the bucket, retries empty it. While most requests succeed, there is a token for every retry. When
//! everything fails, the bucket runs dry, and the server gets each request once instead of five times.
//!
//! [`RetryBudget`] is one bucket, [`ServiceBudgets`] one for each service or host. The layers and clients of this crate
//! spend and fill their budget themselves; a program only makes it, shares it and looks at it. Time is always an argument,
//! on the clock of [`Runtime::now`](crate::runtime::Runtime::now).
//!
//! # Source
//!
//! Token-bucket retry throttling as in gRPC (A6), the AWS SDKs' standard mode and Finagle's `RetryBudget`; the numbers
//! come from simulation.

mod account;
mod bucket;
mod builder;
#[cfg(feature = "redis")]
pub(crate) mod fleet;
#[cfg(not(feature = "redis"))]
mod local;
mod paid_retry;
mod services;
mod sync;

pub use builder::RetryBudgetBuilder;
#[cfg(feature = "redis")]
pub(crate) use fleet::Asking;
#[cfg(not(feature = "redis"))]
pub(crate) use local::Asking;
pub use paid_retry::PaidRetry;
pub use services::ServiceBudgets;

use crate::policy::{Decimal, RetryPlan, StopReason};
use account::Account;
use bucket::{Bucket, Terms};
use std::sync::PoisonError;
use std::time::Duration;
use sync::{Arc, AtomicU64, Mutex, MutexGuard, Ordering};

/// A bucket of retry tokens, shared by every clone of the handle: across threads, clients and stacks.
///
/// ```
/// use http_retry::RetryBudget;
///
/// let budget = RetryBudget::default();
/// let shared = budget.clone(); // the same tokens
///
/// let of_my_own = RetryBudget::builder().capacity(100).per_second(10).per_success(0.2).build()?;
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
///
/// The default holds 20 tokens, and more under traffic: a quarter of a second's worth of its own successes. A success
/// adds 0.1, a retry costs 1, a retry after a timeout 2, and time alone adds nothing. A budget allows at most as many
/// retries in an outage as it holds tokens, so it amplifies an outage of N requests by at most 1 + capacity / N. A
/// client of few requests is bounded by its policy's attempts instead.
///
/// A program that runs sessions itself counts successes by [`RetryBudget::deposit`] and pays for each retry by
/// [`RetryBudget::withdraw`]:
///
/// ```
/// use http_retry::policy::{ErrorKind, Moment, Outcome, RequestFacts};
/// use http_retry::{RetryBudget, RetryPolicy};
///
/// let budget = RetryBudget::builder().capacity(10).initial(1).build().unwrap();
/// let now = Moment::default();
/// let request = RequestFacts::operation().idempotent(true);
/// let mut session = RetryPolicy::background().session(request, now.now);
///
/// let plan = session.plan(&Outcome::error(ErrorKind::Reset), now)?;
/// let paid = budget.withdraw(plan, now.now)?; // sleep for paid.delay(), then send
/// session.apply(&paid);
/// paid.commit();
///
/// let plan = session.plan(&Outcome::error(ErrorKind::Reset), now)?;
/// assert!(budget.withdraw(plan, now.now).is_err(), "no token is left");
/// for _ in 0..10 {
///     budget.deposit(now.now);
/// }
/// assert_eq!(budget.available(now.now), 1);
/// # Ok::<(), http_retry::StopReason>(())
/// ```
#[derive(Debug, Clone)]
pub struct RetryBudget(Option<Arc<Shared>>);

#[derive(Debug)]
struct Shared {
    terms: Terms,
    successes: Successes,
    account: Mutex<Account>,
    /// How long a retry waits for the budget's fleet; nothing for a budget of this process alone.
    #[cfg(feature = "redis")]
    wait: Option<Duration>,
}

/// A budget's word on a planned retry.
#[derive(Debug)]
pub(crate) enum Ask {
    Paid(PaidRetry),
    Refused,
    /// The fleet decides.
    #[cfg_attr(
        not(feature = "redis"),
        expect(dead_code, reason = "there are no fleets")
    )]
    Asking(Asking),
}

/// Counted without a lock, on a cache line of their own.
#[derive(Debug)]
#[repr(align(128))]
struct Successes(AtomicU64);

/// The number of successes after which one of them updates the average.
const BATCH: u64 = 64;

impl RetryBudget {
    /// A builder that starts from the default numbers, which [`RetryBudgetBuilder`] lists.
    pub fn builder() -> RetryBudgetBuilder {
        RetryBudgetBuilder::default()
    }

    /// No budget: grants every retry that the policy plans. In an outage this multiplies the load: with four retries, a
    /// server that is down gets each request five times.
    #[must_use]
    pub fn unlimited() -> Self {
        Self(None)
    }

    fn new(terms: Terms, initial: u64) -> Self {
        let bucket = Bucket::new(&terms, initial);
        let account = Account::Local { bucket, counted: 0 };
        Self(Some(Arc::new(Shared::new(terms, account))))
    }

    /// Counts a success at `now`, on the clock of [`Moment::now`](crate::policy::Moment::now).
    ///
    /// The success adds the `per_success` of the builder, 0.1 by default, up to the capacity. Count each request that
    /// succeeds once, retried or not. A clock that steps back counts as standing still.
    ///
    /// Costs one atomic addition, and once in 64 times a short lock if it is free.
    pub fn deposit(&self, now: Duration) {
        if let Some(shared) = &self.0 {
            let before = shared.successes.0.fetch_add(1, Ordering::Relaxed);
            if before % BATCH == 0 {
                shared.try_settle(now);
            }
        }
    }

    /// Takes a planned retry's price and returns the paid retry with its delay; takes nothing if there are too few
    /// tokens.
    ///
    /// The price is the builder's `retry_cost`, `timeout_cost` after a timeout, or `gated_cost` after a 429 whose call
    /// waits at the gate. `now` is on the clock of [`Moment::now`](crate::policy::Moment::now).
    ///
    /// A budget that is shared with a fleet asks nobody here: it pays from what this process has in hand, or from its
    /// part of what the fleet held when last heard of, and the fleet is charged with the next message. The clients of
    /// this crate ask the fleet instead.
    ///
    /// # Errors
    ///
    /// [`StopReason::BudgetExhausted`] if there are too few tokens.
    pub fn withdraw(&self, plan: RetryPlan, now: Duration) -> Result<PaidRetry, StopReason> {
        let price = self.price(&plan);
        let granted = self.0.as_ref().is_none_or(|shared| {
            let mut account = shared.settle(now);
            account.withdraw(price)
        });
        match granted {
            true => Ok(PaidRetry::new(self.clone(), price, plan)),
            false => Err(StopReason::BudgetExhausted),
        }
    }

    /// The tokens in the budget at `now`, from 0 on; `None` for an unlimited one.
    ///
    /// Of a budget that is shared with a fleet: what all processes had when this one heard of it last; while the store
    /// does not answer, what this process may spend alone.
    #[must_use]
    pub fn tokens(&self, now: Duration) -> Option<Decimal> {
        let shared = self.0.as_ref()?;
        Some(Decimal::from_micros(shared.settle(now).tokens()))
    }

    /// The most tokens that the budget can hold at `now`; `None` for an unlimited one.
    ///
    /// Never less than the builder's `capacity`, and more while the successes of its `growth`, averaged over 10 s, are
    /// more. Of a budget that is shared with a fleet: that of all processes; while the store does not answer, this
    /// process's part of it.
    #[must_use]
    pub fn capacity(&self, now: Duration) -> Option<Decimal> {
        let shared = self.0.as_ref()?;
        Some(Decimal::from_micros(shared.settle(now).capacity()))
    }

    /// The tokens and the capacity, without what time alone has brought since the last use: to look is no use.
    pub(crate) fn as_used_last(&self) -> Option<(Decimal, Decimal)> {
        let shared = self.0.as_ref()?;
        let mut account = shared.lock();
        shared.count(&mut account, None);
        let [tokens, capacity] = [account.tokens(), account.capacity()].map(Decimal::from_micros);
        Some((tokens, capacity))
    }

    /// How many retries at `retry_cost` the budget would grant at `now`, rounded down; `u64::MAX` for an unlimited one.
    #[must_use]
    pub fn available(&self, now: Duration) -> u64 {
        self.0.as_ref().map_or(u64::MAX, |shared| {
            let tokens = shared.settle(now).tokens();
            tokens
                .checked_div(shared.terms.retry_cost)
                .unwrap_or(u64::MAX)
        })
    }

    fn price(&self, plan: &RetryPlan) -> u64 {
        let shared = self.0.as_ref();
        shared.map_or(0, |shared| shared.terms.price(plan.cost))
    }

    fn refund(&self, price: u64) {
        if let Some(shared) = &self.0 {
            shared.lock().refund(price);
        }
    }
}

/// What a log says of a budget without a refill.
pub(crate) const NEVER_REFILLS: &str = "a budget never refills: with per_success and per_second at 0, no retry follows once its tokens are spent";

impl RetryBudget {
    /// Returns `true` if neither time nor successes bring tokens back.
    pub(crate) fn never_refills(&self) -> bool {
        let terms = self.0.as_ref().map(|shared| &shared.terms);
        terms.is_some_and(Terms::never_refill)
    }
}

impl Default for RetryBudget {
    fn default() -> Self {
        // The default numbers are within their own bounds, which a test holds.
        RetryBudgetBuilder::default().build().unwrap_or(Self(None))
    }
}

impl Shared {
    fn new(terms: Terms, account: Account) -> Self {
        Self {
            terms,
            successes: Successes(AtomicU64::new(0)),
            account: Mutex::new(account),
            #[cfg(feature = "redis")]
            wait: None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Account> {
        // A panic cannot leave an account half changed: its arithmetic does not panic.
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self, now: Duration) -> MutexGuard<'_, Account> {
        let mut account = self.lock();
        self.count(&mut account, Some(now));
        account
    }

    fn try_settle(&self, now: Duration) {
        if let Ok(mut account) = self.account.try_lock() {
            self.count(&mut account, Some(now));
        }
    }

    fn count(&self, account: &mut Account, now: Option<Duration>) {
        let successes = self.successes.0.load(Ordering::Relaxed);
        account.settle(&self.terms, successes, now);
    }
}

#[cfg(test)]
mod tests;
