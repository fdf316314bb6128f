//! A request's own settings for its retries.

use super::engine::{Engine, Routes};
use super::head::Head;
use crate::attempt::AttemptHandle;
use crate::gate::GateKey;
use crate::nested::is_inside;
use crate::policy::ext::PolicyExt;
use crate::policy::{Attempt, RequestFacts, RetryOverride, RetryPolicy, RetrySession, StopReason};
use crate::report::{ReportSlot, Subject};
use crate::route::{RequestHead, Route};
use http::Extensions;
use std::sync::Arc;
use std::time::Duration;

/// A request's own settings. Every call in flight has them, so their rare parts are in a box, which most calls lack.
pub struct RequestSettings {
    rare: Option<Box<Rare>>,
    /// `true` for [`RetryOverride::off`], which then needs no box.
    off: bool,
    /// `true` for a request inside of an attempt of another retry layer.
    pub nested: bool,
    /// The facts of an operation, or of a request that is not saved. They stand here since there is room for them.
    pub(super) facts: Option<RequestFacts>,
}

#[derive(Default)]
struct Rare {
    settings: Option<RetryOverride>,
    slot: Option<ReportSlot>,
    rest: Option<RestOfDownload>,
    /// The name of the service of an operation that is not HTTP; empty for none.
    operation: Option<Arc<str>>,
    /// The handle to an attempt of an outer layer, for a layer that repeats the request all the same.
    outer: Option<AttemptHandle>,
    /// The request itself and its gate, if it is not saved and more than its facts may be asked for.
    request: Option<Arc<RequestHead<'static>>>,
    gate_key: Option<GateKey>,
}

/// An extension that marks the request for the rest of a download. Its head must come within this time, unless the
/// policy has a limit of its own, and its body is handed out as it comes.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::exhaustive_structs, reason = "an adapter fills it in")]
pub struct RestOfDownload {
    /// The longest time until the head.
    pub head_within: Duration,
}

static OFF: RetryOverride = RetryOverride::off();

impl RequestSettings {
    /// Returns the settings of a request with these extensions.
    #[must_use]
    #[inline]
    pub fn from_extensions(extensions: Option<&Extensions>) -> Self {
        let mut own = Self {
            rare: None,
            off: false,
            nested: is_inside(),
            facts: None,
        };
        if let Some(extensions) = extensions.filter(|extensions| !extensions.is_empty()) {
            own.read(extensions);
        }
        own
    }

    /// Returns the settings of an operation that is not HTTP. The name of its service is empty for none, and its facts say
    /// if it may run twice.
    #[must_use]
    pub fn of_operation(service: Arc<str>, facts: RequestFacts, slot: Option<ReportSlot>) -> Self {
        let rare = Rare {
            slot,
            operation: Some(service),
            ..Rare::default()
        };
        Self {
            rare: Some(Box::new(rare)),
            off: false,
            nested: is_inside(),
            facts: Some(facts),
        }
    }

    fn read(&mut self, extensions: &Extensions) {
        if let Some(slot) = extensions.get::<ReportSlot>() {
            self.rare.get_or_insert_default().slot = Some(slot.clone());
            if extensions.len() == 1 {
                return;
            }
        }
        let settings = extensions.get::<RetryOverride>();
        // An attempt in the extensions is that of an outer layer, perhaps in another task. The override lifts both
        // signs of nesting.
        self.nested |= extensions.get::<Attempt>().is_some();
        self.nested &= !settings.is_some_and(|own| own.retry_when_nested);
        self.set(settings);
        if let Some(outer) = extensions.get::<AttemptHandle>().filter(|_| !self.nested) {
            self.rare.get_or_insert_default().outer = Some(outer.clone());
        }
        // A request that is sent once continues no download.
        let rest = if self.off { None } else { extensions.get() };
        if let Some(rest) = rest {
            self.rare.get_or_insert_default().rest = Some(*rest);
        }
    }

    fn set(&mut self, settings: Option<&RetryOverride>) {
        self.off = settings == Some(&OFF);
        let settings = settings.filter(|_| !self.off);
        if self.rare.is_some() || settings.is_some() {
            self.rare.get_or_insert_default().settings = settings.cloned();
        }
    }

    /// Returns the request's own settings, if it has any.
    #[must_use]
    #[inline]
    pub fn get(&self) -> Option<&RetryOverride> {
        if self.off {
            return Some(&OFF);
        }
        self.rare.as_ref()?.settings.as_ref()
    }

    pub(super) fn slot(&self) -> Option<&ReportSlot> {
        self.rare.as_ref()?.slot.as_ref()
    }

    pub(super) fn outer(&self) -> Option<&AttemptHandle> {
        self.rare.as_ref()?.outer.as_ref()
    }

