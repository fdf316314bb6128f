//! No document tells a secret, wherever it stands: not in an error, not in any `Debug` output, not in an explanation.

use http_retry::config::{ConfigErrors, Document, RetryConfig};
use http_retry::report::DeadLetter;
use serde_json::{Value, json};
use std::time::Duration;

const SECRET: &str = "hunter2";

/// Texts with user info, a query, a fragment, a header or a cookie in them.
const TEXTS: [&str; 12] = [
    "http://user:hunter2@h/",
    "//user:hunter2@h",
    "user:hunter2@h",
    "https://user:hunter2%40h/",
    "http://h/?key=hunter2",
    "/path?key=hunter2",
    "http://h/#hunter2",
    "Authorization: Bearer hunter2",
    "X-Api-Key: hunter2",
    "Bearer hunter2",
    "sid=hunter2; path=/",
    "sid=hunter2",
];

/// A document with every key that there is.
fn full() -> Value {
    let retry = json!({
        "use": "patient", "max_attempts": 4, "backoff": "linear", "base": "1s", "factor": 2, "first_step": 1,
        "max_delay": "9s", "jitter": {"min": 0.5, "max": 1}, "cap": "both", "retry_on": ["5xx", {"status": 429}],
        "stop_on": [501], "retry_after": {"max": "30s", "over": "clamp"}, "methods": "all", "deadline": "1m",
        "attempt_timeout": "5s", "counter": "rule", "budget": "shared",
        "on_exhausted": {"respond": {"status": 503, "headers": {"x-a": "b"}, "body": "sorry"}},
    });
    let when = json!({
        "outcome": "error", "status": [500, "502-504"], "error": ["connect", "reset"], "code": "busy",
        "message": "slow", "header": {"x-a": ["b"], "x-c": true}, "method": "GET", "attempt": "<3",
        "retryable": true, "idempotent": true, "any": [429, {"header": "x-d"}], "all": [{"status": 503}],
        "not": {"status": 504},
    });
    let rules = json!([
        {"name": "one", "when": when, "retry": retry, "set": {"headers": {"x-a": ["b", "c"]}}},
        {"when": 202, "wait": {"delay": "1s", "at_most": 3, "max": "1m"}},
        {"when": 410, "do": "stop"},
        {"when": 501, "failover": "spare"},
    ]);
    json!({
        "version": 1,
        "budgets": {"shared": {"capacity": 9, "initial": 3, "per_second": 1, "per_success": 0.5, "retry_cost": 1, "timeout_cost": 2}},
        "policies": {"patient": {"use": "background", "backoff": {"custom": "mine", "args": {"a": ["b"]}}}},
        "retry": "patient",
        "rules": [{"when": 409, "retry": {"on_exhausted": {"dead_letter": "letters"}}}],
        "otherwise": "classify",
        "services": {
            "main": {
                "match": {"host": ["h.example", "*.h.example"], "scheme": "https", "path": "/v1/*", "method": "GET"},
                "base_url": "https://h.example/v1", "budget": "shared", "gate": {"max_wait": "1m"},
                "request_overrides": "deny", "retry": {"on_exhausted": {"failover": "spare"}}, "rules": rules,
                "otherwise": {"retry": {}},
                "routes": [{"name": "r", "match": {"path": "/v1/a", "method": ["PUT"]}, "retry": {"jitter": "20%"}, "otherwise": "fail"}],
            },
            "spare": {"base_url": "https://s.example", "retry": "never"},
        },
    })
}

#[test]
fn no_document_tells_a_secret_wherever_it_stands() {
    let full = full();
    load(&full).unwrap();
    for (place, nth) in places(&full).into_iter().zip(0..) {
        // In their turn, since all of them at every place take long.
        for text in [0, 7].map(|step| TEXTS[(nth + step) % TEXTS.len()]) {
            for value in [json!(text), json!([text]), json!({"a": text})] {
                let mut changed = full.clone();
                *changed.pointer_mut(&place).unwrap() = value;
                check(&changed);
            }
            let mut changed = full.clone();
            if let Value::Object(map) = changed.pointer_mut(&place).unwrap() {
                map.insert(text.to_owned(), json!(1));
                check(&changed);
            }
        }
    }
}

#[test]
fn no_key_tells_a_secret_whatever_it_stands_for() {
    let full = full();
    for (place, nth) in places(&full).into_iter().zip(0..) {
        let Some((map, key)) = place.rsplit_once('/') else {
            continue;
        };
        let mut changed = full.clone();
        if let Value::Object(map) = changed.pointer_mut(map).unwrap() {
            let value = map.remove(key).unwrap();
            map.insert(TEXTS[nth % TEXTS.len()].to_owned(), value);
            check(&changed);
        }
    }
}

/// Where headers and bodies stand, whatever stands there may be a secret.
#[test]
fn a_header_or_a_body_is_never_told_however_it_is_written() {
    let rule = "/services/main/rules/0";
    let respond = format!("{rule}/retry/on_exhausted/respond");
    let values = [
        json!(SECRET),
        json!([SECRET]),
        json!([[SECRET]]),
        json!({"a": SECRET}),
        json!({"a": {"b": SECRET}}),
        json!({"a b": SECRET}),
        json!({"a": format!("{SECRET}\n")}),
    ];
    let mut changed = full();
    *changed.pointer_mut(&format!("{rule}/set/headers")).unwrap() = json!({"hunter2 ": 1});
    check(&changed);
    for place in [
        format!("{rule}/set"),
        format!("{rule}/set/headers"),
        format!("{rule}/set/headers/x-a"),
        format!("{respond}/headers"),
        format!("{respond}/headers/x-a"),
        format!("{respond}/body"),
        respond,
    ] {
        for value in &values {
            let mut changed = full();
            *changed.pointer_mut(&place).unwrap() = value.clone();
            check(&changed);
        }
    }
}

