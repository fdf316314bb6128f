//! Gates below that of the whole service, for limits that affect some of its calls.

use super::*;
use crate::gate::GateKey;
use crate::gate::ext::GateExt;
use crate::gate::key::{MAX_NARROWER, NARROWER_LIFETIME};
use crate::policy::Scope;
use crate::request_head::RequestHead;
use http::Method;

type Call<'a> = (GateKey, RequestHead<'a>);

fn call<'a>(method: &'a Method, key: GateKey, path: &'a str) -> Call<'a> {
    let authority = Some("api.example".into());
    (key, RequestHead::of_parts(method, None, authority, path))
}

fn route(key: GateKey, path: &str) -> Call<'_> {
    call(&Method::GET, key, path)
}

fn post(key: GateKey, path: &str) -> Call<'_> {
    call(&Method::POST, key, path)
}

fn narrower(gate: &Gate, (key, request): &Call<'_>, now: Duration) -> Vec<GateKey> {
    gate.narrower(*key, request, now)
}

fn narrowed(
    gate: &Gate,
    (key, request): &Call<'_>,
    scope: Scope,
    now: Duration,
) -> Option<GateKey> {
    gate.narrowed(*key, request, scope, now)
}

#[test]
fn calls_pass_the_gate_of_each_limit_that_they_have_met() {
    let gate = Gate::new();
    let (now, service) = (SECOND, gate.key("a", None));
    let passed = |call| narrower(&gate, &call, now);
    assert!(!gate.has_narrower());
    for scope in [Scope::Account, Scope::Request] {
        assert_eq!(narrowed(&gate, &route(service, "/x"), scope, now), None);
    }
    assert!(!gate.has_narrower());

    let whole = narrowed(&gate, &route(service, "/x"), Scope::Route, now);
    let whole = whole.unwrap();
    assert_eq!(passed(route(service, "/x")), [whole]);
    assert_eq!(passed(post(service, "//%78")), [whole], "the same path");
    assert_eq!(passed(route(service, "/y")), []);
    assert_eq!(passed(route(gate.key("b", None), "/x")), []);

    let gets = narrowed(&gate, &route(service, "/x"), Scope::MethodRoute, now);
    assert_eq!(passed(route(service, "/x")), [whole, gets.unwrap()]);
    assert_eq!(passed(post(service, "/x")), [whole]);
}

#[test]
fn the_routes_that_have_met_a_named_limit_share_its_gate() {
    let gate = Gate::new();
    let (now, service) = (SECOND, gate.key("a", None));
    let scope = Scope::named("bucket").unwrap();
    let one = narrowed(&gate, &route(service, "/x"), scope, now).unwrap();
    assert_eq!(narrower(&gate, &post(service, "/x"), now), [one]);
    assert_eq!(narrower(&gate, &route(service, "/y"), now), []);
    let other = narrowed(&gate, &route(service, "/y"), scope, now);
    assert_eq!(other, Some(one));
    assert_eq!(narrower(&gate, &route(service, "/y"), now), [one]);
    // A service of another name has limits of its own, whatever they are called.
    let elsewhere = narrowed(&gate, &route(gate.key("b", None), "/x"), scope, now);
    assert_ne!(elsewhere, Some(one));
}

#[test]
fn a_narrower_gate_is_kept_for_an_hour_after_it_last_closed() {
    let gate = Gate::new();
    let call = route(gate.key("a", None), "/x");
    let met = |now| narrowed(&gate, &call, Scope::Route, now).unwrap();
    let key = met(SECOND);
    assert_eq!(narrower(&gate, &call, SECOND + NARROWER_LIFETIME), [key]);
    met(SECOND * 100);
    assert_eq!(
        narrower(&gate, &call, SECOND * 100 + NARROWER_LIFETIME),
        [key]
    );
    assert_eq!(narrower(&gate, &call, SECOND * 101 + NARROWER_LIFETIME), []);
}

#[test]
fn of_too_many_narrower_gates_the_oldest_is_dropped() {
    let gate = Gate::new();
    let service = gate.key("a", None);
    let paths: Vec<String> = (0..=MAX_NARROWER).map(|n| format!("/{n}")).collect();
    let (last, kept) = paths.split_last().unwrap();
    let meet = |path: &str, now| narrowed(&gate, &route(service, path), Scope::Route, now);
    let is_kept = |path: &str| !narrower(&gate, &route(service, path), SECOND * 60).is_empty();
    kept.iter().for_each(|path| {
        meet(path, SECOND * 2);
    });
    meet("/7", SECOND);
    // One that is known takes no place from others.
    meet("/8", SECOND * 3);
    assert!(kept.iter().all(|path| is_kept(path)));
    meet(last, SECOND * 3);
    let gone: Vec<&String> = paths.iter().filter(|path| !is_kept(path)).collect();
    assert_eq!(gone, ["/7"]);
}
