//! The text of [`RetryPolicy::explain`].

use super::*;
use crate::policy::Backoff;

#[test]
fn explain_shows_the_background_preset_in_full() {
    assert_eq!(
        RetryPolicy::background().explain(),
        "background: at most 5 attempts\n  \
         backoff: exponential from 2s, factor 2, full jitter, at most 60s\n  \
         retry 1: after at most 2s\n  \
         retry 2: after at most 4s\n  \
         retry 3: after at most 8s\n  \
         retry 4: after at most 16s\n  \
         a server may ask for a wait of at most 15m\n  \
         after several 429s in a row all callers wait together, each for at most 5m in all\n  \
         methods that are not idempotent are repeated only when the request was not processed\n  \
         worst case: 30s of backoff and the attempts, which have no limit\n  \
         worst case if a server asks for waits: 1h 40s of waits, and 5m at the gate\n"
    );
}

#[test]
fn explain_shows_the_gate_separately() {
    let text = RetryPolicy::rate_limited().explain();
    for line in [
        "rate_limited: at most 3 attempts, and 900 more that a rate limit refuses\n",
        "  after several 429s in a row all callers wait together, each for at most 15m in all\n",
        "  worst case if a server asks for waits: 30m 20s of waits, and 15m at the gate\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
    assert!(!RetryPolicy::user_facing().explain().contains("gate"));
}

#[test]
fn explain_shows_no_schedule_without_retries() {
    let text = RetryPolicy::never().explain();
    assert!(text.starts_with("never: at most 1 attempt\n"));
    assert!(!text.contains("backoff:"));
}

#[test]
fn worst_cases_count_timeouts_and_stop_at_the_deadline() {
    let second = Duration::from_secs(1);
    let builder = RetryPolicy::builder()
        .max_retries(2)
        .backoff(Backoff::fixed(second))
        .attempt_timeout(second * 3);
    let text = builder.clone().build().unwrap().explain();
    assert!(
        text.contains("worst case: 2s of backoff and 9s of attempts"),
        "{text}"
    );
    for (whole, line) in [
        (
            0,
            "worst case: 5s in all, by the deadline, which ends with the response head\n",
        ),
        (1, "worst case: 5s in all, by the deadline\n"),
    ] {
        let builder = builder.clone().whole_responses(whole);
        let text = builder.deadline(second * 5).build().unwrap().explain();
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn explain_stays_short_for_billions_of_retries() {
    let text = |retries| {
        let policy = RetryPolicy::builder().max_retries(retries);
        policy.build().unwrap().explain()
    };
    let many = text(u32::MAX - 1);
    assert!(many.contains("at most 4294967295 attempts"), "{many}");
    assert!(many.lines().count() < 20);
    let unlimited = text(u32::MAX);
    assert!(
        unlimited.contains("custom (changed): attempts without a limit"),
        "{unlimited}"
    );
    assert!(unlimited.contains("worst case: no limit"), "{unlimited}");
}

#[test]
fn a_schedule_is_in_the_units_of_a_document() {
    let waits = [0, 90, 300, 5_400].map(Duration::from_secs);
    let policy = RetryPolicy::builder().backoff(Backoff::schedule(waits));
    let text = policy.build().unwrap().explain();
    assert!(
        text.contains("schedule [0s, 90s, 5m, 1h 30m], full jitter"),
        "{text}"
    );
}
