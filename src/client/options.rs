//! What a request asks of the retry layer.

use super::facts::{Unkept, facts, has_own_key, line};
use super::gate_key::{enter_gate, key_at_the_gate};
use super::{HasHead, Resend};
use crate::engine::{Engine, Routes};
use crate::nested::{AttemptMark, is_inside};
use crate::policy::{
    Attempt, RequestFacts, RequestLine, RetryOverride, RetryPolicy, RetrySession, StopReason,
};
use crate::report::{ReportRecorder, ReportSlot, Subject, is_logged};
use crate::retry_loop::{Admission, Progress, RequestHead};
use crate::route::{Budgets, Head, Route};
use http::Extensions;
use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

/// Every call under way has these, and so most of it is in a box that most calls lack.
pub(crate) struct RequestOptions {
    /// What the request says for itself.
    own: Option<Box<Own>>,
    /// It says that it is sent once, which takes no box.
    off: bool,
    pub(super) nested: bool,
    /// The facts of a request of which nothing is kept.
    unkept: Option<RequestFacts>,
}

#[derive(Default)]
struct Own {
    says: Option<RetryOverride>,
    slot: Option<ReportSlot>,
    /// Only of a request of which nothing is kept.
    unkept: Option<Box<Unkept>>,
}

static OFF: RetryOverride = RetryOverride::off();

impl RequestOptions {
    #[inline]
    pub(crate) fn of(extensions: Option<&Extensions>) -> Self {
        match extensions.filter(|extensions| !extensions.is_empty()) {
            Some(extensions) => Self::among(extensions),
            None => Self {
                own: None,
                off: false,
                nested: is_inside(),
                unkept: None,
            },
        }
    }

    fn among(extensions: &Extensions) -> Self {
        let own = extensions.get::<RetryOverride>();
        let marked = extensions.get::<Attempt>().is_some();
        let mut options = Self {
            own: None,
            off: false,
            nested: (marked || is_inside()) && !own.is_some_and(|own| own.even_if_nested),
            unkept: None,
        };
        options.say(own, extensions.get().cloned());
        options
    }

    fn say(&mut self, says: Option<&RetryOverride>, slot: Option<ReportSlot>) {
        self.off = says == Some(&OFF);
        let says = says.filter(|_| !self.off).cloned();
        let is_said = says.is_some() || slot.is_some();
        let own = || Own {
            says,
            slot,
            unkept: None,
        };
        self.own = is_said.then(|| Box::new(own()));
    }

    #[inline]
    fn own(&self) -> Option<&RetryOverride> {
        match self.off {
            true => Some(&OFF),
            false => self.own.as_ref()?.says.as_ref(),
        }
    }

    fn slot(&self) -> Option<&ReportSlot> {
        self.own.as_ref()?.slot.as_ref()
    }

    /// Whether the request forbids to resume its download.
    pub(super) fn never_resumed(&self) -> bool {
        self.own().is_some_and(|own| own.never_resumed)
    }

    /// Whether the layer only passes the request on.
    fn stands_aside(&self) -> bool {
        self.nested || self.own().is_some_and(|own| own.off)
    }

    /// What the request goes by. What it may not say for itself is left out from here on.
    #[inline]
    pub(crate) fn route<Q: Resend>(&mut self, engine: &Engine, request: &Q) -> Arc<Route> {
        match &engine.routes {
            Routes::One(route) => Arc::clone(route),
            Routes::PerRequest(_) => self.chosen_route(engine, request),
        }
    }

    fn chosen_route<Q: Resend>(&mut self, engine: &Engine, request: &Q) -> Arc<Route> {
        let service = self.own().and_then(|own| own.service.as_deref());
        let head = Head {
            method: Some(request.method()),
            scheme: request.scheme(),
            authority: request.authority(),
            path: request.path(),
        };
        let route = engine.route(&head, service);
        if let Some(own) = self.own() {
            let allowed = route.overrides.allowed(own.clone());
            self.say(Some(&allowed), self.slot().cloned());
        }
        route
    }

    /// Whether a retry can follow the first attempt at all; if not, nothing need be kept for one.
    pub(crate) fn may_retry(&self, route: &Route) -> bool {
        let own = self.own().and_then(|own| own.max_retries);
        let ever = own.unwrap_or(route.policy.max_retries()) > 0
            || route.policy.resends_beyond_its_limit();
        ever && !self.stands_aside()
    }

    /// Whether a success needs no report, and nothing is read of it.
    pub(crate) fn is_plain(&self) -> bool {
        let own = |own: &RetryOverride| own.whole_answers > Some(0);
        self.slot().is_none() && !self.own().is_some_and(own)
    }

    /// How long the first attempt may take, if there is a limit.
    #[inline]
    pub(super) fn first_limit(&self, policy: &RetryPolicy) -> Option<Duration> {
        policy.first_limit(self.own())
    }

    /// Lets the first attempt go at once, where the gate has nothing to decide or there is none.
    #[inline(always)]
    pub(crate) fn enter<E: Deref<Target = Engine>>(
        &self,
        engine: E,
        route: &Route,
        request: &impl HasHead,
        now: Duration,
    ) -> Result<Admission<E>, E> {
        if self.stands_aside() || route.policy.max_gate_wait().is_none() {
            return Ok(Admission::new(engine, None));
        }
        let at_once = route.policy.quotas_at_once();
        enter_gate(engine, request, now, at_once)
    }

