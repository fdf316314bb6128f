//! One policy per service, in code: the requests that belong to the service, the budget that pays for its retries, and
//! the service to fail over to.
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
//! A configuration document expresses the same, and an operator can edit it while the program runs.
//!
//! # Matching
//!
//! The most specific service wins, regardless of order: an exact host before a pattern, a longer host before a shorter
//! one, a longer path before a shorter one, then the match with more conditions, then alphabetical order. For a list,
//! the pattern that matched is used. A request can name its service
//! ([`RetryOverride::service`](http_retry_core::RetryOverride::service)), which overrides any match. Among the routes of a
//! service, the first match wins.
//!
//! # Budgets
//!
//! The service's budget pays. A service without one gets its own, unless the layer has a budget. Requests that belong
//! to no service have one budget per host.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(test),
    deny(
        clippy::disallowed_methods,
        clippy::arithmetic_side_effects,
        clippy::float_arithmetic
    )
)]

mod build;
mod matching;
mod service;
mod summary;
mod table;

pub use http_retry_core::policy::RequestOverrides;
pub use service::{Service, ServiceRoute};
pub use summary::RouteSummary;

use http_retry_core::report::DeadLetters;
use http_retry_core::route::{RequestHead, Route, Router};
use http_retry_core::settings::SharedMap;
use http_retry_core::sharing::SharedServices;
use http_retry_core::{ConfigError, RetryBudget, RetryPolicy, ServiceBudgets};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use table::ServiceTable;

/// Services, their routes and their budgets; clones share them.
///
/// Pass them to the `for_services` constructor of `RetryLayer`, `RetryMiddleware` or `Runner`. They are fixed while the
/// program runs; a document can be edited.
#[derive(Clone)]
pub struct Services(Arc<ServicesInner>);

struct ServicesInner {
    services: ServiceTable,
    /// The route of requests that belong to no service.
    rest: Arc<Route>,
    budgets: KeptBudgets,
    /// The settings that the services were built from, without those that they followed.
    given: ServicesBuilder,
}

/// The budgets that later services take over with [`ServicesBuilder::following`].
#[derive(Clone, Default)]
struct KeptBudgets {
    /// The budgets that were given, by name.
    named: SharedMap<RetryBudget>,
    /// The budgets of services that were given none, and whether the service is out of the fleet.
    own: SharedMap<(bool, RetryBudget)>,
    /// The budgets of hosts without a service.
    hosts: ServiceBudgets,
}

impl Services {
    /// Starts a builder with the policy for requests that belong to no service.
    pub fn builder(policy: RetryPolicy) -> ServicesBuilder {
        ServicesBuilder {
            policy,
            services: SharedMap::default(),
            changed: None,
            twice: None,
            before: KeptBudgets::default(),
            built: None,
            rest_budget: None,
            fleet: None,
            budgets: SharedMap::default(),
            dead_letters: SharedMap::default(),
        }
    }

    /// Returns every entry that a request can match, with its policy and rules. For each service, in alphabetical
    /// order, its routes come first, in their order, and then the service itself. The entry for requests of no service
    /// is last.
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

    /// Returns a builder with these services and settings, to add, replace or remove some of them while the program
    /// runs. It follows these services ([`following`](ServicesBuilder::following)), and
    /// [`build`](ServicesBuilder::build) shares services that stay as they are, and builds only those that changed and
    /// those that fail over to them.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    /// use http_retry::services::{Service, Services};
    ///
    /// let orders = Service::new("orders", RetryPolicy::background()).host("orders.example.com");
    /// let mail = Service::new("mail", RetryPolicy::background()).host("mail.example.com");
    /// let before = Services::builder(RetryPolicy::background()).service(orders.clone()).service(mail).build()?;
    ///
    /// let slower = orders.base_url("https://orders.example.com");
    /// let after = before.to_builder().service(slower).remove("mail").build()?;
    /// assert!(after.names().eq(["orders"]));
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn to_builder(&self) -> ServicesBuilder {
        ServicesBuilder {
            changed: Some(BTreeSet::new()),
            before: self.0.budgets.clone(),
            built: Some(self.clone()),
            ..self.0.given.clone()
        }
    }

    /// Returns the names of the services, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        names_in_order(&self.0.services.by_name)
    }
}

/// A builder of [`Services`]. No setter fails; [`build`](Self::build) reports errors.
#[derive(Clone)]
#[must_use]
pub struct ServicesBuilder {
    policy: RetryPolicy,
    services: SharedMap<Arc<Service>>,
    /// The names of the services that were added, replaced or removed since [`Services::to_builder`].
    changed: Option<BTreeSet<Arc<str>>>,
    /// The first name that was used for two services.
    twice: Option<Arc<str>>,
    before: KeptBudgets,
    /// The services that this builder started from, if nothing else has changed than services.
    built: Option<Services>,
    rest_budget: Option<RetryBudget>,
    fleet: Option<Arc<dyn SharedServices>>,
    budgets: SharedMap<RetryBudget>,
    dead_letters: SharedMap<Arc<dyn DeadLetters>>,
}