    /// Returns the request, if it is not saved and was kept by [`keep_request`](Self::keep_request).
    pub(super) fn request(&self) -> Option<&Arc<RequestHead<'static>>> {
        self.rare.as_ref()?.request.as_ref()
    }

    /// Returns the gate of the request, if it was kept by [`keep_request`](Self::keep_request) and has one.
    pub(super) fn gate_key(&self) -> Option<GateKey> {
        self.rare.as_ref()?.gate_key
    }

    /// Keeps what may be asked of a request that is not saved, before it is sent.
    pub(super) fn keep_request(
        &mut self,
        request: RequestHead<'static>,
        gate_key: Option<GateKey>,
    ) {
        let rare = self.rare.get_or_insert_default();
        (rare.request, rare.gate_key) = (Some(Arc::new(request)), gate_key);
    }

    /// Returns the name of the service of an operation: its own, else the route's, else an empty one. `None` for a
    /// request.
    pub(super) fn operation<'a>(&'a self, route: &'a Route) -> Option<&'a Arc<str>> {
        let own = self.rare.as_ref()?.operation.as_ref()?;
        let named = route.service.as_ref().filter(|_| own.is_empty());
        Some(named.unwrap_or(own))
    }

    /// Returns `true` if the layer only passes the request on.
    pub(super) fn is_passthrough(&self) -> bool {
        self.nested || self.get().is_some_and(|own| own.off)
    }

    /// Returns `true` if a retry can follow the first attempt. If not, the request need not be saved.
    #[must_use]
    pub fn may_retry(&self, route: &Route) -> bool {
        let own = self.get().and_then(|own| own.max_retries);
        let ever = own.unwrap_or(route.policy().retry_limit()) > 0
            || route.policy().resends_beyond_its_limit();
        ever && !self.is_passthrough()
    }

    /// Returns `true` if a success needs no report and its body is not read.
    pub(super) fn is_silent(&self) -> bool {
        self.slot().is_none() && self.leaves_successes()
    }

    /// Returns `true` if these settings do not ask for the body of a success.
    pub(super) fn leaves_successes(&self) -> bool {
        self.rare.is_none() || self.get().is_none_or(|own| own.whole_responses <= Some(0))
    }

    /// Returns the request's route. Settings that the route does not allow are ignored from here on.
    #[inline]
    pub fn route(&mut self, engine: &Engine, head: Option<&impl Head>) -> Arc<Route> {
        let route = match &engine.routes {
            Routes::One(route) => Arc::clone(route),
            Routes::PerRequest(_) => self.chosen_route(engine, head),
        };
        if let Some(rare) = self.rare.as_mut().filter(|rare| rare.rest.is_some()) {
            rare.resume_settings(route.policy());
        }
        route
    }

    fn chosen_route(&mut self, engine: &Engine, head: Option<&impl Head>) -> Arc<Route> {
        let service = self.service_name().map(|name| &**name);
        let head = head.map(Head::request).unwrap_or_default();
        let route = engine.route(&head, service);
        if let Some(own) = self.get() {
            let allowed = route.allowed(own.clone());
            self.set(Some(&allowed));
        }
        route
    }

    /// Starts the session of a request.
    #[must_use]
    pub fn session(
        &self,
        policy: &RetryPolicy,
        facts: RequestFacts,
        started: Duration,
    ) -> RetrySession {
        let mut session = policy.session(facts, started);
        if let Some(own) = self.get() {
            session = session.with_override(own);
        }
        if self.nested {
            session = session.disabled(StopReason::Nested);
        }
        session
    }

    /// Returns what the reports name: the route's service, else the request's own, else host and port.
    #[must_use]
    pub(crate) fn subject(&self, route: &Route, head: Option<&impl Head>) -> Subject {
        let authority = head.and_then(Head::authority);
        let authority = authority.map_or_else(Arc::default, Arc::from);
        Subject {
            service: self.named(route, &authority),
            authority,
            method: head.map(|head| head.method().clone()),
            default_port: head.and_then(|head| Subject::port_of(head.scheme())),
        }
    }

    pub(super) fn named(&self, route: &Route, authority: &Arc<str>) -> Arc<str> {
        Arc::clone(self.name(route).unwrap_or(authority))
    }

    /// Returns the name of an operation, or of a request whose route has one or that names its service.
    #[inline(always)]
    fn name<'a>(&'a self, route: &'a Route) -> Option<&'a Arc<str>> {
        let of_request = || route.service.as_ref().or(self.service_name());
        self.operation(route).or_else(of_request)
    }

    /// Returns the service that the request names, if it names one.
    pub(super) fn service_name(&self) -> Option<&Arc<str>> {
        let rare = self.rare.as_ref()?;
        match &rare.operation {
            Some(service) => Some(service).filter(|name| !name.is_empty()),
            None => rare.settings.as_ref()?.service.as_ref(),
        }
    }

    /// Returns the name of the request's budget.
    #[inline]
    pub(super) fn service<'a>(&'a self, route: &'a Route, authority: &'a str) -> &'a str {
        self.name(route).map_or(authority, |name| name)
    }
}

impl Rare {
    /// Applies the settings of a request for the rest of a download.
    #[cold]
    fn resume_settings(&mut self, policy: &RetryPolicy) {
        let Some(rest) = self.rest else {
            return;
        };
        // The download checks the body itself, and its caller reads the bytes as they come.
        let own = self.settings.take().unwrap_or_default().whole_responses(0);
        self.settings = Some(match policy.attempt_time_limit() {
            Some(_) => own,
            None => own.attempt_timeout(rest.head_within),
        });
    }
}
