//! Sleeps, jitter range coefficients, error lists, shared blocks and unlimited retries of a task runner.

use super::{Sent, all_ms, always, config, exactly, get, ms, post, ranges};
use http_retry::StopReason;
use http_retry::testing::Script;
use std::io::ErrorKind;

fn step(name: &str) -> String {
    format!("http://steps.example.com/{name}")
}

fn ranges_of(name: &str) -> Vec<(u128, u128)> {
    ranges(&config("task_runner"), &step(name))
}

fn sent(name: &str, client: &Script) -> Sent {
    Sent::through(&config("task_runner"), client, post(&step(name)))
}

fn saying(script: Script, status: u16, code: &str) -> Script {
    let body = format!(r#"{{"error": {{"type": "{code}", "message": "no"}}}}"#);
    script.status(status).body(&body)
}

#[test]
fn a_list_of_sleeps_is_gone_through_and_its_last_one_repeats() {
    let list = [0, 1_000, 1_500, 2_000, 3_000, 5_000, 5_000, 5_000];
    assert_eq!(ranges_of("list"), exactly(&list));
    let jittered = [2_000, 4_000, 6_000, 8_000, 8_000, 8_000];
    assert_eq!(
        ranges_of("list_with_jitter"),
        jittered.map(|most| (0, most))
    );
}

#[test]
fn a_jitter_range_coefficient_sets_one_end_of_the_range() {
    let list = [2_000, 4_000, 6_000, 8_000, 8_000, 8_000];
    assert_eq!(
        ranges_of("list_with_jrc"),
        list.map(|most| (most / 2, most))
    );
    assert_eq!(ranges_of("fixed_with_jrc"), [(2_000, 10_000); 2]);
    assert_eq!(
        ranges_of("jrc_above_one"),
        [(2_000, 3_000), (4_000, 6_000), (4_000, 6_000)],
        "above 1 it may exceed the longest sleep"
    );
}

#[test]
fn linear_sleeps_grow_up_to_the_longest() {
    let linear = [3_000, 6_000, 8_500, 8_500];
    assert_eq!(ranges_of("linear"), exactly(&linear));
    let (full, least) = (14_000, 7_000);
    assert_eq!(
        ranges_of("linear_with_jrc"),
        [
            (2_500, 5_000),
            (5_000, 10_000),
            (least, full),
            (least, full),
            (least, full)
        ]
    );
}

#[test]
fn exponential_sleeps_begin_at_the_first_power() {
    let plain = [2_000, 4_000, 8_000, 16_000];
    assert_eq!(ranges_of("exponential"), exactly(&plain));
    let capped = [5_000, 10_000, 20_000, 21_000];
    assert_eq!(ranges_of("exponential_capped"), exactly(&capped));
}

#[test]
fn steps_share_blocks_and_keep_what_they_say_themselves() {
    assert_eq!(ranges_of("shared_list"), exactly(&[2_000, 4_000, 6_000]));
    assert_eq!(
        ranges_of("shared_list_longer"),
        exactly(&[2_000, 4_000, 6_000, 6_000, 6_000])
    );
    let base3 = [(1_500, 3_000), (4_250, 8_500)];
    assert_eq!(ranges_of("shared_base3"), base3);
}

#[test]
fn a_step_without_settings_is_run_five_times_without_a_pause() {
    assert_eq!(ranges_of("anything"), [(0, 0); 4]);
}

#[test]
fn unlimited_retries_end_with_success_or_with_the_deadline() {
    let mut client = Script::new();
    for _ in 0..40 {
        client = client.status(500);
    }
    let mended = sent("until_it_works", &client.status(200));
    assert_eq!((mended.attempts(), mended.status()), (41, 200));
    let down = sent("until_it_works", &always(500));
    assert_eq!(down.stop(), StopReason::DeadlineExceeded);
    assert_eq!(down.attempts(), 360, "one every ten seconds of an hour");
    assert_eq!(down.report.waited, ms(3_590_000));
}

#[test]
fn an_error_to_stop_on_ends_the_retries_and_any_other_does_not() {
    for severe in [always(400), saying(Script::new(), 500, "SevereError")] {
        let sent = sent("stop_on", &severe);
        assert_eq!(
            (sent.attempts(), sent.stop()),
            (1, StopReason::NotRetryable)
        );
    }
    let other = saying(Script::new(), 404, "KeyError");
    assert_eq!(sent("stop_on", &other).delays(), all_ms(&[2_000; 4]));
}

#[test]
fn with_a_list_of_errors_to_retry_on_no_other_error_is_retried() {
    let timeout = Script::new().error(ErrorKind::TimedOut);
    assert_eq!(sent("retry_on", &timeout).attempts(), 5);
    let named = saying(Script::new(), 404, "TimeoutError");
    assert_eq!(sent("retry_on", &named).attempts(), 5);
    let other = sent("retry_on", &always(500));
    assert_eq!(
        (other.attempts(), other.stop()),
        (1, StopReason::NotRetryable)
    );
}

#[test]
fn an_error_on_both_lists_is_not_retried() {
    let client = saying(always(503), 503, "SevereError");
    let sent = sent("both_lists", &client);
    assert_eq!(
        (sent.attempts(), sent.stop()),
        (2, StopReason::NotRetryable)
    );
}

#[test]
fn the_limit_is_looked_at_before_the_lists() {
    let client = always(500).status(500).status(500).status(500).status(400);
    let sent = Sent::through(&config("task_runner"), &client, get(&step("stop_on")));
    assert_eq!(
        (sent.attempts(), sent.stop()),
        (5, StopReason::AttemptsExhausted)
    );
}
