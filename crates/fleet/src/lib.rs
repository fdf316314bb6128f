//! Fleets: one budget and one gate for all processes that call the same services, on Redis or Valkey.
//!
//! Without a fleet, each process of a program has 20 retry tokens and its own gate, so a thousand processes hold 20,000
//! tokens, and none knows of the others' refusals. In a fleet they share one budget and one gate for each service.
//!
//! ```
//! use http_retry::fleet::Fleet;
//!
//! let fleet = Fleet::redis("redis://cache:6379")?;
//! # Ok::<(), http_retry::ConfigError>(())
//! ```
//!
//! The store is Redis 6.2 or later, or Valkey 7.2 or later. A user with these rights is enough, if the prefix is
//! `http-retry`:
//!
//! ```text
//! ~http-retry:* resetchannels &http-retry:* -@all +evalsha +script|load +hmget +hset +get +set +pexpire +time +publish +subscribe +ping +hello
//! ```
//!
//! No key, value or channel contains anything of a request but the name of its service, or its host and port.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    target_family = "wasm",
    allow(
        dead_code,
        reason = "no message is written for a store that cannot be reached"
    )
)]

mod budget;
mod builder;
mod clock;
mod gate;
#[cfg(any(test, feature = "testing"))]
mod memory;
mod names;
mod observers;
#[cfg_attr(target_family = "wasm", path = "no_redis.rs")]
mod redis;
mod schedule;
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

use http_retry_core::ConfigError;
use http_retry_core::budget::{RetryBudget, RetryBudgetBuilder, ServiceBudgets};
use http_retry_core::gate::Gate;
use http_retry_core::report::Observer;
use http_retry_core::runtime::Runtime;
use http_retry_core::sharing::{BudgetTerms, GateExt, SharedServices};
use shared::Shared;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// One budget and one gate for each service, shared by all processes whose fleets have the same store and prefix.
/// Clones are the same fleet.
///
/// It never fails a request, nor delays one by more than [`wait`](FleetBuilder::wait): a process that cannot reach the
/// store continues with a share of its own. No first attempt waits for the store, not even at the gate.
///
/// Pass it to `RetryLayer::fleet`, `RetryMiddleware::fleet` or `Runner::fleet`, which then take their budgets and their
/// gate from it, unless they are set explicitly:
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
/// A budget that is made outside a tokio runtime connects with the first retry inside one. Adapters that share a fleet
/// need runtimes with the same epoch; the fleet uses the clock of the adapter that was set up last.
#[derive(Clone)]
pub struct Fleet {
    shared: Arc<Shared>,
    /// The budgets of services without an explicit one.
    budgets: ServiceBudgets,
    /// The gate of adapters without an explicit one.
    gate: Arc<OnceLock<Gate>>,
}

impl Fleet {
    /// Creates a fleet on the server at this URL, such as `redis://cache:6379` or `redis://user:password@cache:6379/0`,
    /// with the default settings. For `rediss://` turn on a TLS feature of the crate `redis`.
    ///
    /// It only parses the URL. The connection is made in the background, once a budget or a gate has something to
    /// report, and again after each failure: after about 250 ms, then after twice as long each time, up to about 5 s.
    ///
    /// # Errors
    ///
    /// A [`ConfigError`] of the field `fleet.redis` if the URL is not that of a single server: it is invalid, needs a
    /// TLS feature that is off, or is that of sentinels or a cluster. It does not repeat the URL, which may hold a
    /// password.
    pub fn redis(url: &str) -> Result<Self, ConfigError> {
        Self::builder().redis(url)
    }

    /// Creates a fleet on the server that this client connects to, for TLS, credentials or a Unix socket that are
    /// already set up. The fleet opens its own connection, with the default settings: behind other commands it could
    /// not bound its waits. For other settings see [`FleetBuilder::redis_client`].
    #[cfg(not(target_family = "wasm"))]
    #[must_use]
    pub fn redis_client(client: ::redis::Client) -> Self {
        Self::builder().on_redis(redis::RedisStore::of(client))
    }

