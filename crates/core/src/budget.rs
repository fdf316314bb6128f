//! The retry budget: one bucket of tokens for all retries of a program to one service, so that retries never make an
//! outage worse.
//!
//! Successes fill the bucket, retries empty it. While most requests succeed, there is a token for every retry. When
//! everything fails, the bucket runs dry, and the server gets each request once instead of five times.
//!
//! [`RetryBudget`] is one bucket, [`ServiceBudgets`] one for each service or host. The layers and clients of this crate
//! spend and fill their budget themselves; a program only creates it, shares it and inspects it. Time is always an
//! argument, on the clock of [`Runtime::now`](crate::runtime::Runtime::now).
//!
//! # Source
//!
//! Token-bucket retry throttling as in gRPC (A6), the AWS SDKs' standard mode and Finagle's `RetryBudget`; the numbers
//! come from simulation.

pub(crate) mod bucket;
mod builder;
pub(crate) mod ext;
pub(crate) mod payment;
pub(crate) mod services;
mod sync;

pub(crate) use crate::sharing::{Payment, SharedAccount};
pub(crate) use bucket::BudgetTerms;
pub use builder::RetryBudgetBuilder;
pub(crate) use payment::{PaymentResult, PendingRetry, TakenTokens};
pub use services::ServiceBudgets;

use crate::budget::ext::BudgetExt;
use crate::policy::{Cost, Decimal, DelaySource, RetryPlan, RetrySession, StopReason};
use bucket::Bucket;
use std::fmt;
use std::sync::{OnceLock, PoisonError};
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
/// let custom = RetryBudget::builder().capacity(100).per_second(10).per_success(0.2).build()?;
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
///
/// The default holds 20 tokens, and more under traffic: a quarter of a second's worth of its own successes. A success
/// adds 0.1, or more after a quiet time ([`min_per_second`](RetryBudgetBuilder::min_per_second)); a retry costs 1, a
/// retry after a timeout 2, and time alone adds nothing. Trouble begins with a retry that is asked for while the budget
/// is full; it pays. Calls that began before it, its own included, pay nothing for their first and second retry, unless
/// it follows a timeout. So a batch outlasts a short failure, and an outage of N requests is amplified by at most 1 +
/// capacity / N, and by up to two attempts for each call that was under way when it began. A client of few requests is
/// bounded by its policy's attempts instead.
///
/// A program that runs sessions itself counts successes by [`RetryBudget::deposit`] and pays for each retry by
/// [`RetryBudget::withdraw`]:
///
/// ```
/// use http_retry::policy::Moment;
/// use http_retry::{ErrorKind, Outcome, RequestFacts, RetryBudget, RetryPolicy};
///
/// let budget = RetryBudget::builder().capacity(10).initial(1).build()?;
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
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[doc(alias = "circuit breaker")]
pub struct RetryBudget(Option<Arc<BudgetInner>>);

#[derive(Debug)]
struct BudgetInner {
    terms: BudgetTerms,
    account: Account,
    /// The name in metrics, once there is one.
    name: OnceLock<Name>,
}

// Not loom's `Arc`, which `sync` has under loom.
type Name = std::sync::Arc<str>;

/// The number of retries for which a call that was under way when trouble began does not pay.
const SPARED_RETRIES: u32 = 2;

/// The holder of a budget's tokens.
#[expect(
    clippy::large_enum_variant,
    reason = "the local account is the usual one, and costs no second allocation"
)]
enum Account {
    Local(LocalAccount),
    Shared(Box<dyn SharedAccount>),
}

/// The tokens of a budget that this process alone spends.
#[derive(Debug)]
struct LocalAccount {
    successes: Successes,
    bucket: Mutex<Bucket>,
    /// The time at which trouble began, in nanoseconds: a retry was asked for while the budget was full.
    ///
    /// Calls that were under way then pay nothing for their first retries. So a batch of any size outlasts a short
    /// failure, while a failure that goes on gets few retries more: no call that begins during it is spared.
    trouble: AtomicU64,
}

/// Counted without a lock, on a cache line of their own.
#[derive(Debug)]
#[repr(align(128))]
struct Successes(AtomicU64);

/// The warning about a budget without a refill.
pub(crate) const NEVER_REFILLS: &str = "a budget never refills: with per_success and per_second at 0, no retry follows once its tokens are spent";

/// The number of successes after which one of them updates the average.
const BATCH: u64 = 64;

impl RetryBudget {
    /// Returns a builder with the default numbers, which [`RetryBudgetBuilder`] lists.
    #[inline]
    pub fn builder() -> RetryBudgetBuilder {
        RetryBudgetBuilder::default()
    }

