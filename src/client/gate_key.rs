//! The gate that a request goes through: by its host, or by more than that.

use super::HasHead;
use crate::engine::Engine;
use crate::gate::{GateKey, GatedCall, NotIdle, RouteOf};
use crate::retry_loop::Admission;
use crate::route::Route;
use std::borrow::Cow;
use std::ops::Deref;
use std::time::Duration;

/// Lets the first attempt go at once, where the gate has nothing to decide.
///
/// # Errors
///
/// The engine, where the call must wait or be looked at.
#[inline(always)]
pub(super) fn enter_gate<E: Deref<Target = Engine>>(
    engine: E,
    request: &impl HasHead,
    now: Duration,
    quotas_at_once: bool,
) -> Result<Admission<E>, E> {
    let key = match request.authority() {
        Some(Cow::Borrowed(authority)) => gate_key(&engine, authority, request),
        made => key_of_made(&engine, made.as_deref().unwrap_or_default(), request),
    };
    if engine.gate.has_narrower() && has_narrower_gates(&engine, key, request, now) {
        return Err(engine);
    }
    match engine.gate.enter(key, now, quotas_at_once) {
        Ok(place) => Ok(Admission::new(engine, place)),
        Err(NotIdle { .. }) => Err(engine),
    }
}

/// The gate of a call whose authority is written in another way, or not at all.
#[cold]
fn key_of_made(engine: &Engine, made: &str, request: &impl HasHead) -> GateKey {
    gate_key(engine, made, request)
}

/// Whether the call must also pass a gate of a limit that stops fewer calls than all.
#[cold]
fn has_narrower_gates(
    engine: &Engine,
    key: GateKey,
    request: &impl HasHead,
    now: Duration,
) -> bool {
    let call = RouteOf {
        key,
        method: request.method(),
        path: request.path(),
    };
    !engine.gate.narrower(call, now).is_empty()
}

#[inline(always)]
fn gate_key(engine: &Engine, authority: &str, request: &impl HasHead) -> GateKey {
    if engine.gate.is_per_host() {
        return engine.gate.key_of(authority);
    }
    own_gate_key(engine, authority, request)
}

/// The gate of a call of which more than its host is asked.
#[cold]
fn own_gate_key(engine: &Engine, authority: &str, request: &impl HasHead) -> GateKey {
    gated(authority, request, |call| engine.gate.key(call))
}

/// The gate of a call that is looked at, if its policy has one. It joins its fleet, if it is shared.
#[cold]
pub(super) fn key_at_the_gate(
    (engine, route): (&Engine, &Route),
    authority: &str,
    request: &impl HasHead,
) -> Option<GateKey> {
    route.policy.max_gate_wait()?;
    let key = gate_key(engine, authority, request);
    let apart = || gated(authority, request, |call| engine.gate.apart(call));
    Some(engine.comes_to_the_gate(route, (key, authority), apart))
}

fn gated<T>(authority: &str, request: &impl HasHead, look: impl FnOnce(&GatedCall<'_>) -> T) -> T {
    look(&GatedCall {
        authority,
        method: request.method(),
        path: request.path(),
        headers: &request.header_map(),
        extensions: request.extensions(),
    })
}
