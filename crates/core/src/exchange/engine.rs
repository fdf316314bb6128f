//! An adapter's settings, shared by all of its requests.

use crate::attempt::mark::LayerId;
use crate::budget::services::Budgets;
use crate::budget::{NEVER_REFILLS, PaidRetry, PaymentResult, PendingRetry, RetryBudget};
use crate::gate::ext::GateExt;
use crate::gate::{Gate, GateKey};
use crate::nested::{RedirectMode, Redirects};
use crate::policy::ext::PolicyExt;
use crate::policy::framing::set_header;
use crate::policy::{RetryPlan, RetryPolicy, RetrySession};
use crate::report::Observer;
use crate::report::span::{DEFAULT_LEVEL, RetryLevel, is_traced, warn_of_misuse};
use crate::route::{RequestHead, Route, Router, SharedServices};
use crate::runtime::{Runtime, within};
use http::{HeaderMap, HeaderName, HeaderValue};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The routes of an adapter, and its settings.
#[derive(Clone)]
#[non_exhaustive]
pub struct Engine {
    /// The source of each request's route.
    pub routes: Routes,
    /// The gate at which requests wait.
    pub gate: Gate,
    /// The clock, the timer and the randomness.
    pub runtime: Arc<dyn Runtime>,
    /// The observers of every event.
    pub observers: Arc<[Arc<dyn Observer>]>,
    /// The most bytes that are read of a failed response before a retry, so that its connection can be reused. By default
    /// enough for an error page: reading more costs about as much as a new connection.
    pub drain_bytes: usize,
    /// The longest time for which they are read.
    pub drain_time: Duration,
    /// The options for saving requests for later attempts.
    pub save: SaveOptions,
    /// `true` to mark every attempt in its request's extensions, so that a retry layer in another task sees it.
    pub across_tasks: bool,
    /// The time limits of resumed downloads.
    pub downloads: DownloadLimits,
    /// Knowledge of the redirects that the client below follows.
    pub(crate) redirects: Redirects,
    /// `true` to give requests that are not idempotent a key that makes them so.
    pub idempotency_keys: bool,
    /// The header for the number of the attempt.
    pub attempt_header: Option<HeaderName>,
    /// The level of the log lines on retries.
    pub retry_level: RetryLevel,
    /// The budgets set by hand, which pay if the document names none.
    budget: Option<Budgets>,
    /// The budgets and gates shared with other processes.
    fleet: Option<Arc<dyn SharedServices>>,
    /// `true` if the budget was set by hand.
    has_budget: bool,
    /// `true` if the gate was set by hand.
    has_gate: bool,
    /// `true` if no observer or header shows a first attempt that succeeds.
    silent: bool,
    /// `true` once a warning about an unknown service was logged.
    has_warned: Arc<AtomicBool>,
}

/// Logs a warning for each name in a policy that only services or a document give a meaning to.
fn warn_of_names(policy: &RetryPolicy) {
    let names = policy.names_used();
    let all = [
        (
            names.failovers,
            "a failover goes nowhere: only the services of for_services or of a document can be its target",
        ),
        (
            names.budgets,
            "a budget's name has no effect: only the services of for_services or of a document have names for budgets",
        ),
        (
            names.dead_letters,
            "dead letters go nowhere: only the services of for_services or of a document have names for observers",
        ),
    ];
    for (names, what) in all {
        for name in names {
            warn_of_misuse(name, what);
        }
    }
}

/// The default number of bytes recorded of a streaming body.
const DEFAULT_RECORDED_BYTES: usize = 64 * 1024;

/// One route for all requests, or a router.
#[derive(Clone)]
#[expect(clippy::exhaustive_enums, reason = "an adapter must know each")]
pub enum Routes {
    /// One policy for every request.
    One(Arc<Route>),
    /// Services or a document, which choose by the request.
    PerRequest(Arc<dyn Router>),
}

