//! One policy for each service, in code: which requests belong to it, what pays for its retries, and where they go when it
//! is down.
//!
//! ```
//! use http_retry::rules::{Failover, OnExhausted};
//! use http_retry::services::{Service, ServiceRoute, Services};
//! use http_retry::{RetryBudget, RetryPolicy};
//!
//! let orders = RetryPolicy::builder()
//!     .max_retries(2)
//!     .on_exhausted(OnExhausted::failover(Failover::to("backup")))
//!     .build()?;
//! let services = Services::builder(RetryPolicy::background()) // for requests of no service
//!     .service(
//!         Service::new("orders", orders)
//!             .host("orders.example.com")
//!             .budget(RetryBudget::builder().capacity(50).build()?)
//!             .route(ServiceRoute::new("search", RetryPolicy::user_facing()).path("/search/*")),
//!     )
//!     .service(Service::new("backup", RetryPolicy::never()).base_url("https://backup.example.com"))
//!     .build()?;
//! let layer = http_retry::tower::RetryLayer::for_services(&services);
//! # #[cfg(feature = "reqwest")]
//! let middleware = http_retry::reqwest::RetryMiddleware::for_services(&services);
//! # Ok::<(), http_retry::ConfigError>(())
//! ```
//!
//! A document says the same in words that an operator edits while the program runs.
//!
//! # Which service, which route
//!
//! The most specific service wins, wherever it stands: an exact host before a pattern, a longer host before a shorter, a
//! longer path before a shorter, then the match with more conditions, then alphabetical order. Of a list that pattern counts
//! which holds. A request can name its service ([`RetryOverride::service`](crate::RetryOverride::service)), which wins over
//! any match. Of the routes of a service the first that matches wins.
//!
//! # Which budget pays
//!
//! That of the service; one of its own where none is given, unless the layer has a budget. Requests of no service have a
//! budget for each host.

mod build;
mod failover_cost;
mod service;
mod summary;

pub use service::{RequestOverrides, Service, ServiceRoute};
pub use summary::RouteSummary;

use crate::budget::{RetryBudget, ServiceBudgets};
use crate::error::ConfigError;
use crate::policy::RetryPolicy;
use crate::report::DeadLetters;
pub use crate::route::SharedServices;
use crate::route::{self, RequestHead, Router};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// Services, their routes and their budgets; clones share them.
///
/// `RetryLayer`, `RetryMiddleware` and `Runner` take them with `for_services`. They do not change while
/// the program runs; a document does.
#[derive(Clone)]
pub struct Services(Arc<ServicesInner>);

struct ServicesInner {
    services: route::ServiceTable,
    budgets: KeptBudgets,
    fleet: Option<Arc<dyn SharedServices>>,
}

/// The budgets that services built later take over.
#[derive(Clone, Default)]
struct KeptBudgets {
    /// The names of those that were given.
    named: BTreeSet<Arc<str>>,
    /// Those of services that are given none, and whether such a service is out of the fleet.
    own: BTreeMap<Arc<str>, (bool, RetryBudget)>,
    /// Those of hosts without a service.
    hosts: ServiceBudgets,
}

impl Services {
    /// Services beside this policy, which holds for requests that belong to none.
    pub fn builder(policy: RetryPolicy) -> ServicesBuilder {
        ServicesBuilder {
            policy,
            services: BTreeMap::new(),
            twice: None,
            before: KeptBudgets::default(),
            rest_budget: None,
            fleet: None,
            budgets: BTreeMap::new(),
            dead_letters: BTreeMap::new(),
        }
    }

    /// Every place that a request can match, with its policy and rules: for each service, in the order of the names, its routes
    /// in their order and then the service itself; at last the place of requests of no service.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    /// use http_retry::services::{Service, Services};
    ///
    /// let orders = Service::new("orders", RetryPolicy::user_facing()).host("orders.example.com");
    /// let services = Services::builder(RetryPolicy::background()).service(orders).build()?;
    /// let routes = services.routes();
    /// assert_eq!(routes[0].service.as_deref(), Some("orders"));
    /// assert_eq!(routes[0].worst_case.attempts, Some(2));
    /// assert_eq!(routes[1].service, None);
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    #[must_use]
    pub fn routes(&self) -> Vec<RouteSummary> {
        summary::routes(&self.0)
    }

    /// The names of the services, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.services.by_name.keys().map(|name| &**name)
    }
}

