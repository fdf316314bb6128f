//! Strategies, the longest delay and the signals of a workflow engine's graph.

use super::{Sent, all_ms, always, config, exactly, get, ms, post, ranges};
use http_retry::StopReason;
use http_retry::config::RetryConfig;
use http_retry::testing::Script;
use std::io::ErrorKind;

fn graph() -> RetryConfig {
    config("workflow_engine")
}

fn node(name: &str) -> String {
    format!("http://graph.example.com/{name}")
}

fn ranges_of(name: &str) -> Vec<(u128, u128)> {
    ranges(&graph(), &node(name))
}

/// The part of a ceiling that a strategy waits at least, as a divisor.
fn from_part(divisor: Option<u128>, ceilings: &[u128]) -> Vec<(u128, u128)> {
    let least = |ceiling: u128| divisor.map_or(0, |divisor| ceiling / divisor);
    ceilings.iter().map(|most| (least(*most), *most)).collect()
}

#[test]
fn every_strategy_waits_as_the_engine_computes_it() {
    for (name, ceilings) in [
        ("exponential", [2_000, 4_000, 8_000]),
        ("linear", [2_000, 4_000, 6_000]),
        ("fixed", [2_000, 2_000, 2_000]),
    ] {
        assert_eq!(ranges_of(name), exactly(&ceilings), "{name}");
        let full = ranges_of(&format!("{name}_full"));
        assert_eq!(full, from_part(None, &ceilings), "{name}_full");
        let equal = ranges_of(&format!("{name}_equal"));
        assert_eq!(equal, from_part(Some(2), &ceilings), "{name}_equal");
    }
}

#[test]
fn a_drawn_delay_lies_where_the_draw_says() {
    let quarter = Sent::with(
        u64::MAX / 4,
        &graph(),
        &always(500),
        get(&node("linear_full")),
    );
    for (delay, wanted) in quarter.delays().into_iter().zip([500, 1_000, 1_500]) {
        assert!(delay.abs_diff(ms(wanted)) < ms(1), "{delay:?}");
    }
}

#[test]
fn the_longest_delay_cuts_what_was_drawn() {
    let capped = exactly(&[2_000, 4_000, 8_000, 10_000, 10_000]);
    assert_eq!(ranges_of("capped"), capped);
}

#[test]
fn a_node_may_have_numbers_of_its_own() {
    let crowded = from_part(None, &[500, 1_500, 4_500, 13_500, 40_500]);
    assert_eq!(ranges_of("crowded"), crowded);
    assert_eq!(ranges_of("conservative"), exactly(&[5_000, 10_000]));
}

#[test]
fn a_node_that_fails_in_any_way_runs_again_up_to_its_limit() {
    for failing in [
        always(404),
        always(501),
        Script::new().error(ErrorKind::ConnectionReset),
    ] {
        let sent = Sent::through(&graph(), &failing, post(&node("exponential")));
        assert_eq!(sent.attempts(), 4);
        assert_eq!(sent.stop(), StopReason::AttemptsExhausted);
    }
    let mended = always(500).status(200);
    let sent = Sent::through(&graph(), &mended, post(&node("exponential")));
    assert_eq!(
        (sent.attempts(), sent.stop()),
        (2, StopReason::Succeeded),
        "{}",
        sent.report
    );
}

#[test]
fn a_pruned_branch_ends_at_once_with_the_nodes_answer() {
    let pruning = always(500)
        .status(500)
        .header("x-node-signal", "prune")
        .body("no such user");
    let sent = Sent::through(&graph(), &pruning, get(&node("fixed")));
    assert_eq!((sent.attempts(), sent.stop()), (2, StopReason::Stopped));
    assert_eq!(sent.rule(), Some("pruned"));
    assert_eq!(sent.answer.unwrap(), (500, "no such user".into()));
}

#[test]
fn a_requeued_node_keeps_its_count_of_retries_and_its_tokens() {
    let client = always(202).status(500).status(202).status(202).status(500);
    let sent = Sent::through(&graph(), &client, get(&node("exponential")));
    let delays = [30_000, 2_000, 30_000, 30_000, 4_000, 8_000];
    assert_eq!(sent.delays(), all_ms(&delays));
    assert_eq!(sent.stop(), StopReason::AttemptsExhausted);
    let left = "17.2"; // three of twenty are spent, and two of the answers that were no failure found room
    assert_eq!(sent.tokens_left(), left);
}

#[test]
fn a_node_that_is_requeued_for_ever_ends_after_an_hour() {
    let sent = Sent::through(&graph(), &always(202), get(&node("linear")));
    assert_eq!(sent.attempts(), 121);
    assert_eq!(sent.report.waited, ms(3_600_000));
    assert_eq!(sent.stop(), StopReason::WaitsExhausted);
    assert_eq!(sent.status(), 202);
}
