//! Routes: the policy, budgets and failover services of a request, and the [`Router`] that selects them.

pub(crate) mod failover;
pub(crate) mod host_map;
pub(crate) mod shared_map;

pub use crate::request_head::RequestHead;
pub(crate) use crate::sharing::SharedServices;
pub use failover::Destination;
pub(crate) use failover::Rebase;

use crate::budget::ext::BudgetExt;
use crate::budget::services::Budgets;
use crate::budget::{PaymentResult, RetryBudget, ServiceBudgets};
use crate::exchange::retry::FailoverSteps;
pub(crate) use crate::normal_form::public_authority;
use crate::policy::ext::PolicyExt;
use crate::policy::outcome::ext::OutcomeExt;
use crate::policy::{
    Class, Moment, Outcome, Quota, RequestOverrides, RetryOverride, RetryPlan, RetryPolicy,
    Verdict, is_standard_success,
};
use crate::report::DeadLetters;
use http::{StatusCode, Uri};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A few items by name.
type ByName<T> = Arc<[(Arc<str>, T)]>;

/// The policy of a request, the budget that pays for its retries, and the name of its service.
///
/// Clones share the budget.
#[derive(Clone)]
pub struct Route {
    pub(crate) policy: RetryPolicy,
    pub(crate) budgets: Budgets,
    /// `true` if the budget was set explicitly, so that the layer's does not replace it.
    pub(crate) names_budget: bool,
    /// `true` if it shares nothing with other processes, even if its layer is in a fleet.
    pub alone: bool,
    /// The service's name, if it has one.
    pub service: Option<Arc<str>>,
    pub(crate) overrides: RequestOverrides,
    /// The budgets named by the policy's rules.
    pub(crate) named_budgets: ByName<RetryBudget>,
    /// The services named by the policy's failovers.
    pub(crate) destinations: ByName<Destination>,
    /// The steps to them; `None` without one, so that a program that names none is spared the code.
    pub(crate) failover: Option<FailoverSteps>,
    /// The observer named by the policy's `dead_letter`.
    pub(crate) dead_letters: ByName<Arc<dyn DeadLetters>>,
    /// The base URL of the service, if known.
    pub(crate) base: Option<Uri>,
    /// `true` if the request's head may be needed after the request itself is gone.
    pub(crate) keeps_head: bool,
}

/// A source of routes, for code that knows the services of a program.
///
/// `services::Services` and `config::RetryConfig` are routers. `RetryLayer::routed`,
/// `RetryMiddleware::routed` and `Runner::routed` accept any router.
///
/// ```
/// use http_retry::RetryPolicy;
/// use http_retry::route::{RequestHead, Route, Router};
/// use http_retry::tower::RetryLayer;
/// use std::sync::Arc;
///
/// /// Exports are slow, and nobody waits for them.
/// struct Exports {
///     exports: Arc<Route>,
///     rest: Arc<Route>,
/// }
///
/// impl Router for Exports {
///     fn route(&self, head: &RequestHead<'_>, _: Option<&str>) -> Arc<Route> {
///         let is_export = head.path().starts_with("/export/");
///         Arc::clone(if is_export { &self.exports } else { &self.rest })
///     }
/// }
///
/// let layer = RetryLayer::routed(Exports {
///     exports: Arc::new(Route::new(RetryPolicy::background())),
///     rest: Arc::new(Route::new(RetryPolicy::user_facing())),
/// });
/// ```
pub trait Router: Send + Sync + 'static {
    /// Returns the route of a request with this head and, if given, the service that its
    /// [`RetryOverride::service`](crate::RetryOverride::service) names.
    ///
    /// Called once per request, before anything is sent, so it must be quick. Return the same `Arc` for requests that
    /// belong together: a newly created route has a new budget. The next request may get a different route.
    fn route(&self, head: &RequestHead<'_>, service: Option<&str>) -> Arc<Route>;

    /// Returns the fleet that shares the routes' budgets and gates with other processes. Default: none.
    fn fleet(&self) -> Option<Arc<dyn SharedServices>> {
        None
    }
}

