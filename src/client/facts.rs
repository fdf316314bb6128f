//! What a request's head says of it, the key that makes it safe to repeat, and what is known of one that is not kept.

use super::gate_key::key_at_the_gate;
use super::{HasHead, Resend};
use crate::engine::Engine;
use crate::gate::GateKey;
use crate::policy::{RequestFacts, RequestLine, RetryPolicy};
use crate::route::Route;
use http::Method;
use std::sync::Arc;

/// Gives a request that must be processed once a key that makes processing it twice as good as once, where the engine
/// does so.
#[inline]
pub(super) fn give_key<Q: Resend>(engine: &Engine, route: &Route, request: &mut Q) {
    if !engine.idempotency_keys || facts(request).is_idempotent() {
        return;
    }
    if !has_own_key(&route.policy, request) {
        engine.put_new_key(&route.policy, request.headers_mut());
    }
}

/// Whether a request carries a key in the header that the service has for it.
pub(super) fn has_own_key(policy: &RetryPolicy, request: &impl HasHead) -> bool {
    let own = policy.key_header();
    let key = own.and_then(|name| request.value(name.as_str()));
    key.is_some_and(|key| !key.trim_ascii().is_empty())
}

/// What an outcome is about.
pub(super) fn line(request: &impl HasHead) -> RequestLine {
    let authority = request.authority();
    let authority = authority.map_or_else(Arc::default, Arc::from);
    let by_key = RequestFacts::by_first_values(&Method::POST, |name| request.value(name));
    RequestLine::of(request.method(), authority, request.path(), by_key)
}

/// What the server must know of the request.
#[inline]
pub(super) fn facts(request: &impl HasHead) -> RequestFacts {
    RequestFacts::by_first_values(request.method(), |name| request.value(name))
}

/// What the loop must know of a request of which nothing is kept, besides its facts.
pub(super) struct Unkept {
    pub(super) line: RequestLine,
    pub(super) gate_key: Option<GateKey>,
}

impl Unkept {
    pub(super) fn of((engine, route): (&Engine, &Route), request: &impl HasHead) -> Self {
        let keyed = has_own_key(&route.policy, request);
        let line = line(request).keyed(keyed);
        let gate_key = key_at_the_gate((engine, route), line.authority(), request);
        Self { line, gate_key }
    }
}
