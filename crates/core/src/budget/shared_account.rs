//! The door for budgets whose tokens are kept elsewhere.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// The tokens of a budget that are not this process's alone: in a store, in shared memory, or in another budget.
///
/// Give it to [`RetryBudget::with_account`](crate::RetryBudget::with_account). Amounts are in millionths of a token, and times are those of
/// [`Runtime::now`](crate::runtime::Runtime::now). All methods may be called from many threads at once and must return
/// soon: what takes a round trip belongs into the future of [`ask`](Self::ask).
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
    /// Counts one success. Every request that succeeds calls it, so it should take no lock.
    fn deposit(&self, now: Duration);

    /// Takes the price and returns `true` if there are enough tokens, else takes nothing. Asks nobody: it decides by what
    /// this process knows and may spend.
    fn withdraw(&self, price: u64, now: Duration) -> bool;

    /// Puts back a price that was paid for a retry which was not sent.
    fn refund(&self, price: u64);

    /// Returns the tokens, as far as this process knows.
    fn tokens(&self) -> u64;

    /// Returns the most that [`tokens`](Self::tokens) can be.
    fn capacity(&self) -> u64;

    /// Counts the time until `now`. Called before the tokens or the capacity are read for somebody who names a time.
    /// Default: nothing.
    fn settle(&self, now: Duration) {
        let _ = now;
    }

    /// Asks for the price of a retry that can wait for an answer. Default: [`withdraw`](Self::withdraw).
    fn ask(&self, price: u64, now: Duration) -> AccountReply {
        if self.withdraw(price, now) {
            AccountReply::Paid
        } else {
            AccountReply::Refused
        }
    }

    /// Returns the longest time that a retry waits for its [`Payment`]. Then the payment is dropped, and
    /// [`withdraw`](Self::withdraw) decides. Default: zero.
    fn wait(&self) -> Duration {
        Duration::ZERO
    }
}

/// The answer of [`SharedAccount::ask`].
#[non_exhaustive]
pub enum AccountReply {
    /// The price is paid.
    Paid,
    /// There are too few tokens.
    Refused,
    /// Somebody else decides.
    Pending(Payment),
}

/// The price of a retry that somebody else decides about: `true` if it is paid.
///
/// # Cancel safety
///
/// Dropped, it asks no longer, and an answer that comes all the same must lose no tokens: nobody returns them by
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
