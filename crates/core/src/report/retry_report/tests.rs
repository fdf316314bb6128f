//! The contents of a report, and its text.

use super::*;
use crate::policy::{DelaySource, ErrorKind, Outcome};
use http::{HeaderMap, HeaderValue, StatusCode};

fn attempt(number: u32) -> AttemptReport {
    let headers = HeaderMap::new();
    let outcome = Outcome::response(StatusCode::SERVICE_UNAVAILABLE, &headers);
    AttemptReport {
        delay: Duration::from_secs(1),
        ..AttemptReport::new(number, &outcome, Duration::ZERO)
    }
}

#[test]
fn a_report_of_a_thousand_attempts_keeps_the_last_64() {
    let mut report = RetryReport::new();
    (1..=1_000).for_each(|number| report.push(attempt(number)));
    assert_eq!(report.attempt_count, 1_000);
    assert_eq!(report.attempts.len(), 64);
    assert_eq!(report.attempts.last().unwrap().number, 1_000);
    assert_eq!(report.waited, Duration::from_secs(1_000));
}

#[test]
fn a_report_of_five_attempts_fits_a_kibibyte() {
    let mut report = RetryReport::new();
    assert_eq!(report.attempts.capacity(), 0);
    (1..=5).for_each(|number| report.push(attempt(number)));
    let heap = report.attempts.capacity() * size_of::<AttemptReport>();
    assert!(size_of::<RetryReport>() + heap <= 1_024, "{heap}");
}

#[test]
fn a_report_displays_as_a_timeline() {
    let mut headers = HeaderMap::new();
    headers.insert("retry-after", HeaderValue::from_static("soon"));
    let outcome = Outcome::response(StatusCode::SERVICE_UNAVAILABLE, &headers);
    let mut report = RetryReport::new();
    report.push(AttemptReport {
        took: Duration::from_millis(12),
        ..AttemptReport::new(1, &outcome, Duration::ZERO)
    });
    report.push(AttemptReport {
        started: Duration::from_millis(1_012),
        delay_source: Some(DelaySource::Own),
        status: None,
        error: Some(ErrorKind::Reset),
        ..attempt(2)
    });
    report.stop = StopReason::AttemptsExhausted;
    report.tokens_left = Some(Decimal::from(18.5));
    assert_eq!(
        report.to_string().lines().collect::<Vec<_>>(),
        [
            "   0.000 s  attempt 1: 503 after 0.012 s (transient, answered), its retry-after is not valid and was ignored",
            "   1.012 s  attempt 2: reset error after 0.000 s (transient, answered); sent after a wait of 1.000 s (own)",
            "2 attempts, 1.000 s waited, attempts_exhausted: The limit of attempts is reached (max_retries). Tokens left: 18.5.",
        ]
    );
}
