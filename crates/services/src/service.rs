//! A service and its routes, as set in code.

use crate::matching::Matching;
use http::{Method, Uri};
use http_retry_core::policy::RequestOverrides;
use http_retry_core::settings::{base_url, check_name, host_pattern, path_pattern, scheme_pattern};
use http_retry_core::{ConfigError, RetryBudget, RetryPolicy};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A service: a policy, the requests that belong to it, and the budget that pays for its retries.
///
/// A request must match all of [`host`](Self::host), [`scheme`](Self::scheme), [`path`](Self::path) and
/// [`method`](Self::method) that are set. If none is set, only requests that name the service
/// ([`RetryOverride::service`](http_retry_core::RetryOverride::service)) or fail over to it belong to it.
///
/// An invalid value is reported by [`ServicesBuilder::build`](super::ServicesBuilder::build).
///
/// ```
/// use http::Method;
/// use http_retry::services::{RequestOverrides, Service, ServiceRoute, Services};
/// use http_retry::{RetryBudget, RetryPolicy};
///
/// let orders = Service::new("orders", RetryPolicy::background())
///     .host("orders.example.com")
///     .host("*.orders.example.com")
///     .scheme("https")
///     .budget(RetryBudget::builder().capacity(50).build()?)
///     .request_overrides(RequestOverrides::FillOnly)
///     .route(ServiceRoute::new("place", RetryPolicy::never()).method(Method::POST).path("/v1/*"));
/// let services = Services::builder(RetryPolicy::background()).service(orders).build()?;
///
/// let wrong = Service::new("orders", RetryPolicy::background()).host("https://orders.example.com");
/// let refused = Services::builder(RetryPolicy::background()).service(wrong).build();
/// assert_eq!(refused.unwrap_err().field, "services.orders.host");
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Service {
    pub(crate) place: LevelSettings,
    pub(crate) base_url: Option<Uri>,
    pub(crate) alone: bool,
    pub(crate) overrides: RequestOverrides,
    pub(crate) routes: Vec<ServiceRoute>,
}

/// Requests of a service with a policy of their own. The failover address remains the service's. The first route that
/// matches wins; a request that no route matches uses the service's policy.
///
/// ```
/// use http_retry::RetryPolicy;
/// use http_retry::services::{Service, ServiceRoute, Services};
///
/// let search = ServiceRoute::new("search", RetryPolicy::user_facing()).path("/search/*");
/// let shop = Service::new("shop", RetryPolicy::background()).host("shop.example").route(search);
/// let services = Services::builder(RetryPolicy::background()).service(shop).build()?;
/// assert_eq!(services.routes()[0].route.as_deref(), Some("search"));
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct ServiceRoute {
    pub(crate) place: LevelSettings,
}

/// The settings that services and routes have in common.
#[derive(Debug, Clone)]
pub(crate) struct LevelSettings {
    pub(crate) name: Arc<str>,
    pub(crate) policy: RetryPolicy,
    pub(crate) budget: Option<RetryBudget>,
    pub(crate) matching: Matching,
    /// The first value that a setter rejected: its field, the value given, and the values allowed.
    refused: Option<(&'static str, String, &'static str)>,
}

impl Service {
    /// Creates a service with a name, 1 to 128 bytes without control characters, and a policy. The name appears in
    /// reports, events and metrics.
    pub fn new(name: impl Into<Arc<str>>, policy: RetryPolicy) -> Self {
        Self {
            place: LevelSettings::new(name.into(), policy),
            base_url: None,
            alone: false,
            overrides: RequestOverrides::Allow,
            routes: Vec::new(),
        }
    }

    /// Matches requests to this host, `api.example.com`, or to its subdomains, `*.example.com`, which does not match
    /// `example.com` itself. Without a port, any port matches. Case and a final dot do not matter. If called more than
    /// once, one of the hosts must match.
    pub fn host(mut self, host: impl AsRef<str>) -> Self {
        let host = self.place.take("host", host.as_ref(), host_pattern);
        self.place.matching.hosts.extend(host);
        self
    }

    /// Matches requests with this scheme, `http` or `https`.
    pub fn scheme(mut self, scheme: impl AsRef<str>) -> Self {
        let scheme = self.place.take("scheme", scheme.as_ref(), scheme_pattern);
        self.place.matching.schemes.extend(scheme);
        self
    }

    /// Matches requests with this path, in which `*` matches any text; `/v1/*` also matches `/v1`. The path starts with
    /// `/` or `*`, and has no query. It is compared in its normal form, and a final slash is ignored: `//v1/./%70ay/`
    /// is `/v1/pay`. If called more than once, one of the paths must match.
    pub fn path(mut self, path: impl AsRef<str>) -> Self {
        self.place.add_path(path.as_ref());
        self
    }

    /// Matches requests with this method. If called more than once, one of the methods must match.
    pub fn method(mut self, method: Method) -> Self {
        self.place.matching.methods.push(method);
        self
    }