    /// Creates a budget without a limit, which grants every retry that the policy plans. In an outage this multiplies
    /// the load: with four retries, a server that is down gets each request five times.
    #[must_use]
    #[inline]
    pub fn unlimited() -> Self {
        Self(None)
    }

    fn local(terms: BudgetTerms) -> Self {
        let account = Account::Local(LocalAccount::new(&terms));
        Self::new(terms, account)
    }

    fn new(terms: BudgetTerms, account: Account) -> Self {
        Self(Some(Arc::new(BudgetInner {
            terms,
            account,
            name: OnceLock::new(),
        })))
    }

    /// Names the budget and its clones for metrics and reports; the first name counts. An unlimited budget has none.
    ///
    /// A budget of [`ServiceBudgets`] or of a fleet has the name of its service or host, and one that a document or
    /// `Services` names is `budgets.NAME`. Any other gets the name of the first service that it pays for, so name one
    /// that several services share.
    ///
    /// ```
    /// use http_retry::RetryBudget;
    ///
    /// let budget = RetryBudget::default().named("shop");
    /// assert_eq!(budget.clone().named("another").name(), Some("shop"));
    /// ```
    #[must_use]
    pub fn named(self, name: impl Into<Name>) -> Self {
        self.name_or(name);
        self
    }

    /// Returns the budget's name, if it has one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.0.as_ref()?.name.get().map(|name| &**name)
    }

    /// Returns the budget's name, which is `name` from now on if it had none; `None` for an unlimited budget.
    pub(crate) fn name_or(&self, name: impl Into<Name>) -> Option<&Name> {
        let inner = self.0.as_ref()?;
        Some(inner.name.get_or_init(|| name.into()))
    }

    /// Counts a success at `now`, on the clock of [`Moment::now`](crate::policy::Moment::now).
    ///
    /// The success adds the `per_success` of the builder, 0.1 by default, up to the capacity. Count each request that
    /// succeeds once, retried or not. A clock that steps back counts as standing still.
    ///
    /// Costs one atomic addition, and once in 64 times a short lock if it is free.
    pub fn deposit(&self, now: Duration) {
        let Some(inner) = &self.0 else { return };
        match &inner.account {
            Account::Local(account) => account.deposit(&inner.terms, now),
            Account::Shared(account) => account.deposit(now),
        }
    }

    /// Takes a planned retry's price and returns the paid retry with its delay; takes nothing if there are too few
    /// tokens.
    ///
    /// The price is the builder's `retry_cost`, `timeout_cost` after a timeout, or `gated_cost` after a 429 whose call
    /// waits at the gate. `now` is on the clock of [`Moment::now`](crate::policy::Moment::now).
    ///
    /// A budget on a [`SharedAccount`] does not ask the store here: it pays from the tokens that this process may spend
    /// alone. The clients of this crate use [`ask`](Self::ask) instead.
    ///
    /// # Errors
    ///
    /// [`StopReason::BudgetExhausted`] if there are too few tokens.
    pub fn withdraw(&self, plan: RetryPlan, now: Duration) -> Result<PaidRetry, StopReason> {
        let price = self.price(&plan, now);
        self.pay(price, plan, now)
            .ok_or(StopReason::BudgetExhausted)
    }

    /// Returns `true` if the budget pays for every retry.
    #[inline]
    pub(crate) fn is_unlimited(&self) -> bool {
        self.0.is_none()
    }

    /// Returns `true` if the budget is on a [`SharedAccount`], so that [`ask`](Self::ask) may have to wait.
    #[must_use]
    #[inline]
    pub(crate) fn is_shared(&self) -> bool {
        self.shared_account().is_some()
    }

    /// Returns the tokens in the budget after its last use, from 0 on; `None` for an unlimited budget.
    ///
    /// Time adds tokens only if the builder's `per_second` is set; without it, the next retry pays from these tokens.
    /// In a fleet these are the tokens of all processes as this one last knew them; while the store does not respond,
    /// the tokens that this process may spend alone.
    ///
    /// ```
    /// use http_retry::RetryBudget;
    ///
    /// assert_eq!(RetryBudget::default().tokens(), Some(20.into()));
    /// assert_eq!(RetryBudget::unlimited().tokens(), None);
    /// ```
    #[must_use]
    pub fn tokens(&self) -> Option<Decimal> {
        self.as_used_last().map(|(tokens, _)| tokens)
    }

    /// Returns the tokens in the budget at `now`, from 0 on; `None` for an unlimited budget.
    ///
    /// `now` is the time since the epoch of the runtime that the budget's clients use, such as `runtime.now()`.
    #[must_use]
    pub fn tokens_at(&self, now: Duration) -> Option<Decimal> {
        let (tokens, _) = self.0.as_ref()?.balance(Some(now));
        Some(Decimal::from_micros(tokens))
    }

    /// Returns the most tokens that the budget can hold at `now`; `None` for an unlimited one.
    ///
    /// Never less than the builder's `capacity`, and more while the successes of its `growth`, averaged over 10 s, are
    /// more. In a fleet this is the capacity of all processes; while the store does not respond, the part of this
    /// process.
    #[must_use]
    pub fn capacity(&self, now: Duration) -> Option<Decimal> {
        let (_, capacity) = self.0.as_ref()?.balance(Some(now));
        Some(Decimal::from_micros(capacity))
    }

    /// Returns `true` if neither time nor successes add tokens.
    pub(crate) fn never_refills(&self) -> bool {
        let terms = self.0.as_ref().map(|inner| &inner.terms);
        terms.is_some_and(BudgetTerms::never_refill)
    }

    /// Returns the number of retries at `retry_cost` that the budget would grant at `now`; `u64::MAX` for an unlimited
    /// one.
    #[must_use]
    pub fn available(&self, now: Duration) -> u64 {
        self.0.as_ref().map_or(u64::MAX, |inner| {
            let (tokens, _) = inner.balance(Some(now));
            tokens
                .checked_div(inner.terms.retry_cost)
                .unwrap_or(u64::MAX)
        })
    }

    /// Takes tokens for a request that no session plans, such as a second copy of a request that is slow. Returns
    /// `None`, and takes nothing, if there are too few.
    ///
    /// A part below a millionth of a token is not taken, and an unlimited budget gives any number. `now` is on the
    /// clock of [`Moment::now`](crate::policy::Moment::now). A budget on a [`SharedAccount`] gives the tokens that this
    /// process may spend alone, as with [`RetryBudget::withdraw`].
    #[must_use]
    pub(crate) fn take(&self, tokens: Decimal, now: Duration) -> Option<TakenTokens> {
        let price = tokens.micros();
        let inner = self.0.as_ref();
        let is_taken = inner.is_none_or(|inner| inner.withdraw(price, now));
        is_taken.then(|| TakenTokens::new(self.clone(), price))
    }

    /// Returns the price of a planned retry. Asked once for each plan: from a full budget, trouble begins now.
    fn price(&self, plan: &RetryPlan, now: Duration) -> u64 {
        let inner = self.0.as_ref();
        inner.map_or(0, |inner| inner.price(plan, now))
    }

    fn pay(&self, price: u64, plan: RetryPlan, now: Duration) -> Option<PaidRetry> {
        let inner = self.0.as_ref();
        let is_paid = inner.is_none_or(|inner| inner.withdraw(price, now));
        is_paid.then(|| PaidRetry::new(self.clone(), price, plan))
    }

    fn refund(&self, price: u64) {
        match self.0.as_ref().map(|inner| &inner.account) {
            // Not settled: a refund happens on drop, without a clock at hand.
            Some(Account::Local(account)) => account.lock().add(price),
            Some(Account::Shared(account)) => account.refund(price),
            None => {}
        }
    }

    fn shared_account(&self) -> Option<&dyn SharedAccount> {
        match &self.0.as_ref()?.account {
            Account::Local(_) => None,
            Account::Shared(account) => Some(&**account),
        }
    }
}

