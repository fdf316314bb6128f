//! The door for whoever shares budgets and gates with other processes.

use crate::budget::ServiceBudgets;
use crate::gate::Gate;
use crate::report::Observer;
use crate::runtime::Runtime;
use std::sync::Arc;

/// The budgets and gates that several processes share, such as those of a fleet on Redis.
///
/// The adapters take it by their setting `fleet`, and a gate by [`Gate::shared`]. Budgets are shared by a
/// [`SharedAccount`](crate::budget::SharedAccount), gates by a [`Peer`](crate::gate::Peer).
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
    /// Returns the budgets of the services that have none by hand: the same ones each time.
    fn budgets(&self) -> ServiceBudgets;

    /// Returns the gate of the adapters that have none by hand: the same one each time.
    fn gate(&self) -> Gate;

    /// Shares each key of a gate that was set up by hand with the other processes.
    fn share(&self, gate: Gate) -> Gate;

    /// An adapter with this runtime and these observers takes its budgets or its gate from here. Called after each change of
    /// its settings, so often more than once. Default: nothing.
    fn joined_by(&self, runtime: &Arc<dyn Runtime>, observers: &Arc<[Arc<dyn Observer>]>) {
        let _ = (runtime, observers);
    }
}

impl Gate {
    /// Shares each gate of this handle with other processes, such as those of a fleet: refusals of all
    /// processes are one vote, which closes it in all, and each takes its share of a quota. Call it before you clone the
    /// handle, and give all processes the same settings.
    ///
    /// In a fleet no call waits for the store; while it is away, each process has a gate of its own. A text of
    /// [`Gate::key_by`] and a credential reach the store as a hash alone.
    #[must_use]
    pub fn shared(self, with: &impl SharedServices) -> Self {
        with.share(self)
    }
}