    /// Sets the address of the service: `http` or `https`, a host and optionally a path, without user info, query or
    /// fragment. Failovers go to this address and need it. Default: none.
    pub fn base_url(mut self, url: impl AsRef<str>) -> Self {
        // The error must not show the URL, which may hold a password.
        let hidden = "this URL".to_owned();
        let refuse = |allowed| self.place.refuse("base_url", hidden, allowed);
        self.base_url = base_url(url.as_ref()).map_err(refuse).ok();
        self
    }

    /// Sets the budget that pays for its retries; clone it into every service that shares it. Default: a budget of its
    /// own.
    pub fn budget(mut self, budget: RetryBudget) -> Self {
        self.place.budget = Some(budget);
        self
    }

    /// Keeps the service out of the fleet of its services or layer: its budget and gate belong to this process only.
    pub fn without_fleet(self) -> Self {
        Self {
            alone: true,
            ..self
        }
    }

    /// Sets the settings that a request may override. Default: [`RequestOverrides::Allow`].
    pub fn request_overrides(self, overrides: RequestOverrides) -> Self {
        Self { overrides, ..self }
    }

    /// Adds a route with a policy of its own, after the existing ones; the first match wins. Two routes with the same
    /// name or the same match are an error.
    pub fn route(mut self, route: ServiceRoute) -> Self {
        self.routes.push(route);
        self
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.place.name
    }

    /// Checks the name, the match and the routes, as [`ServicesBuilder::build`](super::ServicesBuilder::build) does.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    /// use http_retry::services::Service;
    ///
    /// let orders = Service::new("orders", RetryPolicy::background());
    /// assert!(orders.clone().host("orders.example.com").check().is_ok());
    /// assert!(orders.host("https://orders.example.com").check().is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the first error: an invalid name, host or path, or a route that no request would match.
    pub fn check(&self) -> Result<(), ConfigError> {
        let field = format!("services.{}", shown(&self.place.name));
        self.place.check(&field)?;
        let (mut names, mut matches) = (HashSet::new(), HashMap::new());
        for route in &self.routes {
            let (name, matching) = (&route.place.name, &route.place.matching);
            let at = format!("{field}.routes.{}", shown(name));
            route.place.check(&at)?;
            if matching.is_open() {
                let allowed = "matches nothing in particular: give it a path or a method";
                return Err(ConfigError::new(at, name, allowed));
            }
            if !names.insert(name) {
                return Err(ConfigError::new(at, name, "duplicate name"));
            }
            if let Some(other) = matches.insert(matching.in_order(), name) {
                let allowed = format!("no request would match it: {other} has the same match");
                return Err(ConfigError::new(at, name, allowed));
            }
        }
        Ok(())
    }
}

impl ServiceRoute {
    /// Sets the budget that pays for the retries of this route. Default: the service's.
    pub fn budget(mut self, budget: RetryBudget) -> Self {
        self.place.budget = Some(budget);
        self
    }

    /// Creates a route with a name, 1 to 128 bytes and unique in its service, and a policy. Give it a path or a method,
    /// or it is an error; if it has both, both must match.
    pub fn new(name: impl Into<Arc<str>>, policy: RetryPolicy) -> Self {
        Self {
            place: LevelSettings::new(name.into(), policy),
        }
    }

    /// Matches requests with this path, in which `*` matches any text; `/v1/*` also matches `/v1`. The path starts with
    /// `/` or `*`, and has no query. It is compared in its normal form, and a final slash is ignored: `//v1/./%70ay/`
    /// is `/v1/pay`. If called more than once, one of the paths must match.
    pub fn path(mut self, path: impl AsRef<str>) -> Self {
        self.place.add_path(path.as_ref());
        self
    }

    /// Matches requests with this method. If called more than once, one of the methods must match.
    pub fn method(mut self, method: Method) -> Self {
        self.place.matching.methods.push(method);
        self
    }
}

impl LevelSettings {
    fn new(name: Arc<str>, policy: RetryPolicy) -> Self {
        Self {
            name,
            policy,
            budget: None,
            matching: Matching::default(),
            refused: None,
        }
    }

    fn add_path(&mut self, path: &str) {
        let path = self.take("path", path, path_pattern);
        self.matching.paths.extend(path);
    }

    fn take(
        &mut self,
        field: &'static str,
        given: &str,
        kept: fn(&str) -> Result<String, &'static str>,
    ) -> Option<String> {
        let kept = kept(given);
        kept.map_err(|allowed| self.refuse(field, shown(given), allowed))
            .ok()
    }

    fn refuse(&mut self, field: &'static str, given: String, allowed: &'static str) {
        self.refused.get_or_insert((field, given, allowed));
    }

    fn check(&self, field: &str) -> Result<(), ConfigError> {
        let name = &self.name;
        if let Err(allowed) = check_name(name) {
            return Err(ConfigError::new(
                format!("{field}.name"),
                shown(name),
                allowed,
            ));
        }
        match &self.refused {
            Some((what, given, allowed)) => {
                Err(ConfigError::new(format!("{field}.{what}"), given, *allowed))
            }
            None => Ok(()),
        }
    }
}

/// Returns a text for an error message: shortened if long, and hidden if it may hold user info.
fn shown(text: &str) -> String {
    const MAX_SHOWN_CHARS: usize = 64;
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        _ if text.contains('@') => "a text with an @".to_owned(),
        Some((end, _)) => format!("{}..", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