impl Default for RetryBudget {
    fn default() -> Self {
        Self::local(BudgetTerms::DEFAULT)
    }
}

impl BudgetInner {
    fn price(&self, plan: &RetryPlan, now: Duration) -> u64 {
        match &self.account {
            // A budget without deposits counts every retry. So does that of a fleet, since each of its processes would
            // spare calls of its own. A timeout is no short failure: the server may hang.
            Account::Local(account)
                if self.terms.per_success > 0
                    && plan.cost == Cost::Retry
                    && account.spares(&self.terms, plan, now) =>
            {
                0
            }
            _ => self.terms.price(plan.cost),
        }
    }

    fn withdraw(&self, price: u64, now: Duration) -> bool {
        match &self.account {
            Account::Local(account) => {
                let mut settled = account.settled(&self.terms, Some(now));
                settled.withdraw(price)
            }
            Account::Shared(account) => account.withdraw(price, now),
        }
    }

    /// Returns the tokens and the capacity, at `now` or as of the last use.
    fn balance(&self, now: Option<Duration>) -> (u64, u64) {
        match &self.account {
            Account::Local(account) => {
                let settled = account.settled(&self.terms, now);
                (settled.tokens(), settled.capacity())
            }
            Account::Shared(account) => {
                if let Some(now) = now {
                    account.settle(now);
                }
                (account.tokens(), account.capacity())
            }
        }
    }
}

