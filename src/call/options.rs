//! The part of a request that concerns the retry layer: its own settings, and the facts of one that is not saved.

use super::KeptHead;
use crate::client::requests::Head;
use crate::engine::{Engine, Routes};
use crate::gate::GatedCall;
use crate::nested::is_inside;
use crate::policy::{
    Attempt, RequestFacts, RequestLine, RetryOverride, RetryPolicy, RetrySession, StopReason,
};
use crate::report::ReportSlot;
use crate::route::Route;
use http::{Extensions, Method};
use http_retry_core::adapter::{Budgets, GateKey, Subject, is_logged};
use http_retry_core::attempt::AttemptHandle;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// A request's own settings. Every call in flight has one, so its rare parts are in a box, which most calls lack.
pub(crate) struct RequestOptions {
    own: Option<Box<RequestSettings>>,
    /// `true` for [`RetryOverride::off`], which then needs no box.
    off: bool,
    pub(crate) nested: bool,
    /// The facts of a request that is not saved.
    unsaved: Option<RequestFacts>,
}

#[derive(Default)]
struct RequestSettings {
    settings: Option<RetryOverride>,
    slot: Option<ReportSlot>,
    rest: Option<RestOfDownload>,
    /// The handle to an attempt of an outer layer, for a layer that repeats the request all the same.
    outer: Option<AttemptHandle>,
    /// Set only for a request that is not saved.
    unsaved: Option<Box<UnsavedRequest>>,
}

/// An extension that marks the request for the rest of a download. Its head must come within this time, unless the
/// policy has a limit of its own, and its body is handed out as it comes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RestOfDownload {
    pub(crate) head_within: Duration,
}

/// Further facts of a request that is not saved.
struct UnsavedRequest {
    line: RequestLine,
    gate_key: Option<GateKey>,
}

impl RequestSettings {
    /// Applies the settings of a request for the rest of a download.
    #[cold]
    fn resume_settings(&mut self, policy: &RetryPolicy) {
        let Some(rest) = self.rest else {
            return;
        };
        // The download checks the body itself, and its caller reads the bytes as they come.
        let own = self.settings.take().unwrap_or_default().whole_answers(0);
        self.settings = Some(match policy.attempt_time_limit() {
            Some(_) => own,
            None => own.attempt_timeout(rest.head_within),
        });
    }
}

static OFF: RetryOverride = RetryOverride::off();

impl RequestOptions {
    #[inline]
    pub(crate) fn from_extensions(extensions: Option<&Extensions>) -> Self {
        let mut options = Self {
            own: None,
            off: false,
            nested: is_inside(),
            unsaved: None,
        };
        if let Some(extensions) = extensions.filter(|extensions| !extensions.is_empty()) {
            options.read(extensions);
        }
        options
    }

    fn read(&mut self, extensions: &Extensions) {
        let own = extensions.get::<RetryOverride>();
        // An attempt in the extensions is that of an outer layer, perhaps in another task. The override lifts both
        // signs of nesting.
        self.nested |= extensions.get::<Attempt>().is_some();
        self.nested &= !own.is_some_and(RetryOverride::ignores_nesting);
        self.set(own, extensions.get().cloned());
        if let Some(outer) = extensions.get::<AttemptHandle>().filter(|_| !self.nested) {
            self.own.get_or_insert_default().outer = Some(outer.clone());
        }
        // A request that is sent once continues no download.
        let rest = if self.off { None } else { extensions.get() };
        if let Some(rest) = rest {
            self.own.get_or_insert_default().rest = Some(*rest);
        }
    }

    fn set(&mut self, settings: Option<&RetryOverride>, slot: Option<ReportSlot>) {
        self.off = settings == Some(&OFF);
        let settings = settings.filter(|_| !self.off).cloned();
        let before = self.own.take();
        let (rest, outer) = before.map_or((None, None), |own| (own.rest, own.outer));
        let has_any = settings.is_some() || slot.is_some() || rest.is_some() || outer.is_some();
        self.own = has_any.then(|| {
            Box::new(RequestSettings {
                settings,
                slot,
                rest,
                outer,
                unsaved: None,
            })
        });
    }

