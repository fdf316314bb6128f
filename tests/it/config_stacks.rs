//! One document on every stack, without a network and without waiting: the same decisions, and what they may cost.

mod bounded;
mod random;
mod stacks;

use http_retry::tower::RetryLayer;
use http_retry::{RetryReport, StopReason};
use random::Case;
use stacks::{Ending, Played, boxed_ending, by_middleware, by_tower, directly};
use std::collections::BTreeMap;
use std::io;

const CASES: u64 = 600;

/// How often each thing was seen.
type Seen = BTreeMap<String, u32>;

fn play(seed: u64, seen: &mut Seen) {
    let case = Case::of(seed);
    let why = || format!("seed {seed}: {case:#?}");
    let boxed = by_tower(&case, |layer| layer, boxed_ending);
    let plain = by_tower(&case, RetryLayer::unchanged_errors, |error: io::Error| {
        Ending::Error(error.kind())
    });
    assert_eq!(boxed, by_middleware(&case), "{}", why());
    assert_eq!(boxed.reports.len(), case.orders.len(), "{}", why());
    check_plain(&plain, &boxed, &why());
    if case.is_plain() {
        check_direct(directly(&case), plain, &boxed, &why());
        count(seen, "direct", true);
    }
    count_decisions(seen, &boxed);
}

/// With unchanged errors everything is the same, but for an answer in the place of an error of the policy's own.
fn check_plain(plain: &Played, boxed: &Played, why: &str) {
    let same = [plain.reports == boxed.reports, plain.sleeps == boxed.sleeps];
    assert!(
        same == [true; 2] && plain.calls == boxed.calls,
        "{why}\n{plain:#?}\n{boxed:#?}"
    );
    for (plain, boxed) in plain.endings.iter().zip(&boxed.endings) {
        let failed = matches!((plain, boxed), (Ending::Answer(..), Ending::Failed(_)));
        assert!(failed || plain == boxed, "{why}\n{plain:#?}\n{boxed:#?}");
    }
}

fn check_direct(direct: Played, plain: Played, boxed: &Played, why: &str) {
    // A response bears a report, but none of a success at once.
    let is_told =
        |report: &&RetryReport| report.attempt_count > 1 || report.stop != StopReason::Succeeded;
    let told: Vec<_> = boxed.reports.iter().filter(is_told).cloned().collect();
    assert_eq!(direct.reports, told, "{why}");
    assert_eq!(direct.endings, plain.endings, "{why}");
    let direct = (direct.sleeps, direct.calls);
    assert_eq!(direct, (plain.sleeps, plain.calls), "{why}");
}

fn count_decisions(seen: &mut Seen, played: &Played) {
    for report in &played.reports {
        count(seen, &report.stop.to_string(), true);
        let mut attempts = report.attempts.iter();
        count(
            seen,
            "ruled",
            attempts.any(|attempt| attempt.rule.is_some()),
        );
    }
    let mut calls = played.calls.iter();
    let moved = calls.any(|(_, uri)| uri.host() == Some("spare.example"));
    count(seen, "moved", moved);
}

fn count(seen: &mut Seen, what: &str, is_so: bool) {
    *seen.entry(what.to_owned()).or_default() += u32::from(is_so);
}

/// `HTTP_RETRY_SEED=<seed>` plays one alone.
#[test]
fn the_same_document_makes_the_same_decisions_on_every_stack() {
    let mut seen = Seen::new();
    if let Ok(seed) = std::env::var("HTTP_RETRY_SEED") {
        return play(seed.parse().unwrap(), &mut seen);
    }
    (0..CASES).for_each(|seed| play(seed, &mut seen));
    let often = [
        "succeeded",
        "attempts_exhausted",
        "not_retryable",
        "not_idempotent",
        "accepted",
        "failed",
        "stopped",
        "budget_exhausted",
        "server_delay_too_long",
        "deadline_exceeded",
        "waits_exhausted",
        "disabled",
        "direct",
        "ruled",
        "moved",
    ];
    for stop in often {
        assert!(
            seen.get(stop).is_some_and(|times| *times >= 10),
            "{stop}: {seen:?}"
        );
    }
}
