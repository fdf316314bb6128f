//! Warnings of parts of a good document that are likely not meant.

use super::Problem;
use crate::arguments::{Target, url_of};
use crate::document::{Reading, Source};
use crate::report::Failure;
use crate::storm;
use http_retry::testing::MemoryStore;
use serde_json::Value;
use std::collections::BTreeSet;

/// The most services of a document that are put into a storm.
const MAX_STORMS: usize = 20;
/// The keys that send a request to another service.
const MOVES: [&str; 2] = ["failover", "jump"];

/// The warnings that the text itself gives rise to.
pub(super) fn of_text(source: &Source) -> Vec<Problem> {
    let all = unused(&source.tree)
        .into_iter()
        .chain(services_of(&source.tree));
    let all = all.map(|(path, words)| Problem {
        place: source.place(&path),
        path,
        words,
    });
    all.collect()
}

/// The paths of budgets and policies that nobody uses.
fn unused(tree: &Value) -> Vec<(String, String)> {
    // `retry: NAME` is `retry: {use: NAME}`.
    let kinds: [(&str, &str, &[&str]); 2] = [
        ("budgets", "budget", &["budget"]),
        ("policies", "policy", &["use", "retry"]),
    ];
    let mut found = Vec::new();
    for (block, what, users) in kinds {
        let used = named(tree, users);
        let unused = keys(tree.get(block)).filter(|name| !used.contains(*name));
        found.extend(unused.map(|name| {
            let words = format!("no service uses this {what}");
            (format!("{block}.{name}"), words)
        }));
    }
    found
}

/// The paths of services that no request meets, and of those that fail over to the server that was just given up.
fn services_of(tree: &Value) -> Vec<(String, String)> {
    let targets = named(tree, &MOVES);
    let mut found = Vec::new();
    for (name, service) in services(tree) {
        let path = format!("services.{name}");
        if service.get("match").is_none() && !targets.contains(name.as_str()) {
            let words =
                "it has no match, and no failover leads to it: only requests that name it meet it";
            found.push((path.clone(), words.to_owned()));
        }
        let here = url_of(name, tree);
        let is_here =
            |target: &&str| *target != name && url_of(target, tree).authority() == here.authority();
        let targets = named(service, &MOVES).into_iter().filter(is_here);
        found.extend(targets.map(|target| {
            let words = format!(
                "it fails over to {target}, which is the same server: the retries of both add up"
            );
            (path.clone(), words)
        }));
    }
    found
}

/// The services whose retries make a storm worse.
pub(super) fn of_storms(source: &Source, reading: &Reading) -> Result<Vec<Problem>, Failure> {
    let mut found = Vec::new();
    // The check has loaded it before, so it is good.
    let Ok(config) = source.load(reading, &MemoryStore::new()) else {
        return Ok(found);
    };
    for (name, _) in services(&source.tree).take(MAX_STORMS) {
        let subject = Target::of_service(name).subject(&config, &source.tree)?;
        if let Some(words) = storm::trial(source, reading, &config, &subject)? {
            let path = format!("services.{name}");
            let place = source.place(&path);
            found.push(Problem { path, words, place });
        }
    }
    let others = services(&source.tree).count().saturating_sub(MAX_STORMS);
    if others > 0 {
        found.push(Problem {
            path: "services".to_owned(),
            words: format!("{others} of them were put into no storm: at most {MAX_STORMS} are"),
            place: None,
        });
    }
    Ok(found)
}

fn services(tree: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let services = tree.get("services").and_then(Value::as_object);
    services.into_iter().flatten()
}

fn keys(value: Option<&Value>) -> impl Iterator<Item = &str> {
    let keys = value.and_then(Value::as_object).into_iter();
    keys.flat_map(|keys| keys.keys().map(String::as_str))
}

/// The names that these keys have as their values, anywhere in a part of the document.
fn named<'a>(value: &'a Value, keys: &[&str]) -> BTreeSet<&'a str> {
    let mut names = BTreeSet::new();
    collect(value, keys, &mut names);
    names
}

fn collect<'a>(value: &'a Value, keys: &[&str], names: &mut BTreeSet<&'a str>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                if keys.contains(&key.as_str()) {
                    names.extend(value.as_str());
                }
                collect(value, keys, names);
            }
        }
        Value::Array(items) => {
            for item in items {
                collect(item, keys, names);
            }
        }
        _ => {}
    }
}