impl From<RetryPolicy> for Routes {
    fn from(policy: RetryPolicy) -> Self {
        warn_of_names(&policy);
        Self::One(Arc::new(Route::new(policy)))
    }
}

impl Engine {
    /// Creates the settings of an adapter with one policy, or with a router that each request's route is taken from.
    #[must_use]
    pub fn new(routes: impl Into<Routes>, runtime: Arc<dyn Runtime>) -> Self {
        let mut engine = Self {
            routes: routes.into(),
            gate: Gate::new(),
            runtime,
            observers: Arc::new([]),
            drain_bytes: 128 * 1024,
            drain_time: Duration::from_secs(1),
            save: SaveOptions {
                recorded: DEFAULT_RECORDED_BYTES,
                is_plain: false,
            },
            downloads: DownloadLimits::DEFAULT,
            across_tasks: false,
            redirects: Redirects::default(),
            idempotency_keys: false,
            attempt_header: None,
            retry_level: DEFAULT_LEVEL,
            budget: None,
            fleet: None,
            has_budget: false,
            has_gate: false,
            silent: false,
            has_warned: Arc::default(),
        };
        engine.refresh();
        engine
    }

    /// Returns the identity of this layer among the layers in use.
    pub(crate) fn id(&self) -> LayerId {
        // The address of the engine, which all clones of a layer share in one `Arc`.
        let address = std::ptr::from_ref(self).addr();
        LayerId::new(address).unwrap_or(LayerId::MIN)
    }

    /// Adds an observer.
    pub fn observe(&mut self, observer: impl Observer) {
        let new: Arc<dyn Observer> = Arc::new(observer);
        self.observers = self.observers.iter().cloned().chain([new]).collect();
    }

    /// Returns the route of a request, which may name its service.
    pub(crate) fn route(&self, head: &RequestHead<'_>, service: Option<&str>) -> Arc<Route> {
        match &self.routes {
            Routes::One(route) => Arc::clone(route),
            Routes::PerRequest(router) => router.route(head, service),
        }
    }

    /// Returns the service name of a request, if services or a document are set that do not know it.
    pub(crate) fn unknown_service(
        &self,
        route: &Route,
        named: Option<&Arc<str>>,
    ) -> Option<Arc<str>> {
        let has_services = matches!(self.routes, Routes::PerRequest(_));
        let unknown = named.filter(|_| has_services && route.service.as_ref() != named);
        // One warning is enough, since the report of each such request has the name.
        if let Some(name) = unknown.filter(|_| !self.has_warned.swap(true, Ordering::Relaxed)) {
            warn_of_misuse(
                name,
                "a request names a service that is not known: the name has no effect",
            );
        }
        unknown.cloned()
    }

    /// Sets what is known of the redirects that the client below follows.
    pub fn set_redirects(&mut self, mode: RedirectMode) {
        self.redirects = Redirects::with_mode(mode);
    }

    /// Joins a fleet with the budget and the gate, unless they were set by hand.
    pub fn join(&mut self, fleet: Arc<dyn SharedServices>) {
        if !self.has_budget {
            self.pay_from(Budgets::PerService(fleet.budgets()));
        }
        if !self.has_gate {
            self.gate = fleet.gate();
        }
        self.fleet = Some(fleet);
    }

    /// Sets the gate by hand, which a fleet then does not replace.
    pub fn set_gate(&mut self, gate: Gate) {
        self.has_gate = true;
        self.gate = gate;
    }

    /// Returns `true` if a first attempt on this route that succeeds only has to be counted.
    #[inline]
    pub(crate) fn is_silent(&self, route: &Route) -> bool {
        let silent = match &self.routes {
            Routes::One(_) => self.silent,
            Routes::PerRequest(_) => self.silent && !self.waits_alone(route) && route.is_silent(),
        };
        silent && !is_traced()
    }

    /// Returns `true` if nothing but a report needs a first attempt on this route that succeeds.
    pub(super) fn leaves_successes(&self, route: &Route) -> bool {
        let is_one = matches!(self.routes, Routes::One(_));
        (is_one || !self.waits_alone(route))
            && route.is_silent()
            && !route.policy().judges_successes()
    }