/// What a program reads from the arguments of its own backoff.
#[derive(serde::Deserialize)]
#[serde(untagged)]
#[expect(dead_code, reason = "only whether it is read counts")]
enum Taken {
    Number(u64),
    Tenant(Tenant),
}

#[derive(serde::Deserialize)]
struct Tenant {
    #[serde(rename = "token", deserialize_with = "token")]
    _token: String,
}

/// Refuses what is too short, and quotes it.
fn token<'de, D: serde::Deserializer<'de>>(reader: D) -> Result<String, D::Error> {
    let text: String = serde::Deserialize::deserialize(reader)?;
    if text.len() > SECRET.len() {
        Ok(text)
    } else {
        Err(serde::de::Error::custom(format!("{text} is too short")))
    }
}

fn with_args<A: serde::de::DeserializeOwned + 'static>(args: &Value) -> Vec<String> {
    let backoff = json!({"custom": "mine", "args": args});
    let document = json!({"version": 1, "retry": {"backoff": backoff}});
    let document: Document = serde_json::from_value(document).unwrap();
    let builder = RetryConfig::builder().backoff("mine", |_: A| |_| Duration::ZERO);
    match builder.load(&document) {
        Ok(config) => vec![config.routes()[0].policy.explain()],
        Err(errors) => vec![errors.to_string(), format!("{errors:?}")],
    }
}

/// What the arguments of a program's own backoff hold is known to the program alone.
#[test]
fn the_arguments_of_a_backoff_are_never_told() {
    for args in [
        json!(SECRET),
        json!([SECRET]),
        json!({"a": SECRET}),
        json!({"a": [[SECRET]]}),
        json!({"token": SECRET}),
    ] {
        let told = [
            with_args::<u64>(&args),
            with_args::<String>(&args),
            with_args::<Args>(&args),
            with_args::<Tenant>(&args),
            with_args::<Taken>(&args),
        ];
        let told = told.concat().join("\n");
        assert!(!told.contains(SECRET), "{told}\nof {args}");
    }
}

#[test]
fn an_error_in_arguments_says_what_they_should_be() {
    let first = |told: Vec<String>| told.into_iter().next().unwrap();
    let wanted = "retry.backoff.args: invalid type: string \"this text\", expected u64";
    assert_eq!(first(with_args::<u64>(&json!(SECRET))), wanted);
    let wanted = "retry.backoff.args: invalid type: integer `1`, expected a sequence";
    assert_eq!(
        first(with_args::<Args>(&json!({"a": 1, "b": SECRET}))),
        wanted
    );
    let wanted = "retry.backoff.args: are not what this backoff takes";
    assert_eq!(
        first(with_args::<Tenant>(&json!({"token": "t: 1"}))),
        wanted
    );
}

#[test]
fn a_key_that_is_there_twice_tells_no_secret() {
    for text in TEXTS {
        let key = serde_json::to_string(text).unwrap();
        let twice = format!("{{{key}: 1, {key}: 2}}");
        let error = serde_json::from_str::<Document>(&twice).unwrap_err();
        assert!(!error.to_string().contains(SECRET), "{error}");
    }
}

fn check(document: &Value) {
    let read: Document = serde_json::from_value(document.clone()).unwrap();
    let mut told = vec![format!("{read:?}")];
    match load(document) {
        Ok(config) => {
            told.push(format!("{config:?} {:?}", config.routes()));
            told.extend(config.routes().iter().map(|route| route.policy.explain()));
        }
        Err(errors) => {
            told.push(format!("{errors} {errors:?}"));
            told.extend(errors.iter().map(|error| error.given.clone()));
        }
    }
    let told = told.join("\n");
    assert!(!told.contains(SECRET), "{told}\nof {document}");
}

fn load(document: &Value) -> Result<RetryConfig, ConfigErrors> {
    let document: Document = serde_json::from_value(document.clone()).unwrap();
    RetryConfig::builder()
        .dead_letters("letters", |_: &DeadLetter<'_>| {})
        .backoff("mine", |_: Args| |_| Duration::ZERO)
        .load(&document)
}

#[derive(serde::Deserialize)]
struct Args {
    #[serde(rename = "a")]
    _a: Vec<String>,
}

/// The JSON pointer of every value.
fn places(document: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut left = vec![(String::new(), document)];
    while let Some((place, value)) = left.pop() {
        match value {
            Value::Object(map) => {
                left.extend(
                    map.iter()
                        .map(|(key, value)| (format!("{place}/{key}"), value)),
                );
            }
            Value::Array(list) => {
                let items = list.iter().enumerate();
                left.extend(items.map(|(index, value)| (format!("{place}/{index}"), value)));
            }
            _ => {}
        }
        found.push(place);
    }
    found
}