    #[inline]
    pub(crate) fn own(&self) -> Option<&RetryOverride> {
        if self.off {
            return Some(&OFF);
        }
        self.own.as_ref()?.settings.as_ref()
    }

    pub(super) fn slot(&self) -> Option<&ReportSlot> {
        self.own.as_ref()?.slot.as_ref()
    }

    pub(super) fn outer(&self) -> Option<&AttemptHandle> {
        self.own.as_ref()?.outer.as_ref()
    }

    /// Returns `true` if the layer only passes the request on.
    pub(super) fn is_passthrough(&self) -> bool {
        self.nested || self.own().is_some_and(RetryOverride::is_off)
    }

    /// Returns the request's route. Settings that the route does not allow are ignored from here on.
    #[inline]
    pub(crate) fn route(&mut self, engine: &Engine, head: Option<Head<'_>>) -> Arc<Route> {
        let route = match &engine.routes {
            Routes::One(route) => Arc::clone(route),
            Routes::PerRequest(_) => self.chosen_route(engine, head),
        };
        if let Some(own) = self.own.as_mut().filter(|own| own.rest.is_some()) {
            own.resume_settings(route.policy());
        }
        route
    }

    fn chosen_route(&mut self, engine: &Engine, head: Option<Head<'_>>) -> Arc<Route> {
        let service = self
            .own()
            .and_then(|own| own.service_name().map(|name| &**name));
        let head = head.map(|head| head.route()).unwrap_or_default();
        let route = engine.route(&head, service);
        if let Some(own) = self.own() {
            let allowed = route.allowed(own.clone());
            // The box is built anew without `unsaved`, which is stored only later.
            self.set(Some(&allowed), self.slot().cloned());
        }
        route
    }

    /// Returns `true` if a retry can follow the first attempt. If not, the request need not be saved.
    pub(crate) fn may_retry(&self, route: &Route) -> bool {
        let own = self.own().and_then(RetryOverride::retries);
        let ever = own.unwrap_or(route.policy().retry_limit()) > 0
            || route.policy().resends_beyond_its_limit();
        ever && !self.is_passthrough()
    }

    /// Returns `true` if a success needs no report and its body is not read.
    pub(super) fn is_plain(&self) -> bool {
        self.own.is_none()
            || self.slot().is_none()
                && self
                    .own()
                    .is_none_or(|own| own.whole_answer_bytes() <= Some(0))
    }

    /// Starts the session of a request.
    pub(crate) fn session(
        &self,
        policy: &RetryPolicy,
        facts: RequestFacts,
        started: Duration,
    ) -> RetrySession {
        let mut session = policy.session(facts, started);
        if let Some(own) = self.own() {
            session = session.with_override(own);
        }
        if self.nested {
            session = session.disabled(StopReason::Nested);
        }
        session
    }

    pub(crate) fn subject(&self, route: &Route, head: Option<Head<'_>>) -> Subject {
        let authority = self.authority(head);
        let authority = authority.map_or_else(Arc::default, Arc::from);
        let named = self.own().and_then(|own| own.service_name().cloned());
        let named = route.name().cloned().or(named);
        Subject {
            service: named.unwrap_or_else(|| Arc::clone(&authority)),
            authority,
            method: self.method(head).cloned(),
        }
    }

    fn method<'a>(&'a self, head: Option<Head<'a>>) -> Option<&'a Method> {
        match head {
            Some(head) => Some(head.method),
            None => self.unsaved().map(|unsaved| unsaved.line.method()),
        }
    }

