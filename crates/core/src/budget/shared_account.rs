//! The interface for budgets whose tokens are kept elsewhere.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// The tokens of a budget that does not belong to this process alone: in a store, in shared memory, or in another
/// budget.
///
/// Pass it to [`RetryBudget::with_account`](crate::RetryBudget::with_account). Amounts are in millionths of a token,
/// and times are those of [`Runtime::now`](crate::runtime::Runtime::now). All methods may be called from many threads
/// at once and must return soon: a round trip belongs into the future of [`ask`](Self::ask).
///
/// ```
/// use http_retry::RetryBudget;
/// use http_retry::budget::SharedAccount;
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
/// use std::time::Duration;
///
/// /// A fixed number of tokens, which nothing refills.
/// struct Purse(AtomicU64);
///
/// impl SharedAccount for Purse {
///     fn deposit(&self, _: Duration) {}
///     fn withdraw(&self, price: u64, _: Duration) -> bool {
///         let less = |tokens: u64| tokens.checked_sub(price);
///         self.0.fetch_update(Relaxed, Relaxed, less).is_ok()
///     }
///     fn refund(&self, price: u64) {
///         self.0.fetch_add(price, Relaxed);
///     }
///     fn tokens(&self) -> u64 {
///         self.0.load(Relaxed)
///     }
///     fn capacity(&self) -> u64 {
///         u64::MAX
///     }
/// }
///
/// let terms = RetryBudget::builder().retry_cost(2).terms()?;
/// let budget = RetryBudget::with_account(terms, Purse(AtomicU64::new(7_000_000)));
/// assert_eq!(budget.available(Duration::ZERO), 3);
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
pub trait SharedAccount: Send + Sync + 'static {
    /// Counts one success. Every request that succeeds calls it, so it should not take a lock.
    fn deposit(&self, now: Duration);

    /// Withdraws the price and returns `true` if there are enough tokens, else withdraws nothing. It must decide
    /// locally, by the tokens that this process knows of and may spend.
    fn withdraw(&self, price: u64, now: Duration) -> bool;

    /// Returns a price that was paid for a retry that was not sent.
    fn refund(&self, price: u64);

    /// Returns the tokens that this process knows of.
    fn tokens(&self) -> u64;

    /// Returns the most that [`tokens`](Self::tokens) can be.
    fn capacity(&self) -> u64;

    /// Counts the time until `now`. Called before the tokens or the capacity are read for a given time. Default: does
    /// nothing.
    fn settle(&self, now: Duration) {
        let _ = now;
    }

    /// Pays for a retry that can wait for a reply. Default: [`withdraw`](Self::withdraw).
    fn ask(&self, price: u64, now: Duration) -> AccountReply {
        if self.withdraw(price, now) {
            AccountReply::Paid
        } else {
            AccountReply::Refused
        }
    }

    /// Returns the longest time that a retry waits for its [`Payment`]. After that the payment is dropped, and
    /// [`withdraw`](Self::withdraw) decides. Default: zero.
    fn wait(&self) -> Duration {
        Duration::ZERO
    }
}

/// The reply of [`SharedAccount::ask`].
#[non_exhaustive]
pub enum AccountReply {
    /// The price is paid.
    Paid,
    /// There are too few tokens.
    Refused,
    /// The decision is made elsewhere.
    Pending(Payment),
}

/// The pending payment for a retry: `true` if the price is paid.
///
/// # Cancel safety
///
/// Dropping it cancels the request. A reply that arrives anyway must not lose tokens, since nobody returns them with
/// [`SharedAccount::refund`].
pub type Payment = Pin<Box<dyn Future<Output = bool> + Send>>;

impl fmt::Debug for AccountReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Paid => "Paid",
            Self::Refused => "Refused",
            Self::Pending(_) => "Pending",
        })
    }
}
