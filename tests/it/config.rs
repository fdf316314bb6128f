//! What a document says: what it is refused for, how its layers lie upon each other, what its rules decide, and how it
//! is replaced while it is in force.

mod bounds;
mod client;
mod dialects;
mod exhausted;
mod gates;
mod hedges;
mod many_headers;
mod memory;
mod merged;
mod most_specific;
mod overrides;
mod properties;
mod reading;
mod refused;
mod replaced;
mod rules;
mod secrets;
mod taught;
mod unknown_service;

use http_retry::config::{ConfigErrors, Document, RetryConfig};
use http_retry::{RetryPolicy, RetryReport};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn document(text: &str) -> Document {
    serde_yaml_ng::from_str(text).unwrap()
}

fn load(text: &str) -> Result<RetryConfig, ConfigErrors> {
    RetryConfig::load(&document(text))
}

/// The document in force, which is right.
pub(crate) fn config(text: &str) -> RetryConfig {
    load(text).unwrap_or_else(|errors| panic!("{errors}\nof {text}"))
}

/// The policy at a place: of a service's route, of the rest of a service, or of the rest of the document.
fn policy(config: &RetryConfig, service: Option<&str>, route: Option<&str>) -> RetryPolicy {
    let routes = config.routes();
    let found = routes
        .iter()
        .find(|found| found.service.as_deref() == service && found.route.as_deref() == route);
    found.expect("a place").policy.clone()
}

/// What an explanation says of one field: its value, and the place that it comes from.
fn origin(policy: &RetryPolicy, field: &str) -> Option<(String, String)> {
    origins(policy)
        .into_iter()
        .find_map(|(name, value, from)| (name == field).then_some((value, from)))
}

/// Every field that an explanation names with its value and its place.
fn origins(policy: &RetryPolicy) -> Vec<(String, String, String)> {
    let text = policy.explain();
    let read = |line: &str| {
        let (rest, from) = line.trim().strip_suffix(')')?.rsplit_once(" (from ")?;
        let (field, value) = rest.split_once(": ")?;
        Some((field.to_owned(), value.to_owned(), from.to_owned()))
    };
    text.lines().filter_map(read).collect()
}

/// The waits before each retry.
fn delays(report: &RetryReport) -> Vec<Duration> {
    let retries = report.attempts.iter().skip(1);
    retries.map(|attempt| attempt.delay).collect()
}

fn seconds(list: &[u64]) -> Vec<Duration> {
    list.iter().copied().map(Duration::from_secs).collect()
}