    /// Returns the name of the request's budget: that of its service, or host and port.
    pub(super) fn service<'a>(&'a self, route: &'a Route, head: Option<Head<'a>>) -> Cow<'a, str> {
        let own = || self.own()?.service_name().map(|name| &**name);
        match route.name().map(|name| &**name).or_else(own) {
            Some(named) => Cow::Borrowed(named),
            None => self.authority(head).unwrap_or_default(),
        }
    }

    fn authority<'a>(&'a self, head: Option<Head<'a>>) -> Option<Cow<'a, str>> {
        match head {
            Some(head) => head.authority(),
            None => Some(Cow::Borrowed(self.unsaved()?.line.authority())),
        }
    }

    /// Returns the facts of a request, or those of an operation if it has no head.
    pub(super) fn facts(&self, head: Option<Head<'_>>) -> RequestFacts {
        let facts = head.map(|head| head.facts()).or(self.unsaved);
        facts.unwrap_or_else(RequestFacts::operation)
    }

    /// Returns the request as classifiers see it, if it is not saved.
    pub(super) fn line(&self) -> Option<&RequestLine> {
        self.unsaved().map(|unsaved| &unsaved.line)
    }

    pub(super) fn gate_key(&self) -> Option<GateKey> {
        self.unsaved()?.gate_key
    }

    fn unsaved(&self) -> Option<&UnsavedRequest> {
        self.own.as_ref()?.unsaved.as_deref()
    }

    /// Stores the facts of a request that cannot be sent again. Its line is stored only if it selects the budget, if a
    /// classifier may need it, or if the log names it.
    pub(super) fn keep_facts(&mut self, (engine, route): (&Engine, &Route), head: Head<'_>) {
        self.unsaved = Some(head.facts());
        let one_budget = matches!(engine.budgets_of(route), Budgets::One(_));
        let is_named = || is_logged() && !self.is_passthrough() && !route.policy().is_off();
        if !one_budget || route.policy().asks_for_the_request() || is_named() {
            self.keep_line((engine, route), head);
        }
    }

    #[cold]
    fn keep_line(&mut self, context: (&Engine, &Route), head: Head<'_>) {
        let keyed = has_own_key(context.1.policy(), head);
        let line = head.line().keyed(keyed);
        let gate_key = key_at_the_gate(context, line.authority(), head);
        self.unsaved = self.unsaved.map(|facts| facts.keyed(keyed));
        let unsaved = UnsavedRequest { line, gate_key };
        self.own.get_or_insert_default().unsaved = Some(Box::new(unsaved));
    }
}

/// Returns `true` if a request has an idempotency key in the header that the policy names for it.
pub(super) fn has_own_key(policy: &RetryPolicy, head: Head<'_>) -> bool {
    let own = policy.key_header();
    let key = own.and_then(|name| head.value(name.as_str()));
    key.is_some_and(|key| !key.trim_ascii().is_empty())
}

/// Returns the gate of a call, if its policy has one. A shared gate joins its fleet.
#[cold]
pub(super) fn key_at_the_gate(
    (engine, route): (&Engine, &Route),
    authority: &str,
    head: Head<'_>,
) -> Option<GateKey> {
    route.policy().gate_wait_limit()?;
    let key = gate_key(engine, authority, head);
    let key_text = || gated(authority, head, |call| engine.gate.key_text(call));
    Some(engine.gate_key_of(route, (key, authority), key_text))
}

#[inline(always)]
pub(super) fn gate_key(engine: &Engine, authority: &str, head: Head<'_>) -> GateKey {
    // The default gate needs no header map, which a saved request would have to unpack.
    if engine.gate.is_per_host() {
        return engine.gate.key_of(authority);
    }
    gated(authority, head, |call| engine.gate.key(call))
}

/// Calls a function with more of a call than its host.
#[cold]
fn gated<T>(authority: &str, head: Head<'_>, with: impl FnOnce(&GatedCall<'_>) -> T) -> T {
    let headers = head.header_map();
    let mut call = GatedCall::new(authority, head.method, head.path(), &headers);
    call.extensions = head.extensions;
    with(&call)
}

pub(super) fn kept_head(head: Head<'_>) -> Box<KeptHead> {
    Box::new(KeptHead {
        method: head.method.clone(),
        at: head.to_uri(),
        uri: head.uri(),
        headers: head.header_map().into_owned(),
        credentials: Vec::new(),
    })
}
