//! The effective settings of an entry that a request can match: a service, a route, or all others.

use crate::units::short;
use http_retry::RetryPolicy;
use http_retry::policy::WorstCase;
use http_retry::services::RouteSummary;
use http_retry_core::settings::PolicyExt;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// The most retries of a schedule that are listed.
const LISTED: u32 = 20;

/// The policy's own wait before a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wait {
    pub(crate) retry: u32,
    pub(crate) least: Duration,
    pub(crate) most: Duration,
}

/// `service/route`, `service`, or `(all others)`.
pub(crate) fn name(entry: &RouteSummary) -> String {
    match (&entry.service, &entry.route) {
        (Some(service), Some(route)) => format!("{service}/{route}"),
        (Some(service), None) => service.clone(),
        _ => "(all others)".to_owned(),
    }
}

/// The waits before the first retries, at most 20.
pub(crate) fn schedule(policy: &RetryPolicy) -> Vec<Wait> {
    let backoff = policy.own_backoff();
    let waits = (1..=policy.retry_limit().min(LISTED)).map(|retry| Wait {
        retry,
        least: backoff.delay(retry, 0),
        most: policy.longest_delay(retry),
    });
    waits.collect()
}

pub(crate) fn attempts(worst: &WorstCase) -> String {
    match worst.attempts {
        Some(attempts) => attempts.to_string(),
        None => "no limit".to_owned(),
    }
}

/// The longest time of one request, as far as it has a limit.
pub(crate) fn time(worst: &WorstCase) -> String {
    if let Some(time) = worst.time() {
        return short(time);
    }
    match worst.waits {
        Some(waits) => format!("{} of waits, and the attempts", short(waits)),
        None => "no limit".to_owned(),
    }
}

pub(crate) fn budget(entry: &RouteSummary) -> String {
    let name = match (&entry.budget, entry.tokens) {
        (Some(name), _) => name.as_str(),
        (None, Some(_)) => "its own",
        (None, None) => "one per host",
    };
    match (entry.tokens, entry.capacity) {
        (Some(tokens), Some(capacity)) => format!("{name}, {tokens} of {capacity} tokens"),
        _ => name.to_owned(),
    }
}

/// The settings by name: those that the document gives, and those that follow from them.
pub(crate) fn fields(entry: &RouteSummary) -> BTreeMap<String, String> {
    let origins = entry.policy.origins();
    let given = origins.map(|(field, value, _)| (field.to_owned(), value.to_owned()));
    let waits = schedule(&entry.policy)
        .into_iter()
        .map(|wait| short(wait.most));
    let waits: Vec<String> = waits.collect();
    // An `otherwise` that does something follows the rules. It is among the fields already.
    let otherwise = entry
        .policy
        .origins()
        .find(|(field, ..)| *field == "otherwise");
    let is_last = otherwise.is_some_and(|(_, action, _)| action != "classify");
    let count = entry.rules.len().saturating_sub(is_last.into());
    let rules = entry.rules.iter().take(count);
    let rules = rules.map(|(name, action)| (format!("rule {name}"), action.clone()));
    let follows = [
        ("attempts, worst case", attempts(&entry.worst_case)),
        ("time, worst case", time(&entry.worst_case)),
        ("longest waits", waits.join(" ")),
        ("budget", budget(entry)),
        ("budget shared by a fleet", entry.shared.to_string()),
    ];
    let follows = follows.map(|(name, value)| (name.to_owned(), value));
    given.chain(rules).chain(follows).collect()
}

pub(crate) fn json(entry: &RouteSummary) -> Value {
    let waits = schedule(&entry.policy).into_iter().map(|wait| {
        json!({
            "retry": wait.retry,
            "least_ms": millis(wait.least),
            "most_ms": millis(wait.most),
        })
    });
    let rules = entry.rules.iter();
    let rules = rules.map(|(name, action)| json!({"name": name, "action": action}));
    let fields = entry.policy.origins().map(|(field, value, from)| {
        let field = field.to_owned();
        (field, json!({"value": value, "from": from}))
    });
    let worst = &entry.worst_case;
    json!({
        "service": entry.service,
        "route": entry.route,
        "fields": fields.collect::<Map<_, _>>(),
        "rules": rules.collect::<Vec<_>>(),
        "waits": waits.collect::<Vec<_>>(),
        "jitter": entry.policy.own_jitter().to_string(),
        "worst_case": {
            "attempts": worst.attempts,
            "refused_attempts": worst.gated_attempts,
            "time_ms": worst.time().map(millis),
            "backoff_ms": worst.backoff.map(millis),
            "waits_ms": worst.waits.map(millis),
        },
        "budget": {
            "name": entry.budget,
            "tokens": entry.tokens.map(|tokens| tokens.to_string()),
            "capacity": entry.capacity.map(|capacity| capacity.to_string()),
            "shared": entry.shared,
        },
    })
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
