//! The interface for sharing budgets and gates with other processes.

use crate::budget::ServiceBudgets;
use crate::gate::Gate;
use crate::report::Observer;
use crate::runtime::Runtime;
use std::sync::Arc;

/// Budgets and gates that several processes share, such as those of a fleet on Redis.
///
/// Adapters take it in their setting `fleet`, and gates in [`Gate::shared`]. Budgets are shared through a
/// [`SharedAccount`](crate::budget::SharedAccount), gates through a [`Peer`](crate::gate::Peer).
///
/// ```
/// use http_retry::gate::Gate;
/// use http_retry::services::SharedServices;
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
