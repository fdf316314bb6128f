//! What holds in one place of a document, in the words of a table's cells.

use http_retry::RetryPolicy;
use http_retry::policy::WorstCase;
use http_retry::services::RouteSummary;
use std::time::Duration;

/// A thousand years, of which nobody will see the end.
const UNBOUNDED: u64 = 1_000 * 365 * 86_400;
/// The longest waits that a schedule lists.
const LISTED: u32 = 6;

pub(super) fn place(route: &RouteSummary) -> String {
    match (&route.service, &route.route) {
        (Some(service), Some(route)) => format!("{service}/{route}"),
        (Some(service), None) => service.clone(),
        _ => "(all others)".to_owned(),
    }
}

pub(super) fn attempts(route: &RouteSummary) -> String {
    let words = |worst: &WorstCase| match worst.attempts {
        Some(attempts) => attempts.to_string(),
        None => "unlimited".to_owned(),
    };
    let (all, own) = (words(&route.worst_case), words(&route.policy.worst_case()));
    if all == own {
        all
    } else {
        format!("{all}\n({own} here)")
    }
}

/// The longest wait before each retry. What repeats to the end is named once.
pub(super) fn schedule(policy: &RetryPolicy) -> String {
    let retries = policy.retry_limit();
    if retries == 0 || policy.worst_case().attempts == Some(1) {
        return "-".to_owned();
    }
    let listed: Vec<Duration> = (1..=retries.min(LISTED))
        .map(|n| policy.longest_delay(n))
        .collect();
    let last = policy.longest_delay(retries);
    let tail = listed
        .iter()
        .rev()
        .take_while(|delay| **delay == last)
        .count();
    let (start, tail) = listed.split_at(listed.len() - tail);
    let mut words: Vec<String> = start.iter().map(|delay| duration(*delay)).collect();
    let repeats = retries as usize - start.len();
    match (tail.len(), repeats) {
        (0, _) => words.push(format!("... {}", duration(last))),
        (_, 1) => words.push(duration(last)),
        _ if retries == u32::MAX => words.push(format!("{} each", duration(last))),
        _ => words.push(format!("{repeats} x {}", duration(last))),
    }
    format!("{} ({})", words.join(" "), policy.own_jitter())
}

pub(super) fn time(route: &RouteSummary) -> String {
    let worst = &route.worst_case;
    if let (Some(time), Some(deadline)) = (worst.time(), worst.deadline) {
        let why = if time < deadline {
            ""
        } else {
            ", the deadline"
        };
        return format!("{}{why}", duration(time));
    }
    let with_attempts = |waits: Option<Duration>| match (waits, worst.sending) {
        (None, _) => "no limit".to_owned(),
        (Some(waits), Some(sending)) => duration(waits.saturating_add(sending)),
        (Some(Duration::ZERO), None) => "the attempts".to_owned(),
        (Some(waits), None) => format!("{} + attempts", duration(waits)),
    };
    let (own, asked) = (with_attempts(worst.backoff), with_attempts(worst.waits));
    let gate = match worst.gated_waits {
        Duration::ZERO => String::new(),
        waits if route.shares_gate => format!("\n+ {} at the fleet's gate", duration(waits)),
        waits => format!("\n+ {} at the gate", duration(waits)),
    };
    if own == asked {
        format!("{own}{gate}")
    } else {
        format!("{own}\n{asked} if asked{gate}")
    }
}

pub(super) fn budget(route: &RouteSummary) -> String {
    let name = match (&route.budget, route.tokens) {
        (Some(name), _) => name,
        (None, Some(_)) => "its own",
        (None, None) => "one per host",
    };
    let shared = if route.shared { "\nof the fleet" } else { "" };
    match (route.tokens, route.capacity) {
        (Some(tokens), Some(capacity)) => format!("{name}\n{tokens} of {capacity}{shared}"),
        _ => format!("{name}{shared}"),
    }
}

/// A rule without a name has its place for one, of which the end is enough here.
pub(super) fn rule((name, verdict): &(String, String)) -> String {
    let name = name.strip_prefix("services.").unwrap_or(name);
    format!("{name}: {verdict}")
}

/// A duration as a document would write it, in its two largest units.
pub(super) fn duration(duration: Duration) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "m"), (1, "s")];
    if duration.is_zero() {
        return "0s".to_owned();
    }
    if duration < Duration::from_secs(60) {
        return format!("{duration:?}");
    }
    let mut left = duration.as_secs();
    if left > UNBOUNDED {
        return "no limit".to_owned();
    }
    let mut parts = Vec::new();
    for (seconds, unit) in UNITS {
        if left / seconds > 0 {
            parts.push(format!("{}{unit}", left / seconds));
        }
        left %= seconds;
    }
    parts.truncate(2);
    parts.concat()
}
