//! Rules that wait: polls that count as no retries, and that come to an end.

use super::super::client::{Client, Ended, STACKS, Stack, get, on_tower, send, statuses};
use super::super::{SECOND, config, delays, seconds};
use super::get_on;
use http_retry::StopReason;
use http_retry::config::RetryConfig;
use http_retry::policy::DelaySource;
use http_retry::testing::Script;
use std::time::Duration;

/// A document that polls while the answer is 202, retries twice after 1 s, and holds five tokens.
fn polling(wait: &str, retry: &str) -> RetryConfig {
    config(&format!(
        "
version: 1
budgets: {{five: {{capacity: 5, per_success: 0}}}}
retry: {{backoff: fixed, base: 1s, jitter: none, max_retries: 2, budget: five{retry}}}
rules: [{{name: poll, when: {{status: 202}}, wait: {wait}}}]
"
    ))
}

fn tokens(config: &RetryConfig) -> String {
    config.routes()[0].tokens.unwrap().to_string()
}

#[test]
fn a_wait_spends_no_retry_and_no_token() {
    for stack in STACKS {
        let config = polling("{delay: 3s, at_most: 50}", "");
        let list: Vec<u16> = [[202; 40].as_slice(), &[503, 503, 200]].concat();
        let ended = get_on(stack, &config, &list);
        assert_eq!(ended.status, Some(200));
        assert_eq!(ended.attempts(), 43);
        assert_eq!(tokens(&config), "3", "two retries were paid for");
        assert_eq!(delays(&ended.report)[..40], seconds(&[3; 40]));
    }
}

#[test]
fn retries_and_waits_may_take_turns() {
    let config = polling("{delay: 3s, at_most: 2}", "");
    for stack in STACKS {
        let ended = get_on(stack, &config, &[202, 503, 202, 503, 200]);
        assert_eq!(ended.statuses(), [202, 503, 202, 503, 200]);
        assert_eq!(delays(&ended.report), seconds(&[3, 1, 3, 1]));
    }
}

fn ends(ended: &Ended, attempts: u32, stop: StopReason) {
    assert_eq!((ended.attempts(), ended.stop()), (attempts, stop));
    assert_eq!(ended.status, Some(202));
}

#[test]
fn a_wait_ends_after_so_many() {
    for stack in STACKS {
        let ended = get_on(stack, &polling("{delay: 3s, at_most: 2}", ""), &[202]);
        ends(&ended, 3, StopReason::WaitsExhausted);
    }
}

#[test]
fn a_wait_ends_after_so_long() {
    for stack in STACKS {
        for (max, attempts) in [("9s", 4), ("8s", 3), ("2s", 1)] {
            let config = polling(&format!("{{delay: 3s, max: {max}}}"), "");
            ends(
                &get_on(stack, &config, &[202]),
                attempts,
                StopReason::WaitsExhausted,
            );
        }
    }
}

#[test]
fn a_wait_ends_by_the_deadline() {
    for stack in STACKS {
        let config = polling("{delay: 3s}", ", deadline: 10s");
        ends(
            &get_on(stack, &config, &[202]),
            4,
            StopReason::DeadlineExceeded,
        );
    }
}

#[test]
fn the_nearest_bound_ends_a_wait() {
    let config = polling("{delay: 3s, at_most: 100, max: 1h}", ", deadline: 7s");
    ends(
        &on_tower(&config, statuses(&[202])),
        3,
        StopReason::DeadlineExceeded,
    );
}

#[test]
fn a_poll_comes_back_when_its_answer_says_so() {
    let later = || Script::new().status(202).header("retry-after", "7");
    for stack in STACKS {
        for (wait, own) in [("{at_most: 1}", 0), ("{delay: 3s, at_most: 1}", 3)] {
            let client = Client::new(later());
            let ended = send(stack, &polling(wait, ""), &client, get());
            let delay = ended.report.attempts[1].delay;
            assert!(
                delay >= SECOND * 7 && delay <= SECOND * 9,
                "{delay:?}, {own}"
            );
            let source = ended.report.attempts[1].delay_source;
            assert_eq!(source, Some(DelaySource::Server));
        }
        let slow = polling("{delay: 30s, at_most: 1}", "");
        let ended = send(stack, &slow, &Client::new(later()), get());
        let delay = delays(&ended.report)[0];
        assert!(
            delay >= SECOND * 30,
            "its own delay is the longer one: {delay:?}"
        );
    }
}

#[test]
fn a_poll_that_is_asked_to_wait_too_long_ends() {
    let config = polling("{at_most: 5}", ", retry_after: {max: 5s}");
    for stack in STACKS {
        let later = Script::new().status(202).header("retry-after", "7");
        let ended = send(stack, &config, &Client::new(later), get());
        ends(&ended, 1, StopReason::ServerDelayTooLong);
    }
}

