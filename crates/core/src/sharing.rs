//! Building blocks for stores that share budgets and gates among processes.
//!
//! [`SharedServices`] gives the budgets and gates, a [`SharedAccount`] keeps the tokens of a budget, and a [`Peer`]
//! shares one key of a gate: [`GateExt::with_peers`] creates it for each key at its first call. The gate reports the ends
//! of its calls to the peer, which uses a [`KeyGate`] to close or open the gate on behalf of other processes. A store that
//! counts refusals across processes closes by the rules of [`vote`]. The other methods of [`GateExt`] and [`BudgetExt`]
//! drive a gate and a budget without a client. `http-retry-fleet` is built on this module.

pub use crate::budget::bucket::BudgetTerms;
pub use crate::budget::ext::BudgetExt;
pub use crate::budget::payment::PaymentResult;
pub use crate::gate::ext::GateExt;
pub use crate::gate::key::KeyGate;
pub use crate::gate::map::Permit;
pub use crate::gate::state::{CallEnd, CallKind, GateRequest, Passed};

use crate::budget::ServiceBudgets;
use crate::gate::Gate;
use crate::report::Observer;
use crate::runtime::Runtime;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// Budgets and gates that several processes share, such as those of a fleet on Redis.
///
/// Adapters take it in their setting `fleet`, and gates in [`Gate::shared`]. Budgets are shared through a
/// [`SharedAccount`], gates through a [`Peer`].
///
/// ```
/// use http_retry::gate::Gate;
/// use http_retry_core::sharing::SharedServices;
/// use http_retry::tower::RetryLayer;
/// use http_retry::{RetryBudget, RetryPolicy, ServiceBudgets};
///
/// /// One budget per service and one gate per host for all clients of this process.
/// #[derive(Clone)]
/// struct Together(ServiceBudgets, Gate);
///
/// impl SharedServices for Together {
///     fn budgets(&self) -> ServiceBudgets {
///         self.0.clone()
///     }
///     fn gate(&self) -> Gate {
///         self.1.clone()
///     }
///     fn share(&self, gate: Gate) -> Gate {
///         gate
///     }
/// }
///
/// let budgets = ServiceBudgets::made_by(|_| RetryBudget::default());
/// let together = Together(budgets, Gate::new());
/// let layer = RetryLayer::new(RetryPolicy::background()).fleet(&together);
/// ```
pub trait SharedServices: Send + Sync + 'static {
    /// Returns the budgets of services without an explicit budget: the same ones each time.
    fn budgets(&self) -> ServiceBudgets;

    /// Returns the gate of adapters without an explicit gate: the same one each time.
    fn gate(&self) -> Gate;

    /// Shares each key of an explicit gate with the other processes.
    fn share(&self, gate: Gate) -> Gate;

    /// Called when an adapter with this runtime and these observers takes its budgets or its gate from here. It is
    /// called after each change of the adapter's settings, so often more than once. Default: does nothing.
    fn joined_by(&self, runtime: &Arc<dyn Runtime>, observers: &Arc<[Arc<dyn Observer>]>) {
        let _ = (runtime, observers);
    }
}

impl Gate {
    /// Shares each gate of this handle with other processes, such as those of a fleet: refusals of all processes count
    /// as one vote, which closes the gate in all of them, and each uses its share of a quota. Call it before you clone
    /// the handle, and give all processes the same settings.
    ///
    /// In a fleet no call waits for the store; while the store is unavailable, each process uses a gate of its own. The
    /// text of [`Gate::key_by`] and credentials reach the store only as hashes.
    #[must_use]
    pub fn shared(self, with: &impl SharedServices) -> Self {
        with.share(self)
    }
}

/// The tokens of a budget that does not belong to this process alone: in a store, in shared memory, or in another
/// budget.
///
/// Pass it to [`BudgetExt::with_account`]. Amounts are in millionths of a token, and times are those of
/// [`Runtime::now`]. All methods may be called from many threads at once and must return soon: a round trip belongs into
/// the future of [`ask`](Self::ask).
///
/// ```
/// use http_retry::RetryBudget;
/// use http_retry_core::sharing::{BudgetExt, SharedAccount};
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

/// The receiver of a gate's reports, which shares one of its keys with other processes.
///
/// All methods but [`wake`](Self::wake) are called with the key's lock held: they must return soon, and must not use
/// the key's [`KeyGate`]. The peer is dropped once another key takes its key's slot, or the gate is gone.
///
/// ```
/// use http_retry::gate::Gate;
/// use http_retry_core::sharing::{GateExt, KeyGate, Peer};
/// use http_retry::policy::Moment;
/// use std::sync::{Arc, Mutex};
/// use std::time::Duration;
///
/// /// Closes the gate of every host when one of them closes.
/// #[derive(Clone, Default)]
/// struct Together(Arc<Mutex<(Vec<KeyGate>, Option<Duration>)>>);
///
/// impl Peer for Together {
///     fn succeeded(&self, _: u64, _: bool) {}
///     fn refused(&self, asked: Option<Duration>, closed: bool) {
///         if closed {
///             self.0.lock().unwrap().1 = asked.or(Some(Duration::from_secs(1)));
///         }
///     }
///     fn reopened(&self) {}
///     fn wake(&self) {
///         let Some(pause) = self.0.lock().unwrap().1.take() else { return };
///         let all = self.0.lock().unwrap().0.clone();
///         for gate in all {
///             gate.close(Moment::default(), pause, false); // the time is that of your runtime
///         }
///     }
/// }
///
/// let together = Together::default();
/// let gate = Gate::new().with_peers(move |_, _, gate| {
///     together.0.lock().unwrap().0.push(gate);
///     Arc::new(together.clone())
/// });
/// ```
pub trait Peer: Send + Sync + 'static {
    /// Reports calls that have succeeded. `since_refusal` is `true` if they were sent after the first refused call of a
    /// run that has not ended, so that they count against it.
    fn succeeded(&self, calls: u64, since_refusal: bool);

    /// Reports a refusal that counts as a vote to close the gate, with the pause that it asked for, if any. `closed` is
    /// `true` if it closes the gate.
    fn refused(&self, asked: Option<Duration>, closed: bool);

    /// Reports that successes of this process have opened the gate before its pause was over.
    fn reopened(&self);

    /// Called without a lock after each of the others, and after every other change of the gate's state. This is the
    /// time to wake a task that has something to send.
    fn wake(&self);
}

/// The rules by which refusals close a gate, for a store that counts them across processes.
pub mod vote {
    pub use crate::gate::vote::*;
}
