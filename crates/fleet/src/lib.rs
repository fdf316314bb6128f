//! A fleet: one budget and one gate for all processes that call the same services, on Redis or Valkey.
//!
//! Each process of a program has 20 retry tokens and a gate of its own, so that a thousand of them hold 20,000 tokens and
//! no one knows what another was refused. In a fleet they share one budget and one gate for each service.
//!
//! ```
//! use http_retry::fleet::Fleet;
//!
//! let fleet = Fleet::redis("redis://cache:6379")?;
//! # Ok::<(), http_retry::ConfigError>(())
//! ```
//!
//! The store is Redis 6.2 or later, or Valkey 7.2 or later. A user of it with these rights is enough, where the prefix
//! is `http-retry`:
//!
//! ```text
//! ~http-retry:* resetchannels &http-retry:* -@all +evalsha +script|load +hmget +hset +get +set +pexpire +time +publish +subscribe +ping +hello
//! ```
//!
//! No key, value or channel holds anything of a request but its service's name, or its host and port.

mod budget;
mod builder;
mod clock;
mod gate;
#[cfg(any(test, feature = "testing"))]
mod memory;
mod names;
mod observers;
mod random;
mod redis;
mod resubscription;
mod shared;
mod status;
mod store;
mod sync;
mod task;
#[cfg(test)]
mod tests;

pub use builder::FleetBuilder;
#[cfg(any(test, feature = "testing"))]
pub use memory::MemoryStore;
pub use status::FleetStatus;

use self::redis::RedisStore;
use http_retry_core::ConfigError;
use http_retry_core::budget::{BudgetTerms, RetryBudget, RetryBudgetBuilder, ServiceBudgets};
use http_retry_core::gate::Gate;
use http_retry_core::report::Observer;
use http_retry_core::runtime::Runtime;
use http_retry_core::services::SharedServices;
use shared::Shared;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// One budget and one gate for each service, shared by all processes whose fleets have the same store and prefix; clones
/// are the same fleet.
///
/// Nothing of it can fail a request or hold it up for more than [`wait`](FleetBuilder::wait): a process that cannot reach
/// the store goes on with a share of its own. A first attempt waits for the store only for its turn at the gate.
///
/// Give it to `RetryLayer::fleet`, `RetryMiddleware::fleet` or `Runner::fleet`, which then take their budgets and their
/// gate from it, where none is given by hand:
///
/// ```
/// use http_retry::fleet::Fleet;
/// use http_retry::{RetryPolicy, tower::RetryLayer};
///
/// let fleet = Fleet::redis("redis://cache:6379")?; // connects in the background
/// let layer = RetryLayer::new(RetryPolicy::background()).fleet(&fleet);
/// assert!(!fleet.status().joined, "the store has not answered yet");
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
///
/// A budget of it that is made outside a tokio runtime connects with the first retry that asks inside one. Adapters that
/// share a fleet need runtimes with the same epoch; the last of them that was set up gives the fleet its clock.
#[derive(Clone)]
pub struct Fleet(Arc<FleetInner>);

/// The state that all clones of a fleet share.
struct FleetInner {
    shared: Arc<Shared>,
    /// The budgets of the services that have none by hand.
    budgets: ServiceBudgets,
    /// The gate of the adapters that have none by hand.
    gate: OnceLock<Gate>,
    /// The address of the store.
    store: String,
}

impl Fleet {
    /// A fleet on the server at this URL, such as `redis://cache:6379` or `redis://user:password@cache:6379/0`, with the
    /// default settings. For `rediss://` turn on a TLS feature of the crate `redis`.
    ///
    /// It only reads the URL. The connection is made in the background, once a budget or a gate has something to say, and
    /// again after each failure: after about 250 ms, then after twice as long each time, up to about 5 s.
    ///
    /// # Errors
    ///
    /// A [`ConfigError`] of the field `fleet.redis` if the URL is none of a server: it cannot be read, needs a TLS feature
    /// that is off, or is that of sentinels or a cluster. It does not repeat the URL, which may hold a password.
    pub fn redis(url: &str) -> Result<Self, ConfigError> {
        Self::builder().redis(url)
    }

    /// A fleet on the server that this client connects to, for TLS, credentials or a Unix socket that are set up
    /// already. The fleet makes a connection of its own, with the default settings: behind others' commands no bound on a
    /// wait would hold. For other settings see [`FleetBuilder::redis_client`].
    #[must_use]
    pub fn redis_client(client: ::redis::Client) -> Self {
        Self::builder().on_redis(RedisStore::of(client))
    }