impl Route {
    /// Creates a route with this policy, a default budget for each service or host, and no service name.
    #[must_use]
    pub fn new(policy: RetryPolicy) -> Self {
        Self::with_budgets(policy, Budgets::PerService(ServiceBudgets::default()))
    }

    /// Creates a route with this policy, and no service name. These budgets pay if the layer has none.
    #[must_use]
    pub fn with_budgets(policy: RetryPolicy, budgets: Budgets) -> Self {
        Self {
            keeps_head: policy.may_respond(),
            policy,
            budgets,
            names_budget: false,
            alone: false,
            service: None,
            overrides: RequestOverrides::Allow,
            named_budgets: Arc::default(),
            destinations: Arc::default(),
            failover: None,
            dead_letters: Arc::default(),
            base: None,
        }
    }

    /// Sets the budget that pays, even if the layer has one. Default: the layer's, else one for each service or host.
    #[must_use]
    pub fn budget(self, budget: RetryBudget) -> Self {
        Self {
            budgets: Budgets::One(budget),
            names_budget: true,
            ..self
        }
    }

    /// Names the service, for its gate, its reports and its metrics. Default: host and port.
    #[must_use]
    pub fn service(self, name: impl Into<Arc<str>>) -> Self {
        Self {
            service: Some(name.into()),
            ..self
        }
    }

    /// Keeps the route's budget and gate in this process, even if its layer is in a fleet. Default: the layer's fleet
    /// shares them.
    #[must_use]
    pub fn without_fleet(self) -> Self {
        Self {
            alone: true,
            ..self
        }
    }

    /// Sets the settings that a request may override. Default [`RequestOverrides::Allow`].
    #[must_use]
    pub fn request_overrides(self, overrides: RequestOverrides) -> Self {
        Self { overrides, ..self }
    }

    /// Sets the base URL of the service: a failover keeps the part of a path that is below it. Default: none, and a
    /// failover keeps the whole path.
    #[must_use]
    pub fn base_url(self, base: Uri) -> Self {
        Self {
            base: Some(base),
            ..self
        }
    }

    /// Sets the budgets that the policy names ([`RetryPolicy::names_used`]). A name that is not among them is ignored,
    /// and the route's own budget pays. Default: none.
    #[must_use]
    pub fn named_budgets(self, budgets: impl IntoIterator<Item = (Arc<str>, RetryBudget)>) -> Self {
        Self {
            named_budgets: budgets.into_iter().collect(),
            ..self
        }
    }

    /// Sets the services that the policy fails over to ([`RetryPolicy::names_used`]). Without its destination a failover
    /// ends the request. Default: none.
    #[must_use]
    pub fn failovers(self, to: impl IntoIterator<Item = (Arc<str>, Destination)>) -> Self {
        let destinations: ByName<Destination> = to.into_iter().collect();
        Self {
            keeps_head: self.keeps_head || !destinations.is_empty(),
            failover: (!destinations.is_empty()).then_some(FailoverSteps::NEW),
            destinations,
            ..self
        }
    }

    /// Sets the observers of dead letters that the policy names ([`RetryPolicy::names_used`]). Default: none.
    #[must_use]
    pub fn named_dead_letters(
        self,
        to: impl IntoIterator<Item = (Arc<str>, Arc<dyn DeadLetters>)>,
    ) -> Self {
        let dead_letters: ByName<Arc<dyn DeadLetters>> = to.into_iter().collect();
        Self {
            keeps_head: self.keeps_head || !dead_letters.is_empty(),
            dead_letters,
            ..self
        }
    }

    /// Returns the policy.
    #[must_use]
    #[inline]
    pub fn policy(&self) -> &RetryPolicy {
        &self.policy
    }

    /// Returns the budgets that pay if the layer has none, or if the route's budget was set explicitly.
    #[must_use]
    #[inline]
    pub fn budgets(&self) -> &Budgets {
        &self.budgets
    }

