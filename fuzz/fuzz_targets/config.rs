//! Any document: it loads or is refused with its places, a refusal changes nothing, and no request exceeds the worst
//! case of its route.
//!
//! The input is text, in parts that lines of `===` divide: a document, another one that takes its place and is merged
//! into one of its services, and a letter for each outcome. A document is JSON where it starts with a brace, else YAML.
//! Or else its first byte is 0, and the rest chooses among the words that documents are made of.
#![no_main]

#[path = "config/words.rs"]
mod words;

use http::{HeaderMap, HeaderValue, StatusCode};
use http_retry::config::{ConfigErrors, Document, RetryConfig};
use http_retry::policy::Moment;
use http_retry::report::DeadLetter;
use http_retry::services::RouteSummary;
use http_retry::{ErrorKind, Outcome, RequestFacts, RetryBudget};
use libfuzzer_sys::arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;
use std::time::Duration;

fuzz_target!(|input: &[u8]| {
    let Some((one, other, steps)) = read(input) else {
        return;
    };
    let Some(config) = loaded(&one) else {
        return;
    };
    let routes = config.routes();
    assert_eq!(shown(&config), shown(&loaded(&one).expect("it did before")));
    routes.iter().for_each(|route| drive(route, &steps));

    let replaced = config.replace(&other);
    check_change(replaced, &config, &routes);
    if let Some(fresh) = loaded(&other) {
        assert_eq!(shown(&config), shown(&fresh));
    }
    let routes = config.routes();
    let patched = config.patch_service("a", &other);
    check_change(patched, &config, &routes);
    config
        .routes()
        .iter()
        .for_each(|route| drive(route, &steps));
});

fn read(input: &[u8]) -> Option<(Document, Document, Vec<u8>)> {
    if let Some((0, choices)) = input.split_first() {
        let mut choices = Unstructured::new(choices);
        let one = words::document(&mut choices).ok()?;
        let other = words::document(&mut choices).ok()?;
        let document = |value| serde_json::from_value(value).ok();
        return Some((
            document(one)?,
            document(other)?,
            choices.take_rest().to_vec(),
        ));
    }
    let text = std::str::from_utf8(input).ok()?;
    let mut parts = text.split("===\n");
    let one = document(parts.next()?)?;
    let other = parts.next().and_then(document);
    let steps = parts.next().unwrap_or("abcdefghijklmnopqrstuvwxyz");
    Some((one.clone(), other.unwrap_or(one), steps.into()))
}

fn document(text: &str) -> Option<Document> {
    if text.starts_with('{') {
        serde_json::from_str(text).ok()
    } else {
        serde_yaml_ng::from_str(text).ok()
    }
}

fn loaded(document: &Document) -> Option<RetryConfig> {
    let config = RetryConfig::builder()
        .dead_letters("letters", |_: &DeadLetter<'_>| {})
        .backoff("seconds", |step: u32| {
            move |n: u32| Duration::from_secs(1).saturating_mul(n.saturating_mul(step))
        })
        .load(document);
    config.map_err(|errors| check_errors(&errors)).ok()
}

fn check_errors(errors: &ConfigErrors) {
    let number = errors.iter().count();
    assert!((1..=20).contains(&number));
    for error in errors.iter() {
        assert!(!error.field.is_empty() && !error.allowed.is_empty());
    }
}

/// Everything that an operator can see of it.
fn shown(config: &RetryConfig) -> Vec<String> {
    config.routes().iter().map(show).collect()
}

fn show(route: &RouteSummary) -> String {
    let RouteSummary {
        service,
        route,
        policy,
        rules,
        worst_case,
        budget,
        ..
    } = route;
    let policy = policy.explain();
    format!("{service:?}/{route:?}: {policy} {rules:?} {worst_case:?} {budget:?}")
}

/// What is refused leaves everything as it was.
fn check_change(changed: Result<(), ConfigErrors>, config: &RetryConfig, before: &[RouteSummary]) {
    if let Err(errors) = changed {
        check_errors(&errors);
        let before: Vec<String> = before.iter().map(show).collect();
        assert_eq!(shown(config), before);
    }
}

const MOST_STEPS: usize = 50;

/// One request through its outcomes.
fn drive(route: &RouteSummary, steps: &[u8]) {
    let worst = route.policy.worst_case();
    let facts = RequestFacts::operation().idempotent(steps.len() % 4 != 3);
    let mut session = route.policy.session(facts, Duration::ZERO);
    let (mut now, mut waited, mut attempts) = (Duration::ZERO, Duration::ZERO, 1_u64);
    // A failover goes on at another service, which a session by itself does not know.
    let stays = !show(route).contains("failover");
    for step in steps.iter().cycle().take(MOST_STEPS) {
        let headers = headers(*step);
        let outcome = route.policy.classify(outcome(*step, &headers));
        let random = u64::from(*step).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let moment = Moment::new(now).with_random(random);
        let Ok(plan) = session.plan(&outcome, moment) else {
            break;
        };
        let paid = RetryBudget::unlimited().withdraw(plan, now);
        let paid = paid.expect("it has no limit");
        session.apply(&paid);
        let delay = paid.delay();
        now = now.saturating_add(delay);
        waited = waited.saturating_add(delay);
        attempts += 1;
        let deadline = worst.deadline.filter(|_| stays);
        assert!(deadline.is_none_or(|deadline| now < deadline));
        // What a limit refuses may count apart from the attempts, and its wait is one at the gate.
        let most = worst
            .attempts
            .map(|most| most.saturating_add(worst.gated_attempts));
        assert!(!stays || most.is_none_or(|most| attempts <= most));
        let most = worst
            .waits
            .map(|most| most.saturating_add(worst.gated_waits));
        assert!(!stays || most.is_none_or(|most| waited <= most));
    }
}

fn headers(step: u8) -> HeaderMap {
    let asked = [0, 1, 7, 40, 900, 100_000];
    let asked = asked.get(usize::from(step) / 16).copied();
    let headers = asked.map(|asked: u32| (http::header::RETRY_AFTER, HeaderValue::from(asked)));
    headers.into_iter().collect()
}

fn outcome(step: u8, headers: &HeaderMap) -> Outcome<'_> {
    let status = |status| Outcome::response(StatusCode::from_u16(status).expect("valid"), headers);
    match step % 16 {
        0 => status(200),
        1 => status(202),
        2 => status(400),
        3 => status(404),
        4 => status(409),
        5 => status(418),
        6 => status(429),
        7 => status(500),
        8 => status(501),
        9 => status(529),
        10 => Outcome::error(ErrorKind::Timeout),
        11 => Outcome::error(ErrorKind::Connect),
        12 => Outcome::error(ErrorKind::Reset),
        13 => Outcome::error(ErrorKind::Other),
        _ => status(503),
    }
}