    /// A builder that starts from the default settings: the prefix `http-retry`, and a wait of 50 ms.
    pub fn builder() -> FleetBuilder {
        FleetBuilder::default()
    }

    /// The fleet's budget of a service, with other numbers than the default; they mean the whole fleet. Give it to the
    /// adapters that call the service, and to all processes the same numbers.
    ///
    /// Every call makes another handle that counts as a process of its own, so call it once for each service. A budget is
    /// known to the other processes by the service's name alone.
    ///
    /// ```
    /// use http_retry::RetryBudget;
    /// use http_retry::fleet::Fleet;
    ///
    /// let fleet = Fleet::redis("redis://cache:6379")?;
    /// let orders = fleet.budget("orders", RetryBudget::builder().capacity(50))?; // 50 for all processes together
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A [`ConfigError`] that names the first field of the builder that cannot work.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a builder is used up by what it builds"
    )]
    pub fn budget(
        &self,
        service: &str,
        budget: RetryBudgetBuilder,
    ) -> Result<RetryBudget, ConfigError> {
        Ok(join(&self.0.shared, service, budget.terms()?))
    }

    /// Returns the status of this process in the fleet, for a health page, as last known: it does not ask the store.
    /// Each change is an event too, [`FleetLeft`] and [`FleetJoined`].
    ///
    /// [`FleetLeft`]: http_retry_core::report::RetryEventKind::FleetLeft
    /// [`FleetJoined`]: http_retry_core::report::RetryEventKind::FleetJoined
    #[must_use]
    pub fn status(&self) -> FleetStatus {
        self.0.shared.status()
    }

    /// Tells the store what was earned and spent last, for programs that end: waits until it has, at most
    /// [`wait`](FleetBuilder::wait). A program that ends without it loses that, which is safe: the others have fewer
    /// tokens.
    ///
    /// # Cancel safety
    ///
    /// Dropped, the store may or may not hear of it. The fleet can be used on.
    pub async fn close(&self) {
        self.0.shared.flush().await;
    }

    fn new(shared: Shared, store: String) -> Self {
        let shared = Arc::new(shared);
        let of_budgets = Arc::clone(&shared);
        let budgets = ServiceBudgets::made_by(move |service| {
            // The default numbers are within their own bounds.
            let terms = RetryBudget::builder().terms();
            terms.map_or_else(
                |_| RetryBudget::default(),
                |terms| join(&of_budgets, service, terms),
            )
        });
        Self(Arc::new(FleetInner {
            shared,
            budgets,
            gate: OnceLock::new(),
            store,
        }))
    }
}

impl SharedServices for Fleet {
    fn budgets(&self) -> ServiceBudgets {
        self.0.budgets.clone()
    }

    fn gate(&self) -> Gate {
        let new = || self.share(Gate::new());
        self.0.gate.get_or_init(new).clone()
    }

    fn share(&self, gate: Gate) -> Gate {
        let shared = Arc::clone(&self.0.shared);
        gate.with_peers(move |key| gate::join(&shared, key))
    }

    fn joined_by(&self, runtime: &Arc<dyn Runtime>, observers: &Arc<[Arc<dyn Observer>]>) {
        self.0.shared.set_runtime(runtime);
        self.0.shared.observers.add(observers);
    }
}

/// Makes a budget that counts as one process of the service.
fn join(shared: &Arc<Shared>, service: &str, terms: BudgetTerms) -> RetryBudget {
    let id = process_id(&*shared.runtime());
    budget::join(shared, service, terms, id)
}

/// 64 bits that no other process has.
fn process_id(runtime: &dyn Runtime) -> u64 {
    let bits = runtime.key_entropy();
    u64::try_from(bits & u128::from(u64::MAX)).unwrap_or_default()
}

/// The server's address, the prefix and the longest wait.
impl fmt::Display for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared { prefix, wait, .. } = &*self.0.shared;
        let store = &self.0.store;
        write!(f, "store {store}, prefix {prefix}, wait {wait:?}")
    }
}

/// Shows where the server is, and neither the user name nor the password.
impl fmt::Debug for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fleet")
            .field("store", &self.0.store)
            .field("prefix", &self.0.shared.prefix)
            .field("wait", &self.0.shared.wait)
            .finish_non_exhaustive()
    }
}