impl LocalAccount {
    fn new(terms: &BudgetTerms) -> Self {
        Self {
            successes: Successes(AtomicU64::new(0)),
            bucket: Mutex::new(Bucket::new(terms)),
            trouble: AtomicU64::new(0),
        }
    }

    #[inline]
    fn deposit(&self, terms: &BudgetTerms, now: Duration) {
        let before = self.successes.0.fetch_add(1, Ordering::Relaxed);
        if before % BATCH == 0 {
            // A success never waits for the lock: the next call that takes it counts this batch too.
            if let Ok(mut bucket) = self.bucket.try_lock() {
                self.settle(terms, &mut bucket, Some(now));
            }
        }
    }

    /// Returns `true` if a planned retry has no price. If the budget is full, trouble begins only now.
    fn spares(&self, terms: &BudgetTerms, plan: &RetryPlan, now: Duration) -> bool {
        let settled = self.settled(terms, Some(now));
        let is_full = settled.tokens() >= settled.capacity();
        drop(settled);
        if is_full {
            let now = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
            self.trouble.store(now, Ordering::Relaxed);
            return false;
        }
        plan.retry() <= SPARED_RETRIES && plan.started < self.trouble.load(Ordering::Relaxed)
    }

    fn lock(&self) -> MutexGuard<'_, Bucket> {
        // A panic cannot leave a bucket half updated: its arithmetic does not panic.
        self.bucket.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settled(&self, terms: &BudgetTerms, now: Option<Duration>) -> MutexGuard<'_, Bucket> {
        let mut bucket = self.lock();
        self.settle(terms, &mut bucket, now);
        bucket
    }

    fn settle(&self, terms: &BudgetTerms, bucket: &mut Bucket, now: Option<Duration>) {
        // Loaded with the lock held, so never less than what the last holder has counted; relaxed, since a success that
        // is not visible yet is counted next time. The difference is right even if the counter wraps.
        let successes = self.successes.0.load(Ordering::Relaxed);
        let new = successes.wrapping_sub(bucket.counted);
        bucket.counted = successes;
        match now {
            Some(now) => bucket.settle(terms, new, now),
            None => bucket.advance(terms, new, 0),
        }
    }
}

impl fmt::Debug for RetryBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("RetryBudget");
        match self.as_used_last() {
            Some((tokens, capacity)) => {
                fields.field("tokens", &format_args!("{tokens}"));
                fields.field("capacity", &format_args!("{capacity}"));
            }
            None => {
                fields.field("tokens", &"unlimited");
            }
        }
        fields.finish()
    }
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local(account) => account.fmt(f),
            Self::Shared(_) => f.write_str("SharedAccount"),
        }
    }
}

/// A retry that a budget has granted: count it by [`RetrySession::apply`], wait for [`PaidRetry::delay`], then
/// [`PaidRetry::commit`] and send.
///
/// Dropping it without a commit puts its tokens back, up to the capacity: a call that is cancelled while it waits costs
/// nothing. In a fleet they stay with this process, for its next retry.
///
/// [`RetryBudget`] shows it in use.
#[derive(Debug)]
#[must_use]
pub struct PaidRetry {
    taken: TakenTokens,
    plan: RetryPlan,
}

impl PaidRetry {
    fn new(budget: RetryBudget, price: u64, plan: RetryPlan) -> Self {
        Self {
            taken: TakenTokens::new(budget, price),
            plan,
        }
    }

    /// Returns the delay before the retry, from the moment passed to [`RetrySession::plan`]; send it at once if it is
    /// zero.
    #[must_use]
    pub fn delay(&self) -> Duration {
        self.plan.delay
    }

    /// Returns the number of the retry within its call: 1, 2, and so on. Retries that were planned but never applied do
    /// not count.
    #[must_use]
    pub fn retry(&self) -> u32 {
        self.plan.retry()
    }

    /// Returns the paid plan.
    pub(crate) fn plan(&self) -> &RetryPlan {
        &self.plan
    }

    /// Returns the source of the delay: the policy (its backoff or a rule), the server, or the gate.
    #[must_use]
    pub fn source(&self) -> DelaySource {
        self.plan.source
    }

    /// Spends the tokens; call it right before the retry is sent. A success of the retry does not give them back; count
    /// it by [`RetryBudget::deposit`] like any other.
    pub fn commit(self) {
        self.taken.spend();
    }
}

impl RetrySession {
    /// Counts a retry that a budget has granted; a retry that is not applied does not count. Applied twice, it counts
    /// once.
    ///
    /// Apply the last paid plan of this session.
    pub fn apply(&mut self, paid: &PaidRetry) {
        self.count(&paid.plan);
    }
}

#[cfg(test)]
mod tests;
