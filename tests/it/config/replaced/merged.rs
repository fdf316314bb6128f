//! Documents that are patched at random, each beside a full load of the same document.

use http::{Method, Uri};
use http_retry::config::{Document, RetryConfig};
use http_retry::route::{RequestHead, Route, Router};
use http_retry::{Outcome, RetryPolicy};
use http_retry_core::settings::PolicyExt;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::Config;
use serde_json::{Value, json};
use std::sync::Arc;

const SERVICES: [&str; 7] = ["a", "b", "c", "d", "e", "f", "g"];

/// Documents to start from, of which the last has no services.
fn documents() -> [Value; 3] {
    let budgets = json!({"shared": {"capacity": 50}, "scarce": {"capacity": 5}});
    let policies = json!({"calm": {"max_retries": 1, "base": "2s"}});
    let dialects = json!({"house": {"rows": [{"when": {"status": 403}, "as": "throttled"}]}});
    let services = json!({
        "a": {"match": {"host": "a.example"}, "budget": "shared", "retry": {"use": "calm"}},
        "b": {"match": {"host": "*.example"}, "base_url": "https://b.example"},
        "c": {"match": {"path": "/c/*"}, "retry": {"on_exhausted": {"failover": "b"}}},
        "d": {
            "base_url": "https://d.example",
            "rules": [{"when": {"status": 404}, "failover": "b"}],
            "routes": [{"name": "r", "match": {"path": "/r"}}],
        },
        "e": {"match": {"host": "a.example", "path": "/e"}, "dialect": "house"},
    });
    let whole = json!({
        "version": 1, "retry": "background", "budgets": budgets, "policies": policies,
        "dialects": dialects, "services": services,
    });
    let mut with_rules = whole.clone();
    with_rules["rules"] = json!([{"when": {"status": 409}, "retry": {"max_retries": 1}}]);
    with_rules["services"] = json!({"a": {}, "b": services["b"]});
    let mut without_services = whole.clone();
    without_services.as_object_mut().unwrap().remove("services");
    [whole, with_rules, without_services]
}

/// Changes of a service, good and bad; `$` is the name of a service.
fn changes() -> Vec<Value> {
    let failover = |key: &str| json!({"retry": {"on_exhausted": {key: "$"}}});
    let rule = |action: Value| {
        let mut rule = json!({"when": {"status": 503}});
        let action = action.as_object().unwrap().clone();
        rule.as_object_mut().unwrap().extend(action);
        json!({"rules": [rule]})
    };
    let routes = |routes: &[(&str, &str)]| {
        let routes = routes.iter();
        let routes = routes.map(|(name, path)| json!({"name": name, "match": {"path": path}}));
        json!({"routes": routes.collect::<Vec<_>>()})
    };
    vec![
        json!({}),
        json!(null),
        json!({"match": null}),
        json!({"match": {"host": "$.example"}}),
        json!({"match": {"host": ["a.example", "B.example:443"]}}),
        json!({"match": {"host": ["b.example:443", "a.example"], "path": null}}),
        json!({"match": {"host": "*.example"}}),
        json!({"match": {"host": null, "path": "/$/*"}}),
        json!({"match": {"path": "/$/*", "method": "POST"}}),
        json!({"match": {"host": "https://a.example"}}),
        json!({"base_url": "https://$.example/v1"}),
        json!({"base_url": "https://$.example"}),
        json!({"base_url": null}),
        failover("failover"),
        failover("failover"),
        failover("dead_letter"),
        json!({"retry": {"on_exhausted": null}}),
        rule(json!({"failover": "$"})),
        rule(json!({"retry": {"budget": "scarce"}})),
        rule(json!({"do": "retry"})),
        json!({"rules": null}),
        json!({"rules": [{"do": "stop"}, {"do": "retry"}]}),
        json!({"budget": "shared"}),
        json!({"budget": "scarce"}),
        json!({"budget": "nobodys"}),
        json!({"budget": null}),
        json!({"retry": {"max_retries": 2}}),
        json!({"retry": {"max_retries": 0, "bse": "1s"}}),
        json!({"retry": {"use": "calm", "max_retries": null}}),
        json!({"retry": {"use": "unknown"}}),
        json!({"retry": null}),
        json!({"dialect": "house"}),
        json!({"dialect": "by_host"}),
        json!({"dialect": "strange"}),
        json!({"dialect": null}),
        json!({"request_overrides": "deny"}),
        routes(&[("one", "/one"), ("two", "/two/*")]),
        routes(&[("one", "/one"), ("one", "/two")]),
        routes(&[("one", "/one"), ("two", "/one")]),
        json!({"routes": null}),
    ]
}

fn change() -> impl Strategy<Value = (&'static str, Value)> {
    let parts = (select(&SERVICES), select(changes()), select(&SERVICES));
    parts.prop_map(|(service, change, other)| {
        let change = change.to_string().replace('$', other);
        (service, change.parse().unwrap())
    })
}