#[test]
fn a_wait_without_a_delay_goes_by_the_backoff() {
    let text = "
version: 1
retry: {backoff: [1s, 4s, 9s], jitter: none}
rules: [{when: {status: 202}, wait: {at_most: 3}}]
";
    for stack in STACKS {
        let ended = get_on(stack, &config(text), &[202]);
        assert_eq!(delays(&ended.report), seconds(&[1, 4, 9]));
    }
}

/// The delays of a poll whose answer asks for this, and whose rule waits by the backoff.
fn asked(stack: Stack, status: u16, asked: &str, retry: &str) -> Vec<Duration> {
    let text = format!(
        "
version: 1
retry: {{backoff: fixed, jitter: none, {retry}}}
rules: [{{when: {{status: {status}}}, wait: {{at_most: 3}}}}]
"
    );
    let server = Script::new().status(status).header("retry-after", asked);
    let ended = send(stack, &config(&text), &Client::new(server), get());
    delays(&ended.report)
}

#[test]
fn a_wait_that_is_asked_for_next_to_nothing_goes_by_the_backoff() {
    let millis = Duration::from_millis;
    for stack in STACKS {
        for wish in ["0", "0.001", "0.099"] {
            for status in [202, 503] {
                assert_eq!(asked(stack, status, wish, "base: 3s"), [SECOND * 3; 3]);
                // Nothing else would bound its attempts: it pays for none of them.
                assert_eq!(asked(stack, status, wish, "base: 1ms"), [millis(100); 3]);
            }
        }
        let clamped = "base: 1ms, retry_after: {max: 1ms, over: clamp}";
        assert_eq!(asked(stack, 202, "7", clamped), [millis(100); 3]);
        let ignored = "base: 1ms, retry_after: ignore";
        assert_eq!(asked(stack, 202, "7", ignored), [millis(100); 3]);
        for delay in asked(stack, 202, "0.1", "base: 3s") {
            assert!(delay >= millis(100) && delay <= millis(120), "{delay:?}");
        }
    }
}

#[test]
fn the_delay_of_a_wait_stands_however_short() {
    for stack in STACKS {
        let server = Script::new().status(202).header("retry-after", "0.001");
        let polls = polling("{delay: 10ms, at_most: 2}", "");
        let ended = send(stack, &polls, &Client::new(server), get());
        for delay in delays(&ended.report) {
            assert!(delay < Duration::from_millis(11), "{delay:?}");
        }
    }
}

#[test]
fn no_call_spins_for_free() {
    let text = |refused: &str| {
        format!(
            "
version: 1
gate: {{max_wait: 5m}}
retry: {{backoff: fixed, base: 1ms, deadline: 5s, max_attempts: 1000, {refused}}}
rules: [{{when: {{status: [202, 503]}}, wait: {{}}}}]
"
        )
    };
    for stack in STACKS {
        for (status, wish) in [(202, "0"), (503, "0.001"), (429, "0"), (429, "0.01")] {
            for refused in ["max_refused: 0", "max_refused: 5000"] {
                let server = Script::new().status(status).header("retry-after", wish);
                let client = Client::new(server);
                let ended = send(stack, &config(&text(refused)), &client, get());
                assert_eq!(ended.stop(), StopReason::DeadlineExceeded);
                let attempts = ended.attempts();
                assert!((5..=51).contains(&attempts), "{status}: {attempts} in 5 s");
            }
        }
    }
}

#[test]
fn each_rule_counts_its_own_waits() {
    let text = "
version: 1
rules:
  - {when: {status: 202}, wait: {delay: 1s, at_most: 2}}
  - {when: {status: 409}, wait: {delay: 5s, at_most: 1}}
";
    let ended = on_tower(&config(text), statuses(&[202, 409, 202, 409]));
    assert_eq!(ended.statuses(), [202, 409, 202, 409]);
    assert_eq!(ended.stop(), StopReason::WaitsExhausted);
    assert_eq!(delays(&ended.report), seconds(&[1, 5, 1]));
}

#[test]
fn what_becomes_of_a_request_whose_waits_are_over_is_said_too() {
    let config = polling("{at_most: 1}", ", on_exhausted: {respond: {status: 504}}");
    for stack in STACKS {
        assert_eq!(get_on(stack, &config, &[202]).status, Some(504));
    }
}

/// Waits need no retries to be left.
#[test]
fn a_wait_needs_no_limit_of_retries() {
    let text = "
version: 1
retry: never
rules: [{when: {status: 202}, wait: {delay: 1s, at_most: 3}}]
";
    for stack in STACKS {
        let ended = get_on(stack, &config(text), &[202, 202, 503]);
        assert_eq!(ended.statuses(), [202, 202, 503]);
        assert_eq!(ended.stop(), StopReason::AttemptsExhausted);
    }
}

#[test]
fn a_wait_that_ignores_the_server_goes_by_the_backoff() {
    let config = polling("{at_most: 2}", ", retry_after: ignore");
    let busy = || Script::new().status(202).header("retry-after", "0");
    for stack in STACKS {
        let client = Client::new(busy().status(202).status(200));
        let ended = send(stack, &config, &client, get());
        assert_eq!(delays(&ended.report), seconds(&[1, 1]), "{stack:?}");
    }
}
