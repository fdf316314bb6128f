//! What holds at a place: of a rule, a route, a service, or the rest.

use super::super::client::{Client, Stack, get, on_tower, send, statuses};
use super::super::{config, delays, seconds};
use super::layered;

#[test]
fn a_rule_lies_above_the_route_and_uses_lies_below_it_there_too() {
    let text = "
version: 1
policies: {slow: {base: 30s, max_retries: 9}}
retry: {backoff: fixed, base: 1s, jitter: none, max_retries: 4}
services:
  a:
    match: {host: api.example}
    retry: {base: 2s}
    routes: [{name: r, match: {path: /v1/*}, retry: {base: 3s}, rules: [
      {when: {status: 404}, retry: {max_retries: 2}},
      {when: {status: 405}, retry: {base: 4s, max_retries: 1}},
      {when: {status: 406}, retry: {use: slow, max_retries: 1}},
      {when: {status: 407}, retry: slow}]}]
    rules: [{when: {status: 408}, retry: {max_retries: 1}}]
";
    let config = config(text);
    let waited = |status| delays(&on_tower(&config, statuses(&[status])).report);
    assert_eq!(waited(404), seconds(&[3, 3]));
    assert_eq!(waited(405), seconds(&[4]));
    assert_eq!(waited(406), seconds(&[30]));
    assert_eq!(waited(407), seconds(&[30; 9]));
    assert_eq!(waited(408), seconds(&[3]), "by the route's settings");
    assert_eq!(waited(500), seconds(&[3; 4]));
}

#[test]
fn each_place_has_its_own_policy() {
    let config = layered("{max_retries: 1}", "{max_retries: 2}", "{max_retries: 3}");
    let at = |uri: &str| {
        let request = http::Request::get(uri).body(String::new()).unwrap();
        let client = Client::new(statuses(&[503]));
        send(Stack::Tower, &config, &client, request).attempts()
    };
    assert_eq!(at("http://other.example/v1/x"), 2);
    assert_eq!(at("http://api.example/v2/x"), 3);
    assert_eq!(at("http://api.example/v1/x"), 4);
    let places: Vec<_> = config.routes();
    let names: Vec<_> = places
        .iter()
        .map(|place| (place.service.as_deref(), place.route.as_deref()))
        .collect();
    assert_eq!(
        names,
        [(Some("a"), Some("r")), (Some("a"), None), (None, None)]
    );
}

#[test]
fn the_nearest_budget_pays() {
    let text = "
version: 1
budgets: {wide: {capacity: 5, per_success: 0}, narrow: {capacity: 1, per_success: 0}}
retry: {budget: wide, backoff: none}
services: {a: {match: {host: api.example}, budget: narrow}}
";
    let config = config(text);
    let client = Client::new(statuses(&[503]));
    let ended = send(Stack::Reqwest, &config, &client, get());
    assert_eq!(ended.attempts(), 2);
    let budgets: Vec<_> = config
        .routes()
        .into_iter()
        .map(|place| place.budget)
        .collect();
    assert_eq!(budgets, [Some("narrow".into()), Some("wide".into())]);
    let tokens = |at: usize| config.routes()[at].tokens.unwrap().to_string();
    assert_eq!((tokens(0), tokens(1)), ("0".into(), "5".into()));
}