/// Puts [`Services`] together. No setter fails; [`build`](Self::build) says what is wrong.
#[derive(Clone)]
#[must_use]
pub struct ServicesBuilder {
    policy: RetryPolicy,
    services: BTreeMap<Arc<str>, Service>,
    /// A name that two services have.
    twice: Option<Arc<str>>,
    before: KeptBudgets,
    rest_budget: Option<RetryBudget>,
    fleet: Option<Arc<dyn SharedServices>>,
    budgets: BTreeMap<Arc<str>, RetryBudget>,
    dead_letters: BTreeMap<Arc<str>, Arc<dyn DeadLetters>>,
}

impl ServicesBuilder {
    /// Adds a service. Their order does not matter: the most specific match wins. Two of one name, or of one match, are an error
    /// at [`build`](Self::build).
    pub fn service(mut self, service: Service) -> Self {
        let name = service.name().clone();
        if self.services.insert(name.clone(), service).is_some() {
            self.twice.get_or_insert(name);
        }
        self
    }

    /// Gives a name to a budget, for rules that pay from one of their own
    /// ([`budget_named`](crate::RetryPolicyBuilder::budget_named)). Given again, the name stands for the later budget.
    pub fn budget(mut self, name: impl Into<Arc<str>>, budget: RetryBudget) -> Self {
        self.budgets.insert(name.into(), budget);
        self
    }

    /// Gives a name to an observer, for [`OnExhausted::dead_letter`](crate::rules::OnExhausted::dead_letter). Given again, the
    /// name stands for the later observer.
    pub fn dead_letters(mut self, name: impl Into<Arc<str>>, to: impl DeadLetters) -> Self {
        self.dead_letters.insert(name.into(), Arc::new(to));
        self
    }

    /// The budget of requests that belong to no service. Default one for each host.
    pub fn rest_budget(self, budget: RetryBudget) -> Self {
        Self {
            rest_budget: Some(budget),
            ..self
        }
    }

    /// Takes over the tokens of earlier services: those of each service that is given no budget, then and now, and those of the
    /// hosts without a service. For a program that replaces its services while it runs.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    /// use http_retry::services::{Service, Services};
    ///
    /// let with = |policy| Services::builder(RetryPolicy::background()).service(Service::new("orders", policy));
    /// let before = with(RetryPolicy::background()).build()?;
    /// let after = with(RetryPolicy::user_facing()).following(&before).build()?;
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn following(self, before: &Services) -> Self {
        Self {
            before: before.0.budgets.clone(),
            ..self
        }
    }

    /// Shares the budgets of services and hosts that are given none with the other processes of a fleet, and their gates; a
    /// service can stay out of it ([`Service::alone`]).
    pub fn fleet(self, fleet: &(impl SharedServices + Clone)) -> Self {
        Self {
            fleet: Some(Arc::new(fleet.clone())),
            ..self
        }
    }

    /// The services, if each can do what it says.
    ///
    /// # Errors
    ///
    /// A [`ConfigError`] that names the first service at fault: a name or a match that is none or is there twice, a failover
    /// to a service that is not there, has no base URL or leads back, a chain of more than 16 services, or a budget or an
    /// observer without a name here.
    pub fn build(self) -> Result<Services, ConfigError> {
        self.build_or_all().map_err(|errors| {
            let first = errors.into_iter().next();
            first.unwrap_or_else(|| ConfigError::new("services", "nothing", "is wrong"))
        })
    }

    /// Builds as [`build`](Self::build) does.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, at least one error: each names the service at fault in its field, such as
    /// `services.orders.failover`, and what was given there.
    pub fn build_or_all(self) -> Result<Services, Vec<ConfigError>> {
        build::services(&self).map(|services| Services(Arc::new(services)))
    }
}

impl Router for Services {
    fn route(&self, head: &RequestHead<'_>, service: Option<&str>) -> Arc<route::Route> {
        self.0.services.route(head, service)
    }

    fn fleet(&self) -> Option<Arc<dyn SharedServices>> {
        self.0.fleet.clone()
    }
}

/// Shows names, since the rest may hold secrets.
impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Services")
            .field("services", &self.0.services.by_name.keys())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ServicesBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServicesBuilder")
            .field("services", &self.services.keys())
            .field("budgets", &self.budgets.keys())
            .field("dead_letters", &self.dead_letters.keys())
            .finish_non_exhaustive()
    }
}