    /// Uses the gate of the document's fleet, unless a gate or another fleet was set by hand. Gives the clock and the
    /// observers to every fleet.
    fn join_fleets(&mut self) {
        let routes_fleet = match &self.routes {
            Routes::One(_) => None,
            Routes::PerRequest(choose) => choose.fleet(),
        };
        let by_hand = self.has_gate || self.fleet.is_some();
        if let Some(fleet) = routes_fleet.as_ref().filter(|_| !by_hand) {
            self.gate = fleet.gate();
        }
        for fleet in self.fleet.iter().chain(&routes_fleet) {
            fleet.joined_by(&self.runtime, &self.observers);
        }
    }

    /// Updates the derived settings. Call it after every change.
    pub fn refresh(&mut self) {
        self.join_fleets();
        let one_is_silent = match &self.routes {
            Routes::One(route) => route.is_silent(),
            // Each route is asked when it is chosen: a document may change.
            Routes::PerRequest(_) => true,
        };
        self.silent = one_is_silent && self.observers.is_empty();
    }

    /// Updates the session for a request whose body was rewritten: it is as idempotent as its new headers say, and gets
    /// a new key if the layer adds keys. The key of the first request is removed.
    pub(crate) fn renew(
        &self,
        policy: &RetryPolicy,
        session: &mut RetrySession,
        headers: &mut HeaderMap,
    ) {
        if let Some(own) = policy.key_header() {
            headers.remove(own);
        }
        session.replace_headers(headers, false);
        if self.idempotency_keys && !session.facts().idempotent {
            let keyed = self.put_new_key(policy, headers);
            session.replace_headers(headers, keyed);
        }
    }

    /// Adds a unique idempotency key, in the service's own header if it has one. Returns `false` if there was no room
    /// for it, so that the request is not idempotent.
    pub fn put_new_key(&self, policy: &RetryPolicy, headers: &mut HeaderMap) -> bool {
        static DEFAULT_KEY_HEADER: HeaderName = HeaderName::from_static("idempotency-key");
        let name = policy.key_header().unwrap_or(&DEFAULT_KEY_HEADER);
        let key = uuid(self.runtime.key_entropy());
        let key = if policy.quotes_keys() {
            format!("\"{key}\"")
        } else {
            key
        };
        // Does not fail: hexadecimal digits, hyphens and quotes are valid in a header value.
        let Ok(key) = HeaderValue::from_str(&key) else {
            return false;
        };
        set_header(headers, name.clone(), key)
    }
}

/// Formats 122 random bits as a version 4 UUID (RFC 9562 section 5.4).
fn uuid(bits: u128) -> String {
    // The version, then the variant.
    let bits = (bits & !(0xf << 76)) | (0x4 << 76);
    let bits = (bits & !(0b11 << 62)) | (0b10 << 62);
    let (a, b, c) = (bits >> 96, (bits >> 80) & 0xffff, (bits >> 64) & 0xffff);
    let (d, e) = ((bits >> 48) & 0xffff, bits & 0xffff_ffff_ffff);
    format!("{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}")
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine")
            .field("routes", &self.routes)
            .field("observers", &self.observers.len())
            .field("drain_bytes", &self.drain_bytes)
            .field("drain_time", &self.drain_time)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(route) => f.debug_tuple("One").field(route).finish(),
            Self::PerRequest(_) => f.write_str("PerRequest"),
        }
    }
}

/// The options for saving a request for later attempts.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "an adapter fills it in")]
pub struct SaveOptions {
    /// The maximum number of bytes recorded of a stream, unless the body has its own limit.
    pub recorded: usize,
    /// `true` to save only the parts that are sent, without the extensions of reqwest's requests.
    pub is_plain: bool,
}