impl ServicesBuilder {
    /// Adds a service, or replaces one that the builder started from. The order does not matter, since the most specific
    /// match wins. Two services with the same name or the same match are an error at [`build`](Self::build).
    pub fn service(mut self, service: Service) -> Self {
        let name = Arc::clone(service.name());
        let replaced = self.services.insert(Arc::clone(&name), Arc::new(service));
        let changed = self.changed.as_mut();
        let is_first = changed.is_some_and(|changed| changed.insert(Arc::clone(&name)));
        if replaced.is_some() && !is_first {
            self.twice.get_or_insert(name);
        }
        self
    }

    /// Removes a service. An unknown name is ignored.
    pub fn remove(mut self, name: &str) -> Self {
        self.services.remove(name);
        if let Some(changed) = &mut self.changed {
            changed.insert(name.into());
        }
        self
    }

    /// Names a budget, for rules that pay from a separate one
    /// ([`budget_named`](http_retry_core::RetryPolicyBuilder::budget_named)). A second budget with the same name replaces the
    /// first.
    pub fn budget(mut self, name: impl Into<Arc<str>>, budget: RetryBudget) -> Self {
        let name = name.into();
        let budget = budget.named(format!("budgets.{name}"));
        self.budgets.insert(name, budget);
        self.built = None;
        self
    }

    /// Names an observer, for [`OnExhausted::dead_letter`](http_retry_core::rules::OnExhausted::dead_letter). A second observer
    /// with the same name replaces the first.
    pub fn dead_letters(mut self, name: impl Into<Arc<str>>, to: impl DeadLetters) -> Self {
        self.dead_letters.insert(name.into(), Arc::new(to));
        self.built = None;
        self
    }

    /// Sets the budget of requests that belong to no service. Default: one per host.
    pub fn rest_budget(self, budget: RetryBudget) -> Self {
        Self {
            rest_budget: Some(budget),
            ..self
        }
    }

    /// Takes over the tokens of earlier services, for a program that replaces its services while it runs: those of each
    /// service that had no explicit budget and still has none, and those of the hosts without a service.
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
            built: None,
            ..self
        }
    }

    /// Shares the gates, and the budgets of services and hosts without an explicit one, with the other processes of a
    /// fleet. A service can stay out of it ([`Service::without_fleet`]).
    pub fn fleet(self, fleet: &(impl SharedServices + Clone)) -> Self {
        Self {
            fleet: Some(Arc::new(fleet.clone())),
            built: None,
            ..self
        }
    }

    /// Builds the services.
    ///
    /// # Errors
    ///
    /// Returns a [`ConfigError`] that names the first invalid service: an invalid or duplicate name or match; a
    /// failover to a service that does not exist, has no base URL or leads back; a chain of more than 16 services; or a
    /// budget or an observer whose name is unknown here.
    pub fn build(self) -> Result<Services, ConfigError> {
        self.build_or_all().map_err(|errors| {
            let first = errors.into_iter().next();
            first.unwrap_or_else(|| ConfigError::new("services", "nothing", "is wrong"))
        })
    }

    /// Builds like [`build`](Self::build), but reports all errors.
    ///
    /// # Errors
    ///
    /// Returns every error, at least one. The field of each names the invalid service, such as
    /// `services.orders.failover`, and its value is the one given there.
    pub fn build_or_all(self) -> Result<Services, Vec<ConfigError>> {
        build::services(&self).map(|services| Services(Arc::new(services)))
    }
}

impl Router for Services {
    fn route(&self, head: &RequestHead<'_>, service: Option<&str>) -> Arc<Route> {
        let services = &self.0.services;
        let named = service.and_then(|name| services.by_name.get(name));
        match named.or_else(|| services.most_specific(head)) {
            Some(service) => service.route(head, None),
            None => Arc::clone(&self.0.rest),
        }
    }

    fn fleet(&self) -> Option<Arc<dyn SharedServices>> {
        self.0.given.fleet.clone()
    }
}

/// Returns the names in alphabetical order, for people who read them.
fn names_in_order<T>(named: &SharedMap<T>) -> impl Iterator<Item = &str> {
    named.in_order().into_iter().map(|(name, _)| &**name)
}

/// Shows only names, since the rest may hold secrets.
impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Services")
            .field("services", &self.names().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ServicesBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServicesBuilder")
            .field(
                "services",
                &names_in_order(&self.services).collect::<Vec<_>>(),
            )
            .field(
                "budgets",
                &names_in_order(&self.budgets).collect::<Vec<_>>(),
            )
            .field(
                "dead_letters",
                &names_in_order(&self.dead_letters).collect::<Vec<_>>(),
            )
            .finish_non_exhaustive()
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