    /// Returns a builder with the default settings: the prefix `http-retry`, and a wait of 50 ms.
    pub fn builder() -> FleetBuilder {
        FleetBuilder::default()
    }

    /// Creates the fleet's budget for a service with non-default numbers, which apply to the whole fleet. Pass it to
    /// the adapters that call the service, and use the same numbers in all processes.
    ///
    /// Every call makes another handle that counts as a process of its own, so call it once for each service. Other
    /// processes know the budget by the service's name alone.
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
    /// A [`ConfigError`] that names the first invalid field of the builder.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a builder is used up by what it builds"
    )]
    pub fn budget(
        &self,
        service: &str,
        budget: RetryBudgetBuilder,
    ) -> Result<RetryBudget, ConfigError> {
        let budget = join(&self.shared, service, budget.terms()?);
        Ok(budget.named(service))
    }

    /// Returns the status of this process in the fleet, for a health page. It sends nothing, and returns the last known
    /// state. Each change is also an event, [`FleetLeft`] or [`FleetJoined`].
    ///
    /// [`FleetLeft`]: http_retry_core::report::RetryEventKind::FleetLeft
    /// [`FleetJoined`]: http_retry_core::report::RetryEventKind::FleetJoined
    #[must_use]
    pub fn status(&self) -> FleetStatus {
        self.shared.status()
    }

    /// Reports the last deposits and withdrawals to the store, for programs that end, and waits for that, at most
    /// [`wait`](FleetBuilder::wait). If a program ends without it, they are lost, which is safe: the other processes
    /// have fewer tokens.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the store may or may not have the report. The fleet stays usable.
    pub async fn close(&self) {
        self.shared.flush().await;
    }

    fn new(shared: Shared) -> Self {
        let shared = Arc::new(shared);
        let for_budgets = Arc::clone(&shared);
        let budgets = ServiceBudgets::made_by(move |service| {
            // The default numbers are within their own bounds.
            let terms = RetryBudget::builder().terms();
            terms.map_or_else(
                |_| RetryBudget::default(),
                |terms| join(&for_budgets, service, terms),
            )
        });
        Self {
            shared,
            budgets,
            gate: Arc::default(),
        }
    }
}

impl SharedServices for Fleet {
    fn budgets(&self) -> ServiceBudgets {
        self.budgets.clone()
    }

    fn gate(&self) -> Gate {
        let new = || self.share(Gate::new());
        self.gate.get_or_init(new).clone()
    }

    fn share(&self, gate: Gate) -> Gate {
        let shared = Arc::clone(&self.shared);
        gate.with_peers(move |name, part, gate| gate::join(&shared, name, part, gate))
    }

    fn joined_by(&self, runtime: &Arc<dyn Runtime>, observers: &Arc<[Arc<dyn Observer>]>) {
        self.shared.set_runtime(runtime);
        self.shared.observers.add(observers);
    }
}

/// Makes a budget that counts as one process of the service.
fn join(shared: &Arc<Shared>, service: &str, terms: BudgetTerms) -> RetryBudget {
    let id = process_id(&*shared.runtime());
    budget::join(shared, service, terms, id)
}

/// Returns 64 random bits, which identify the process.
fn process_id(runtime: &dyn Runtime) -> u64 {
    let bits = runtime.key_entropy();
    u64::try_from(bits & u128::from(u64::MAX)).unwrap_or_default()
}

/// Shows the address of the server, the prefix and the longest wait.
impl fmt::Display for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shared {
            address,
            prefix,
            wait,
            ..
        } = &*self.shared;
        write!(f, "store {address}, prefix {prefix}, wait {wait:?}")
    }
}

/// Shows the address of the server, and neither the user name nor the password.
impl fmt::Debug for Fleet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fleet")
            .field("store", &self.shared.address)
            .field("prefix", &self.shared.prefix)
            .field("wait", &self.shared.wait)
            .finish_non_exhaustive()
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