    /// Returns the part of a request's own settings that this route allows.
    #[must_use]
    #[inline]
    pub(crate) fn allowed(&self, own: RetryOverride) -> RetryOverride {
        self.overrides.allowed(own, &self.policy)
    }

    /// Returns the services named by the policy's failovers.
    #[must_use]
    #[inline]
    pub fn destinations(&self) -> &[(Arc<str>, Destination)] {
        &self.destinations
    }

    /// Returns the service with this name, if the policy's failovers name it.
    #[must_use]
    #[inline]
    pub(crate) fn destination(&self, name: &str) -> Option<&Destination> {
        named(&self.destinations, name)
    }

    /// Returns the observer with this name, if the policy's `dead_letter` names it.
    #[must_use]
    #[inline]
    pub(crate) fn dead_letters(&self, name: &str) -> Option<&Arc<dyn DeadLetters>> {
        named(&self.dead_letters, name)
    }

    /// Pays for a planned retry, from the budget that the plan names if this route has it, else from `otherwise`.
    #[must_use]
    pub(crate) fn ask(
        &self,
        plan: RetryPlan,
        otherwise: &RetryBudget,
        now: Duration,
    ) -> PaymentResult {
        let named = plan
            .budget()
            .and_then(|name| named(&self.named_budgets, name));
        named.unwrap_or(otherwise).ask(plan, now)
    }

    /// Returns the rebase from this service to another one.
    pub(crate) fn rebase_to(&self, there: &Destination) -> Rebase {
        Rebase {
            from: self.base.clone(),
            to: there.base.clone(),
            credentials: Vec::new(),
        }
    }

    /// Returns the quota in a response, if calls on this route would wait for its reset. A pause for which no call
    /// waits would help nobody: the next call finds out that it is refused.
    pub(crate) fn quota(&self, outcome: &Outcome<'_>, at: Moment) -> Option<Quota> {
        let quota = outcome.quota(at.wall).map(Quota::with_min_reset);
        quota.filter(|quota| self.policy.would_wait(quota.reset))
    }

    /// Returns `true` if a success needs no rule, and counts for one budget only.
    pub(crate) fn is_silent(&self) -> bool {
        self.policy.streams().is_none()
            && !self.policy.reads_whole_responses()
            && self.policy.takes_successes_as_they_are()
            && self.named_budgets.is_empty()
            && !self.keeps_head
    }
}

/// Returns the item with a name.
fn named<'a, T>(items: &'a [(Arc<str>, T)], name: &str) -> Option<&'a T> {
    let mut items = items.iter();
    items.find_map(|(own, item)| (**own == *name).then_some(item))
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Route")
            .field("service", &self.service)
            .field("policy", &self.policy)
            .field("budgets", &self.budgets)
            .finish_non_exhaustive()
    }
}

impl Route {
    /// Returns `Ok` if the head of a first attempt is a success. `accepts` asks [`accepts`](Self::accepts), which needs
    /// the request.
    ///
    /// # Errors
    ///
    /// Otherwise returns the verdict of the policy's own classifier, if it gave one, so that it need not run again.
    #[inline]
    pub(crate) fn succeeds(
        &self,
        status: StatusCode,
        accepts: impl FnOnce() -> Result<(), Option<Verdict>>,
    ) -> Result<(), Option<Verdict>> {
        if !is_standard_success(status.as_u16()) {
            Err(None)
        } else if self.policy.judges_successes() {
            accepts()
        } else {
            Ok(())
        }
    }

    /// Returns `Ok` if the policy's own classifier leaves this success one.
    ///
    /// # Errors
    ///
    /// As for [`succeeds`](Self::succeeds).
    pub(crate) fn accepts(&self, outcome: &Outcome<'_>) -> Result<(), Option<Verdict>> {
        // The head is not enough: leave the decision to the slow path, which reads the body.
        if self.policy.reads_body(outcome) {
            return Err(None);
        }
        match self.policy.own_verdict(outcome) {
            Some(own) if own.class != Class::Success => Err(Some(own)),
            _ => Ok(()),
        }
    }
}
