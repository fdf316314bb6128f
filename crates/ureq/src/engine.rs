//! The settings that all requests of an agent share.

use crate::runtime::{ThreadRuntime, block_on};
use http_retry_core::RetryPolicy;
use http_retry_core::adapter::{Budgets, GateKey, PaymentResult, warn_of_misuse};
use http_retry_core::budget::{PaidRetry, RetryBudget};
use http_retry_core::gate::Gate;
use http_retry_core::policy::RetryPlan;
use http_retry_core::report::Observer;
use http_retry_core::route::{RequestHead, Route, Router};
use http_retry_core::runtime::{Runtime, within};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The routes of an agent, and its settings.
#[derive(Clone)]
pub(crate) struct Engine {
    routes: Routes,
    budget: Option<Budgets>,
    pub(crate) gate: Gate,
    has_gate: bool,
    pub(crate) clock: Arc<dyn Runtime>,
    pub(crate) observers: Arc<[Arc<dyn Observer>]>,
    /// The longest body that is recorded, in bytes.
    pub(crate) recorded: usize,
}

#[derive(Clone)]
enum Routes {
    One(Arc<Route>),
    PerRequest(Arc<dyn Router>),
}

const RECORDED_BYTES: usize = 2 * 1024 * 1024;

impl Engine {
    pub(crate) fn new(policy: RetryPolicy) -> Self {
        let names = policy.names_used();
        let all = [names.failovers, names.budgets, names.dead_letters];
        for name in all.into_iter().flatten() {
            let lost =
                "a name in a policy has no effect without services: give it to Retries::routed";
            warn_of_misuse(name, lost);
        }
        Self::of(Routes::One(Arc::new(Route::new(policy))))
    }

    pub(crate) fn routed(router: Arc<dyn Router>) -> Self {
        Self::of(Routes::PerRequest(router))
    }

    fn of(routes: Routes) -> Self {
        Self {
            routes,
            budget: None,
            gate: Gate::new(),
            has_gate: false,
            clock: Arc::new(ThreadRuntime),
            observers: Arc::new([]),
            recorded: RECORDED_BYTES,
        }
    }

    pub(crate) fn pay_from(&mut self, budgets: Budgets) {
        self.budget = Some(budgets);
    }

    pub(crate) fn set_gate(&mut self, gate: Gate) {
        self.gate = gate;
        self.has_gate = true;
    }

    pub(crate) fn observe(&mut self, observer: impl Observer) {
        let new: Arc<dyn Observer> = Arc::new(observer);
        self.observers = self.observers.iter().cloned().chain([new]).collect();
    }

    /// Returns the route of a request.
    pub(crate) fn route(&self, head: &RequestHead<'_>, service: Option<&str>) -> Arc<Route> {
        match &self.routes {
            Routes::One(route) => Arc::clone(route),
            Routes::PerRequest(router) => router.route(head, service),
        }
    }

    /// Returns `true` if a router chooses, and so knows the services by name.
    pub(crate) fn knows_services(&self) -> bool {
        matches!(self.routes, Routes::PerRequest(_))
    }

    /// Returns the budget that pays on this route.
    pub(crate) fn budget_of(&self, route: &Route, service: Arc<str>) -> RetryBudget {
        let own = self.budget.as_ref().filter(|_| !route.names_budget());
        own.unwrap_or(route.budgets()).of(|| service)
    }

    /// Pays for a planned retry. A budget that several processes share is waited for at most as long as it says, and at
    /// most for `left`.
    pub(crate) fn pay(
        &self,
        route: &Route,
        plan: RetryPlan,
        budget: &RetryBudget,
        now: Duration,
        left: Duration,
    ) -> Option<PaidRetry> {
        match route.ask(plan, budget, now) {
            PaymentResult::Paid(paid) => Some(paid),
            PaymentResult::Refused => None,
            PaymentResult::Pending(mut asking) => {
                let limit = self.clock.sleep(asking.wait().min(left));
                match block_on(within(limit, &mut asking)) {
                    Some(paid) => paid,
                    None => asking.pay_alone(self.clock.now()),
                }
            }
        }
    }

    /// Returns the key by which calls on this route wait, which joins the gate's fleet with its first call.
    pub(crate) fn gate_key(
        &self,
        route: &Route,
        (key, name): (GateKey, &str),
        apart: impl FnOnce() -> Option<String>,
    ) -> GateKey {
        if route.is_alone() && !self.has_gate {
            return self.gate.unshared_key(key, self.clock.now());
        }
        let longest = route.policy().longest_pause().unwrap_or(Duration::MAX);
        self.gate.share_key(key, name, &*self.clock, longest, apart);
        key
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Engine");
        if let Routes::One(route) = &self.routes {
            out.field("route", route);
        }
        out.field("observers", &self.observers.len())
            .field("recorded", &self.recorded)
            .finish_non_exhaustive()
    }
}