    /// The start of a request's way; the request itself, or a copy, names its service.
    pub(crate) fn progress<H: HasHead>(
        &self,
        (engine, route): (Arc<Engine>, Arc<Route>),
        request: Option<&H>,
        started: Duration,
    ) -> Progress {
        let facts = request.map(facts).or(self.unkept);
        let facts = facts.unwrap_or_else(RequestFacts::operation);
        let subject = self.subject(&route, request);
        let named = self.own().and_then(|own| own.service.as_ref());
        let unknown = engine.unknown_service(&route, named);
        let observers = Arc::clone(&engine.observers);
        let method = subject.method.clone();
        let gate_key = match request {
            Some(request) => key_at_the_gate((&engine, &route), &subject.authority, request),
            None => self.kept().and_then(|unkept| unkept.gate_key),
        };
        let keyed = request.is_some_and(|request| has_own_key(&route.policy, request));
        let asks = route.policy.asks_for_the_request();
        let asked = match request {
            Some(request) => asks.then(|| line(request).keyed(keyed)),
            None => self.line().filter(|_| asks).cloned(),
        };
        let facts = facts.keyed(keyed);
        let session = self.session(&route, facts, started).with_method(method);
        Progress {
            session: session.of_request(asked),
            budget: engine.budget_of(&route, || Arc::clone(&subject.service)),
            recorder: ReportRecorder::new(subject, observers, self.slot().cloned(), started)
                .with_unknown_service(unknown),
            head: request.filter(|_| route.keeps_head).map(head),
            gate_key: gate_key.unwrap_or_default(),
            admission: None,
            narrower: Vec::new(),
            mark: AttemptMark::new(false),
            engine,
            route,
        }
    }

    pub(super) fn session(
        &self,
        route: &Route,
        facts: RequestFacts,
        started: Duration,
    ) -> RetrySession {
        let session = route.policy.session(facts, started);
        let session = match self.own() {
            Some(own) => session.with_override(own),
            None => session,
        };
        match self.nested {
            true => session.standing_aside(StopReason::Nested),
            false => session,
        }
    }

    pub(super) fn subject(&self, route: &Route, request: Option<&impl HasHead>) -> Subject {
        let authority = self.authority(request);
        let authority = authority.map_or_else(Arc::default, Arc::from);
        let named = self.own().and_then(|own| own.service.clone());
        let named = route.service.clone().or(named);
        let method = match request {
            Some(request) => Some(request.method()),
            None => self.line().map(RequestLine::method),
        };
        Subject {
            service: named.unwrap_or_else(|| Arc::clone(&authority)),
            authority,
            method: method.cloned(),
        }
    }

    /// The name that the request's budget goes by: its service's, or host and port.
    pub(super) fn service<'a>(
        &'a self,
        route: &'a Route,
        request: Option<&'a impl HasHead>,
    ) -> Cow<'a, str> {
        let own = || self.own()?.service.as_deref();
        match route.service.as_deref().or_else(own) {
            Some(named) => Cow::Borrowed(named),
            None => self.authority(request).unwrap_or_default(),
        }
    }

    fn authority<'a>(&'a self, request: Option<&'a impl HasHead>) -> Option<Cow<'a, str>> {
        match request {
            Some(request) => request.authority(),
            None => Some(Cow::Borrowed(self.line()?.authority())),
        }
    }

    /// Keeps what is needed of a request that cannot be sent again: its facts; and its line, where each service has a
    /// budget, which is found by that, where who judges its answer may ask for it, or where the log names it.
    pub(super) fn keep_facts(
        &mut self,
        (engine, route): (&Engine, &Route),
        request: &impl HasHead,
    ) {
        self.unkept = Some(facts(request));
        let one_budget = matches!(engine.budgets_of(route), Budgets::One(_));
        let is_named = || is_logged() && !self.stands_aside() && !route.policy.is_off();
        if !one_budget || route.policy.asks_for_the_request() || is_named() {
            self.keep_line((engine, route), request);
        }
    }

    #[cold]
    fn keep_line(&mut self, way: (&Engine, &Route), request: &impl HasHead) {
        let unkept = Unkept::of(way, request);
        let keyed = unkept.line.is_keyed();
        self.unkept = self.unkept.map(|facts| facts.keyed(keyed));
        self.own.get_or_insert_default().unkept = Some(Box::new(unkept));
    }

    /// The line of a request of which nothing else is kept.
    pub(super) fn line(&self) -> Option<&RequestLine> {
        self.kept().map(|unkept| &unkept.line)
    }

    fn kept(&self) -> Option<&Unkept> {
        self.own.as_ref()?.unkept.as_deref()
    }
}

fn head(request: &impl HasHead) -> Box<RequestHead> {
    let uri = request.uri().into_owned();
    Box::new(RequestHead {
        method: request.method().clone(),
        at: uri.parse().ok(),
        uri,
        headers: request.header_map().into_owned(),
        credentials: Vec::new(),
    })
}