/// The time limits of the body of a resumed download: without data, and in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "an adapter fills it in")]
pub struct DownloadLimits {
    /// The longest time without data.
    pub idle_timeout: Duration,
    /// The longest time in all.
    pub deadline: Option<Duration>,
}

impl DownloadLimits {
    /// 30 s without data, and no limit in all.
    pub const DEFAULT: Self = Self {
        idle_timeout: Duration::from_secs(30),
        deadline: None,
    };
}

impl Engine {
    /// Sets the budget by hand. A document's budget takes precedence, a fleet's does not.
    pub fn set_budget(&mut self, budget: Budgets) {
        self.has_budget = true;
        let never_refills = match &budget {
            Budgets::One(budget) => budget.never_refills(),
            Budgets::PerService(budgets) => budgets.never_refill(),
        };
        if never_refills {
            warn_of_misuse("budget", NEVER_REFILLS);
        }
        self.pay_from(budget);
    }

    /// Pays at `now` for a planned retry on this route: from the budget that the plan names if the route has it, else from
    /// that of the service.
    #[must_use]
    pub fn ask(
        &self,
        route: &Route,
        service: impl FnOnce() -> Arc<str>,
        plan: RetryPlan,
        now: Duration,
    ) -> PaymentResult {
        route.ask(plan, &self.budget_of(route, service), now)
    }

    /// Returns the budget of a request on this route.
    pub(crate) fn budget_of(
        &self,
        route: &Route,
        service: impl FnOnce() -> Arc<str>,
    ) -> RetryBudget {
        self.budgets_of(route).of(service)
    }

    /// Returns the budgets that pay on this route.
    #[inline]
    pub(crate) fn budgets_of<'a>(&'a self, route: &'a Route) -> &'a Budgets {
        // A budget that was not set by hand is a fleet's, and a route that is alone has no part in the fleet.
        let pays_here = !route.names_budget && (self.has_budget || !route.alone);
        let own = self.budget.as_ref().filter(|_| pays_here);
        own.unwrap_or(route.budgets())
    }

    fn pay_from(&mut self, budgets: Budgets) {
        match &mut self.routes {
            Routes::One(route) => Arc::make_mut(route).budgets = budgets,
            Routes::PerRequest(_) => self.budget = Some(budgets),
        }
    }

    /// Waits for the fleet's answer to a pending retry, at most for the budget's own limit. After that the process pays
    /// alone, if it can. Returns `None` if the retry is refused.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future abandons the request to the fleet; nothing is paid.
    pub async fn answer(&self, mut pending: PendingRetry) -> Option<PaidRetry> {
        let timer = self.runtime.sleep(pending.wait());
        match within(timer, &mut pending).await {
            Some(answer) => answer,
            None => pending.pay_alone(self.runtime.now()),
        }
    }
}

impl Engine {
    /// Returns the key under which calls on this route wait. Its first call joins the gate's fleet, if there is one,
    /// under the name and `key_text`, which distinguishes it from others of that name. A route that is alone stays in
    /// this process.
    pub(crate) fn gate_key_of(
        &self,
        route: &Route,
        (key, name): (GateKey, &str),
        key_text: impl FnOnce() -> Option<String>,
    ) -> GateKey {
        if self.waits_alone(route) {
            return self.gate.unshared_key(key, self.runtime.now());
        }
        let longest = route.policy().longest_pause().unwrap_or(Duration::MAX);
        self.gate
            .share_key(key, name, &*self.runtime, longest, key_text);
        key
    }

    /// Returns `true` if pauses on this route stay in this process, whatever fleet the gate is in. A gate that was set
    /// by hand is shared as that gate was built.
    fn waits_alone(&self, route: &Route) -> bool {
        route.alone && !self.has_gate
    }
}

#[cfg(test)]
mod tests {
    use super::uuid;

    #[test]
    fn a_uuid_has_its_version_and_variant_whatever_the_random_bits() {
        assert_eq!(uuid(0), "00000000-0000-4000-8000-000000000000");
        assert_eq!(uuid(u128::MAX), "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }
}
