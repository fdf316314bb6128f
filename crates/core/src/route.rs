//! Routes: the policy, the budgets and the failover of each request, and the [`Router`] that finds them.

pub(crate) mod chains;
pub(crate) mod failover;
pub(crate) mod matching;
mod services;
mod shared_services;

pub(crate) use chains::{Broken, Chains};
pub(crate) use failover::Rebase;
pub(crate) use services::{ServiceEntry, ServiceTable};
pub use shared_services::SharedServices;

use crate::budget::services::Budgets;
use crate::budget::{PaymentResult, RetryBudget};
use crate::gate::GateQuota;
use crate::policy::{
    Class, Moment, Outcome, Overrides, RequestLine, RetryOverride, RetryPlan, RetryPolicy, Verdict,
    is_standard_success,
};
use crate::report::DeadLetters;
use http::uri::Scheme;
use http::{HeaderMap, Method, StatusCode, Uri};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The way of a request: its policy, what pays for its retries, and its service's name.
///
/// Clones share the budget.
#[derive(Clone)]
pub struct Route {
    pub(crate) policy: RetryPolicy,
    pub(crate) budget: Budgets,
    /// Whether a document names the budget.
    pub(crate) names_budget: bool,
    /// Shares nothing with other processes, whatever fleet its layer is in.
    pub(crate) alone: bool,
    /// The service's name in the document.
    pub(crate) service: Option<Arc<str>>,
    pub(crate) overrides: Overrides,
    /// The budgets that the policy's rules name.
    pub(crate) budgets: Arc<BTreeMap<Arc<str>, RetryBudget>>,
    /// The services that the policy's failovers name.
    pub(crate) destinations: Arc<BTreeMap<Arc<str>, Destination>>,
    /// The observer that the policy's `dead_letter` names.
    pub(crate) dead_letters: Arc<BTreeMap<Arc<str>, Arc<dyn DeadLetters>>>,
    /// Where the service is, as far as the document says.
    pub(crate) base: Option<Uri>,
    /// The request's head may be needed when nothing else is left of it.
    pub(crate) keeps_head: bool,
}

/// Another service, and where it is.
#[derive(Clone)]
#[non_exhaustive]
pub struct Destination {
    /// Its base URL.
    pub base: Uri,
    /// Its routes.
    pub service: Arc<dyn Router>,
}

/// Finds the route of each request: the door for whoever knows the services of a program.
///
/// [`Services`](crate::services::Services) and `config::RetryConfig` are routers. `RetryLayer::routed`,
/// `RetryMiddleware::routed` and `Runner::routed` take any.
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
    /// Returns the route of a request: of this head, and of the service that it names by
    /// [`RetryOverride::service`](crate::RetryOverride::service), if it names one.
    ///
    /// It is asked once for each request, before anything is sent, so it must be quick. Return the same `Arc` for requests
    /// that belong together: a route made anew has a new budget. Another route may be found a moment later.
    fn route(&self, head: &RequestHead<'_>, service: Option<&str>) -> Arc<Route>;

    /// Returns whatever shares the routes' budgets and gates with other processes. Default: nothing.
    fn fleet(&self) -> Option<Arc<dyn SharedServices>> {
        None
    }
}

/// The part of a request that a route is chosen by.
#[derive(Debug, Clone, Default)]
pub struct RequestHead<'a> {
    method: Option<&'a Method>,
    scheme: Option<&'a str>,
    authority: Option<Cow<'a, str>>,
    path: &'a str,
}

impl<'a> RequestHead<'a> {
    /// The head of a request of this method, to this URI.
    ///
    /// ```
    /// use http_retry::route::RequestHead;
    ///
    /// let uri = "HTTP://me:secret@API.example:80/v1?q=1".parse().unwrap();
    /// let head = RequestHead::new(&http::Method::GET, &uri);
    /// assert_eq!(head.authority(), Some("api.example"));
    /// assert_eq!(head.path(), "/v1");
    /// ```
    #[must_use]
    pub fn new(method: &'a Method, uri: &'a Uri) -> Self {
        Self {
            method: Some(method),
            scheme: uri.scheme_str(),
            authority: public_authority(uri, || None),
            path: uri.path(),
        }
    }

    /// The head of a request of these parts, for a client without `http::Uri`. An authority is host and port in lower case,
    /// without user info and without the scheme's default port.
    #[must_use]
    pub fn of_parts(
        method: Option<&'a Method>,
        scheme: Option<&'a str>,
        authority: Option<Cow<'a, str>>,
        path: &'a str,
    ) -> Self {
        Self {
            method,
            scheme,
            authority,
            path,
        }
    }
    /// Returns the method; `None` for an operation that is not HTTP.
    #[must_use]
    #[inline]
    pub fn method(&self) -> Option<&Method> {
        self.method
    }