proptest! {
    #![proptest_config(Config::with_cases(64))]

    /// A patched document decides as a full load of the same document does, or is refused in the same words and stays.
    #[test]
    fn a_patched_document_is_the_merged_one(
        document in select(documents().to_vec()),
        changes in prop::collection::vec(change(), 1..16),
    ) {
        let mut document = document;
        let config = load(&document).unwrap();
        for (service, change) in changes {
            let mut merged = document.clone();
            merge(&mut merged["services"][service], &change);
            let patched = config.patch_service(service, &read(&change));
            match (patched, load(&merged)) {
                (Ok(()), Ok(_)) => document = merged,
                (Err(patched), Err(loaded)) => prop_assert_eq!(patched, loaded),
                (patched, loaded) => {
                    let loaded = loaded.err();
                    prop_assert!(false, "{service}: {change}: {patched:?}, {loaded:?}");
                }
            }
            prop_assert_eq!(seen(&config), seen(&load(&document).unwrap()));
        }
    }

    /// So does one that is replaced by another of which only services differ.
    #[test]
    fn a_replaced_document_is_the_new_one(
        document in select(documents().to_vec()),
        changes in prop::collection::vec(change(), 1..9),
        removed in select(&SERVICES),
    ) {
        let config = load(&document).unwrap();
        let (mut document, mut merged) = (document.clone(), document);
        for (service, change) in changes {
            merge(&mut merged["services"][service], &change);
        }
        let services = merged["services"].as_object_mut().unwrap();
        services.remove(removed);
        match (config.replace(&read(&merged)), load(&merged)) {
            (Ok(()), Ok(_)) => document = merged,
            (replaced, loaded) => prop_assert_eq!(replaced.err(), loaded.err()),
        }
        prop_assert_eq!(seen(&config), seen(&load(&document).unwrap()));
    }
}

fn read(value: &Value) -> Document {
    serde_json::from_value(value.clone()).unwrap()
}

fn load(document: &Value) -> Result<RetryConfig, http_retry::config::ConfigErrors> {
    RetryConfig::load(&read(document))
}

/// A patch as its documentation describes it.
fn merge(value: &mut Value, change: &Value) {
    let Value::Object(changes) = change else {
        *value = change.clone();
        return;
    };
    for (key, change) in changes {
        match (change, value.as_object_mut()) {
            (Value::Null, Some(map)) => drop(map.remove(key)),
            (Value::Null, None) => {}
            (_, Some(map)) => merge(map.entry(key.as_str()).or_insert(Value::Null), change),
            (_, None) => {
                *value = json!({});
                merge(&mut value[key], change);
            }
        }
    }
}

/// All that requests and programs see of a document.
fn seen(config: &RetryConfig) -> Vec<String> {
    let mut seen: Vec<String> = config
        .routes()
        .into_iter()
        .map(|place| {
            let explained = place.policy.explain();
            let numbers = (place.worst_case, place.budget, place.tokens, place.capacity);
            format!(
                "{:?}/{:?}: {numbers:?} {:?} {explained}",
                place.service, place.route, place.rules
            )
        })
        .collect();
    let hosts = ["a.example", "b.example", "c.example:8443", "none.test"];
    let paths = ["/", "/one", "/e", "/c/x", "/b"];
    for (host, path) in hosts.iter().flat_map(|host| paths.map(|path| (host, path))) {
        let uri = format!("https://{host}{path}").parse().unwrap();
        for method in [Method::GET, Method::POST] {
            let head = RequestHead::new(&method, &uri);
            let route = config.route(&head, None);
            seen.push(format!(
                "{method} {uri}: {}",
                described(config, &route, host)
            ));
        }
    }
    for name in SERVICES {
        let uri = Uri::from_static("https://none.test/two/x");
        let route = config.route(&RequestHead::new(&Method::GET, &uri), Some(name));
        seen.push(format!(
            "{name}: {}",
            described(config, &route, "none.test")
        ));
    }
    seen
}

/// A route and those behind it, each of which is the one that requests of that service get.
fn described(config: &RetryConfig, route: &Route, host: &str) -> String {
    let (uri, headers) = (
        Uri::from_static("https://none.test/one"),
        http::HeaderMap::new(),
    );
    let head = RequestHead::new(&Method::GET, &uri);
    let asked = format!("https://{host}/one").parse().unwrap();
    let request = RequestHead::new(&Method::GET, &asked);
    let classify = |policy: &RetryPolicy| {
        let refused = Outcome::response(http::StatusCode::FORBIDDEN, &headers);
        policy.classify(refused.of_request(&request)).class()
    };
    let there = route.destinations().iter().map(|(name, destination)| {
        let found = destination.service.route(&head, None);
        assert!(Arc::ptr_eq(&found, &config.route(&head, Some(name))));
        let base = &destination.base;
        format!("{name} at {base}: {}", described(config, &found, host))
    });
    // Its first line names the service and the route.
    let explained = route.policy().explain();
    format!(
        "{:?} {:?} {:?} -> [{}]",
        explained.lines().next(),
        classify(route.policy()),
        route.policy().names_used(),
        there.collect::<Vec<_>>().join(", ")
    )
}