    /// Returns the scheme, if the request names one.
    #[must_use]
    #[inline]
    pub fn scheme(&self) -> Option<&str> {
        self.scheme
    }

    /// Returns host and port in lower case, without user info and without a scheme's default port; `None` if the request
    /// names no host.
    #[must_use]
    #[inline]
    pub fn authority(&self) -> Option<&str> {
        self.authority.as_deref()
    }

    /// Returns the path; empty for an operation that is not HTTP.
    #[must_use]
    #[inline]
    pub fn path(&self) -> &str {
        self.path
    }
}

impl Route {
    /// A route with this policy and a default budget of its own, of a service without a name.
    #[must_use]
    pub fn new(policy: RetryPolicy) -> Self {
        Self {
            keeps_head: policy.may_respond(),
            policy,
            budget: Budgets::One(RetryBudget::default()),
            names_budget: false,
            alone: false,
            service: None,
            overrides: Overrides::Allow,
            budgets: Arc::default(),
            destinations: Arc::default(),
            dead_letters: Arc::default(),
            base: None,
        }
    }

    /// Sets the budget that pays, whatever budget the layer has. Default: that of the layer, else one of the route's own.
    #[must_use]
    pub fn budget(self, budget: RetryBudget) -> Self {
        Self {
            budget: Budgets::One(budget),
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

    /// Returns the policy.
    #[must_use]
    #[inline]
    pub fn policy(&self) -> &RetryPolicy {
        &self.policy
    }

    /// Returns the service's name, if it has one.
    #[must_use]
    #[inline]
    pub fn name(&self) -> Option<&Arc<str>> {
        self.service.as_ref()
    }

    /// Returns what pays where the layer has no budget, or where the route names its own.
    #[must_use]
    #[inline]
    pub fn budgets(&self) -> &Budgets {
        &self.budget
    }

    /// Sets what pays where the route names no budget: that of a layer.
    #[inline]
    pub fn set_budgets(&mut self, budgets: Budgets) {
        self.budget = budgets;
    }

    /// Returns `true` if the route's own budget pays, whatever budget the layer has.
    #[must_use]
    #[inline]
    pub fn names_budget(&self) -> bool {
        self.names_budget
    }

    /// Returns `true` if the route shares nothing with other processes, whatever fleet its layer is in.
    #[must_use]
    #[inline]
    pub fn is_alone(&self) -> bool {
        self.alone
    }

    /// Returns what this route leaves of a request's own settings.
    #[must_use]
    #[inline]
    pub fn allowed(&self, own: RetryOverride) -> RetryOverride {
        self.overrides.allowed(own)
    }

    /// Returns the budgets that the policy's rules name.
    #[inline]
    pub fn rule_budgets(&self) -> impl Iterator<Item = &RetryBudget> {
        self.budgets.values()
    }

    /// Returns the services that the policy's failovers name.
    #[must_use]
    #[inline]
    pub fn destinations(&self) -> &BTreeMap<Arc<str>, Destination> {
        &self.destinations
    }

    /// Returns the observer that the policy's `dead_letter` names.
    #[must_use]
    #[inline]
    pub fn dead_letters(&self, name: &str) -> Option<&Arc<dyn DeadLetters>> {
        self.dead_letters.get(name)
    }

    /// Returns `true` if the request's head may be needed when nothing else is left of it.
    #[must_use]
    #[inline]
    pub fn keeps_head(&self) -> bool {
        self.keeps_head
    }

    /// Asks for a planned retry: the budget that the plan names, if this route has one of that name, else `otherwise`.
    #[must_use]
    pub fn ask(&self, plan: RetryPlan, otherwise: &RetryBudget, now: Duration) -> PaymentResult {
        let named = plan.budget().and_then(|name| self.budgets.get(name));
        named.unwrap_or(otherwise).ask(plan, now)
    }

    /// The way from this service to another one.
    pub fn rebase_to(&self, there: &Destination) -> Rebase {
        Rebase {
            from: self.base.clone(),
            to: there.base.clone(),
            credentials: Vec::new(),
        }
    }

    /// What a response says of a quota, as far as calls on this route wait for it. A pause that no call would sit out helps
    /// nobody: the next one learns by itself that it is refused.
    pub fn quota(&self, outcome: &Outcome<'_>, at: Moment) -> Option<GateQuota> {
        let quota = outcome.quota(at.wall).map(GateQuota::from);
        quota.filter(|quota| self.policy.would_wait(quota.reset()))
    }

    /// Whether a success needs no rule, and is counted in one budget.
    pub fn is_silent(&self) -> bool {
        self.policy.streams().is_none()
            && !self.policy.reads_whole_answers()
            && self.policy.takes_successes_as_they_are()
            && self.budgets.is_empty()
            && !self.keeps_head
    }
}

/// Host and port that a URI names, or that `host` does: without user info, in lower case, and without the port that goes
/// without saying.
#[inline]
pub fn public_authority<'a>(
    uri: &'a Uri,
    host: impl FnOnce() -> Option<&'a str>,
) -> Option<Cow<'a, str>> {
    match uri.authority() {
        Some(authority) => Some(public(uri, authority.as_str())),
        None => host().map(|host| public(uri, host)),
    }
}

fn public<'a>(uri: &Uri, authority: &'a str) -> Cow<'a, str> {
    // Most authorities have neither, which a look at eight bytes at a time shows.
    if has_at_or_capital(authority.as_bytes()) {
        return Cow::Owned(made_public(uri, authority));
    }
    Cow::Borrowed(without_default_port(uri, authority))
}

#[cold]
#[inline(never)]
fn made_public(uri: &Uri, authority: &str) -> String {
    let (_, public) = authority.rsplit_once('@').unwrap_or(("", authority));
    without_default_port(uri, public).to_ascii_lowercase()
}

#[inline]
fn without_default_port<'a>(uri: &Uri, authority: &'a str) -> &'a str {
    match authority.as_bytes() {
        [.., b':', b'8', b'0'] => without_port_of(&Scheme::HTTP, uri, authority),
        [.., b':', b'4', b'4', b'3'] => without_port_of(&Scheme::HTTPS, uri, authority),
        _ => authority,
    }
}

#[cold]
#[inline(never)]
fn without_port_of<'a>(default_of: &Scheme, uri: &Uri, authority: &'a str) -> &'a str {
    let parts = authority.rsplit_once(':');
    let parts = parts.filter(|_| uri.scheme() == Some(default_of));
    parts.map_or(authority, |(host, _)| host)
}

/// Whether a text has an `@` or a capital letter, which follow each other in ASCII.
#[inline(always)]
fn has_at_or_capital(text: &[u8]) -> bool {
    let has = |bytes: &[u8]| {
        let found = |found, byte| found | (b'@'..=b'Z').contains(byte);
        bytes.iter().fold(false, found)
    };
    match text.last_chunk::<8>() {
        Some(last) => has(last) || text.chunks_exact(8).any(has),
        None => has(text),
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Route")
            .field("service", &self.service)
            .field("policy", &self.policy)
            .field("budget", &self.budget)
            .finish_non_exhaustive()
    }
}

impl Route {
    /// Whether a first attempt's head is that of a success.
    ///
    /// # Errors
    ///
    /// If it is not, what the policy's own classifier has said of it, so that it is asked no second time.
    #[inline]
    pub fn succeeds(
        &self,
        status: StatusCode,
        headers: &HeaderMap,
        request: impl FnOnce() -> Option<RequestLine>,
    ) -> Result<(), Option<Verdict>> {
        if !is_standard_success(status.as_u16()) {
            Err(None)
        } else if self.policy.judges_successes() {
            self.succeeds_by_classifier(&Outcome::response(status, headers), request)
        } else {
            Ok(())
        }
    }

    fn succeeds_by_classifier(
        &self,
        outcome: &Outcome<'_>,
        request: impl FnOnce() -> Option<RequestLine>,
    ) -> Result<(), Option<Verdict>> {
        let request = request();
        let outcome = outcome.for_request(request.as_ref());
        if self.policy.reads_body(&outcome) {
            return Err(None);
        }
        match self.policy.own_verdict(&outcome) {
            Some(own) if own.class != Class::Success => Err(Some(own)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_is_public_wherever_its_capitals_and_user_stand() {
        let public = |uri: &str| {
            let uri: Uri = uri.parse().unwrap();
            public_authority(&uri, || None).map(Cow::into_owned)
        };
        for length in 1..20 {
            let host = "a".repeat(length);
            let named = public(&format!("http://{host}:8080/A@B"));
            assert_eq!(named, Some(format!("{host}:8080")));
            let user = public(&format!("https://{host}:B@{host}:443"));
            assert_eq!(user.as_ref(), Some(&host));
            for at in 0..length {
                let mut capital = host.clone();
                capital.replace_range(at..=at, "A");
                let named = public(&format!("http://{capital}:80/"));
                assert_eq!(named.as_ref(), Some(&host), "{capital}");
            }
        }
        assert_eq!(public("https://a:80/").as_deref(), Some("a:80"));
        assert_eq!(public("http://a:443/").as_deref(), Some("a:443"));
    }
}
