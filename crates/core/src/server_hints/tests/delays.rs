//! The headers that name a delay.

use super::{Lines, WALL, delay, head, read, unreadable};
use crate::policy::outcome::ext::OutcomeExt;
use crate::policy::{Class, Outcome, Reach, Verdict};
use crate::server_hints::{ServerHints, is_invitation};
use http::StatusCode;
use std::time::Duration;

#[test]
fn seconds_are_digits_with_or_without_decimals() {
    for (text, wanted) in [
        ("120", Some(120_000)),
        ("0", Some(0)),
        ("2.0", Some(2_000)),
        ("1.5", Some(1_500)),
        ("0.0001", Some(1)),
        ("\t42 ", Some(42_000)),
        ("007", Some(7_000)),
        (".5", None),
        ("5.", None),
        ("+5", None),
        ("-1", None),
        ("1e3", None),
        ("0x10", None),
        ("1.2.3", None),
        ("1,5", Some(5_000)),
        ("5s", None),
        ("", None),
        ("soon", None),
        ("2027-01-15T08:00:12Z", Some(12_000)),
        ("2027-01-15T08:00:12", None),
        ("1800000012", Some(12_000)),
        ("1800000012.25", Some(12_250)),
        ("1800000012250", Some(12_250)),
        ("1800000012250000", Some(12_250)),
        ("1800000012250000000", Some(12_250)),
        ("999999999", Some(999_999_999_000)),
        ("15 Jan 2027 08:00:12 UTC", Some(12_000)),
        ("Fri, 15 Jan 2027 09:00:12 +0100", Some(12_000)),
        ("Fri, 15 Jan 2027 08:00:12 GMT", Some(12_000)),
        ("Friday, 15-Jan-27 08:00:12 GMT", Some(12_000)),
        ("Fri Jan 15 08:00:12 2027", Some(12_000)),
        ("Mon, 15 Jan 2027 08:00:12 GMT", None),
        ("Monday, 15-Jan-27 08:00:12 GMT", None),
        ("Mon Jan 15 08:00:12 2027", None),
    ] {
        let lines = [("retry-after", text)];
        assert_eq!(delay(503, &lines), wanted, "{text}");
        let skipped = if wanted.is_some() {
            vec![]
        } else {
            vec!["retry-after"]
        };
        assert_eq!(unreadable(&lines), skipped, "{text}");
    }
}

#[test]
fn milliseconds_are_rounded_up_to_a_whole_one() {
    for (text, wanted) in [
        ("1500", Some(1_500)),
        ("1234.5", Some(1_235)),
        ("0.1", Some(1)),
        ("1.5s", None),
        ("Fri, 15 Jan 2027 08:00:12 GMT", None),
    ] {
        for name in ["retry-after-ms", "x-ms-retry-after-ms", "x-amz-retry-after"] {
            assert_eq!(delay(503, &[(name, text)]), wanted, "{name}: {text}");
        }
    }
}

#[test]
fn a_delay_of_too_many_digits_saturates() {
    let many = "9".repeat(500);
    let lines: Lines<'_> = &[("retry-after", &many)];
    assert!(read(503, lines).delay() > Some(Duration::from_secs(1 << 60)));
}

#[test]
fn the_longest_readable_element_of_a_header_counts() {
    let date = "Fri, 15 Jan 2027 08:00:12 GMT";
    for (line, wanted) in [
        ("6, 6", Some(6_000)),
        ("6,7", Some(7_000)),
        ("7, 6", Some(7_000)),
        (", 6 ,", Some(6_000)),
        ("soon, 6", Some(6_000)),
        ("6, +9", Some(6_000)),
        ("soon, later", None),
        (",", None),
        (date, Some(12_000)),
        (&format!("{date}, {date}"), Some(12_000)),
        (&format!("6, {date}, 7"), Some(12_000)),
        ("Fri, 15 Jan 2027 07:00:00 GMT, 6", Some(6_000)),
        ("2027-01-15T08:00:12Z, 6", Some(12_000)),
    ] {
        assert_eq!(delay(429, &[("retry-after", line)]), wanted, "{line}");
        // The same in two lines.
        let halves = line.split_at(line.find(", ").unwrap_or(line.len()));
        if !line.contains(date) && !line.starts_with("Fri") {
            let lines = [("retry-after", halves.0), ("retry-after", halves.1)];
            assert_eq!(delay(429, &lines), wanted, "{line}");
        }
    }
    for name in ["retry-after-ms", "x-ms-retry-after-ms", "x-amz-retry-after"] {
        assert_eq!(delay(429, &[(name, "60, 70")]), Some(70), "{name}");
    }
    assert!(is_invitation(&head(&[("retry-after", "6, 6")])));
}

/// Lines of headers whose names say what they hold, and the delay in milliseconds that each asks for with a 429.
const NAMED: [(&str, &str, Option<u128>); 41] = [
    ("x-retry-in", "4.5s", Some(4_500)),
    ("x-retry-in", "1m30.25s", Some(90_250)),
    ("x-retry-in", "3", Some(3_000)),
    ("x-retry-in", "105.849351ms", Some(106)),
    ("x-retry-after", "17", Some(17_000)),
    ("x-retry-after", "1800000012", Some(12_000)),
    (
        "x-retry-after",
        "Fri, 15 Jan 2027 08:00:12 GMT",
        Some(12_000),
    ),
    ("x-retry-after-ms", "1500", Some(1_500)),
    ("x-retry-after-milliseconds", "1500", Some(1_500)),
    ("retry-after-milliseconds", "1500", Some(1_500)),
    ("retry-after-seconds", "7", Some(7_000)),
    ("retry-after-minutes", "2", Some(120_000)),
    ("x-throttle-wait-seconds", "7", Some(7_000)),
    ("x-ratelimit-retry-after", "40", Some(40_000)),
    ("x-ratelimit-retry-after", "1800000040", Some(40_000)),
    ("x-ratelimit-retry-after", "40, 50", Some(50_000)),
    ("x-ratelimit-retryafter", "1800000040", Some(40_000)),
    ("x-ratelimit-retry", "40", Some(40_000)),
    ("x-ratelimit-retry-in-seconds", "40", Some(40_000)),
    ("ratelimit-retry-after", "40", Some(40_000)),
    ("rate-limit-retry-after", "40", Some(40_000)),
    (
        "x-rate-limit-retry-after-seconds",
        "22688",
        Some(22_688_000),
    ),
    ("x-rate-limit-retry-after-milliseconds", "1500", Some(1_500)),
    ("x-ratelimit-reset-ms", "15000", Some(15_000)),
    ("x-ratelimit-reset-ms", "1800000045000", Some(45_000)),
    ("x-ratelimit-reset-after-ms", "1500.5", Some(1_501)),
    ("x-ratelimit-reset-tokens-ms", "1500", Some(1_500)),
    ("x-rate-limit-time-reset-ms", "15000", Some(15_000)),
    ("x-ratelimit-reset-milliseconds", "15000", Some(15_000)),
    ("x-ratelimit-reset-seconds", "15", Some(15_000)),
    ("x-ratelimit-reset-seconds-org", "15", Some(15_000)),
    ("x-ratelimit-reset-in", "15", Some(15_000)),
    ("x-ratelimit-reset-at", "1800000015", Some(15_000)),
    ("x-ratelimit-reset-timestamp", "1800000015", Some(15_000)),
    ("rate-limit-reset", "15", Some(15_000)),
    ("ratelimit-resettime", "2027-01-15T08:00:12Z", Some(12_000)),
    (
        "ratelimit-resettime",
        "Fri, 15 Jan 2027 08:00:12 GMT",
        Some(12_000),
    ),
    ("x-ratelimit-next", "2027-01-15T08:00:25.071Z", Some(25_071)),
    ("x-ratelimit-next", "1800000012", Some(12_000)),
    // Its unit is not known.
    ("x-ratelimit-next", "500", None),
    (
        "x-rate-limit-next-refill",
        "Fri, 15 Jan 2027 08:00:12 UTC",
        Some(12_000),
    ),
];

#[test]
fn a_header_is_read_by_the_words_of_its_name() {
    for (name, value, wanted) in NAMED {
        let lines = [(name, value)];
        assert_eq!(delay(429, &lines), wanted, "{name}: {value}");
        let skipped = read(429, &lines).unreadable().count();
        assert_eq!(skipped, usize::from(wanted.is_none()), "{name}: {value}");
    }
}

#[test]
fn a_header_that_is_a_services_own_is_left_to_its_dialect() {
    for name in [
        "x-lognex-retry-after",
        "x-ogw-ratelimit-reset",
        "x-esi-error-limit-reset",
        "x-contentful-ratelimit-reset",
        "x-rate-limit-interval",
        "x-ratelimit-retry-count",
        "x-ratelimit-retries",
        "x-retry-count",
        "x-retry-limit",
        "retry-policy",
        "x-ratelimit-resettable",
    ] {
        let lines = [(name, "30")];
        assert_eq!(
            (delay(429, &lines), unreadable(&lines)),
            (None, vec![]),
            "{name}"
        );
    }
}

#[test]
fn a_limits_retry_time_ranks_between_retry_after_and_reset() {
    let retry = ("x-ratelimit-retry-after", "40");
    assert_eq!(delay(429, &[retry, ("retry-after", "5")]), Some(5_000));
    assert_eq!(
        delay(429, &[retry, ("x-ratelimit-reset", "90")]),
        Some(40_000)
    );
    // Some servers send it with every response: only a limit that was met asks for a wait.
    let spent = ("x-ratelimit-remaining", "0");
    let left = ("x-ratelimit-remaining", "9");
    assert_eq!(delay(429, &[retry, left]), Some(40_000));
    assert_eq!(delay(503, &[retry, spent]), Some(40_000));
    assert_eq!(delay(503, &[retry, left]), None);
    assert_eq!(delay(503, &[retry]), None);
    assert_eq!(
        delay(429, &[("x-ratelimit-retry-after", "0"), RESET]),
        Some(7_000)
    );
    assert!(!is_invitation(&head(&[retry])));
}

const RESET: (&str, &str) = ("x-ratelimit-reset", "7");

/// Lines, the delay in milliseconds, and the headers that cannot be read.
const FIRST: [(Lines<'_>, u128, &[&str]); 8] = [
    (
        &[("retry-after-ms", "1500"), ("retry-after", "9")],
        1_500,
        &[],
    ),
    (
        &[("x-amz-retry-after", "1500"), ("retry-after", "9")],
        1_500,
        &[],
    ),
    (
        &[("retry-after-ms", "soon"), ("retry-after", "9")],
        9_000,
        &["retry-after-ms"],
    ),
    (&[("retry-after", "1e3"), RESET], 7_000, &["retry-after"]),
    (&[("retry-after", "0"), RESET], 0, &[]),
    (
        &[
            ("retry-after", "3"),
            ("retry-after", "x"),
            ("retry-after", "2"),
        ],
        3_000,
        &[],
    ),
    (
        &[("retry-after", "Fri, 15 Jan 2027 07:59:59 GMT"), RESET],
        7_000,
        &[],
    ),
    (&[("ratelimit", "what"), RESET], 7_000, &["ratelimit"]),
];

#[test]
fn the_first_readable_header_sets_the_delay() {
    for (lines, wanted, skipped) in FIRST {
        assert_eq!(delay(429, lines), Some(wanted), "{lines:?}");
        assert_eq!(unreadable(lines), skipped, "{lines:?}");
    }
}

#[test]
fn the_hints_name_the_header_of_the_delay() {
    let header = |lines: Lines<'_>| read(429, lines).header;
    assert_eq!(header(&[("retry-after", "2.0")]), Some("retry-after"));
    let both = [("retry-after-ms", "x"), ("x-ratelimit-reset", "3")];
    assert_eq!(header(&both), Some("x-ratelimit-reset"));
    assert_eq!(
        header(&[("x-ratelimit-reset-images-day", "3")]),
        Some("x-ratelimit-*")
    );
    assert_eq!(header(&[("content-length", "3")]), None);
}

#[test]
fn retry_after_and_the_reset_of_a_quota_are_both_available() {
    let hints = read(
        429,
        &[("retry-after", "5"), ("ratelimit", r#""d";r=0;t=90"#)],
    );
    let seconds = |delay: Option<Duration>| delay.map(|delay| delay.as_secs());
    assert_eq!(seconds(hints.asked), Some(5));
    assert_eq!(seconds(hints.reset), Some(90));
    assert_eq!(seconds(hints.delay()), Some(5));
}

#[test]
fn a_delay_of_a_body_ranks_between_retry_after_and_quotas() {
    let body = Verdict::new(Class::Throttled, Reach::Refused).asking_for(Duration::from_secs(7));
    let with = |lines: Lines<'_>| {
        let headers = head(lines);
        let outcome = Outcome::response(StatusCode::TOO_MANY_REQUESTS, &headers);
        outcome.judged(body).server_delay(WALL)
    };
    let asked = |seconds| Some(Duration::from_secs(seconds));
    assert_eq!(with(&[("retry-after", "3")]), asked(3));
    assert_eq!(with(&[("retry-after", "soon")]), asked(7));
    assert_eq!(with(&[("x-ratelimit-reset", "90")]), asked(7));
    let none = read(429, &[("retry-after", "soon")]);
    assert_eq!(none.delay(), None);
    assert!(none.unreadable().eq(["retry-after"]));
}

#[test]
fn dates_are_measured_against_the_responses_own_clock() {
    for (name, text) in [
        ("retry-after", "Fri, 31 Dec 1999 23:59:59 GMT"),
        ("x-ratelimit-reset", "Fri, 31 Dec 1999 23:59:59 GMT"),
        ("x-ratelimit-reset", "1999-12-31T23:59:59Z"),
        ("anthropic-ratelimit-tokens-reset", "1999-12-31T23:59:59Z"),
    ] {
        let own = [("date", "Fri, 31 Dec 1999 23:59:49 GMT"), (name, text)];
        assert_eq!(delay(429, &own), Some(10_000), "{name}: {text}");
        let headers = head(&[("date", "today"), (name, text)]);
        let wall = Duration::from_secs(946_684_797);
        let hints = ServerHints::read(StatusCode::TOO_MANY_REQUESTS, &headers, wall);
        assert_eq!(
            hints.delay(),
            Some(Duration::from_secs(2)),
            "{name}: {text}"
        );
        assert_eq!(delay(429, &[(name, text)]), None, "{name}: {text} is past");
    }
    let unix = [
        ("date", "Fri, 15 Jan 2027 09:00:00 GMT"),
        ("x-ratelimit-reset", "1800003630"),
    ];
    assert_eq!(delay(429, &unix), Some(30_000));
    assert_ne!(read(429, &unix).delay(), Some(WALL));
}

#[test]
fn the_clock_of_dates_is_the_senders() {
    let date = "Fri, 15 Jan 2027 09:00:00 GMT";
    let reset = ("retry-after", "Fri, 15 Jan 2027 09:00:30 GMT");
    let other = "Fri, 15 Jan 2027 09:00:01 GMT";
    let hour_ahead = Some(3_630_000);
    for (lines, wanted) in [
        (vec![("date", date)], Some(30_000)),
        // Twice, or folded: the same.
        (vec![("date", date), ("date", date)], Some(30_000)),
        (vec![("date", &*format!("{date}, {date}"))], Some(30_000)),
        (vec![("date", "2027-01-15T09:00:00Z")], Some(30_000)),
        // A date that contradicts itself is none.
        (vec![("date", date), ("date", other)], hour_ahead),
        (vec![("date", &*format!("{date}, {other}"))], hour_ahead),
        (vec![("date", "today")], hour_ahead),
        (vec![("date", date), ("age", "10")], Some(20_000)),
        (vec![("date", date), ("age", "10, 25")], Some(20_000)),
        (
            vec![("date", date), ("age", "10"), ("age", "25")],
            Some(20_000),
        ),
        (vec![("date", date), ("age", "31")], None),
        (vec![("date", date), ("age", "-10")], Some(30_000)),
        (vec![("date", date), ("age", "10s")], Some(30_000)),
        (vec![("date", date), ("age", "99999999999999999999")], None),
        // Without a date there is nothing to add it to.
        (vec![("age", "10")], hour_ahead),
    ] {
        let lines: Vec<_> = lines.into_iter().chain([reset]).collect();
        assert_eq!(delay(429, &lines), wanted, "{lines:?}");
    }
    // An age never shortens a number of seconds.
    let seconds = [("date", date), ("age", "10"), ("retry-after", "30")];
    assert_eq!(delay(429, &seconds), Some(30_000));
    let unix = [("date", date), ("age", "10"), ("retry-after", "1800003630")];
    assert_eq!(delay(429, &unix), Some(20_000));
}

#[test]
fn an_invitation_needs_a_readable_delay_header() {
    for (lines, wanted) in [
        (vec![("retry-after-ms", "0")], true),
        (vec![("retry-after", "2.0")], true),
        (vec![("retry-after", "Fri, 31 Dec 1999 23:59:59 GMT")], true),
        (vec![("retry-after-ms", "soon"), ("retry-after", "9")], true),
        (vec![("retry-after", "soon")], false),
        (vec![("ratelimit-reset", "9")], false),
        (vec![], false),
    ] {
        assert_eq!(is_invitation(&head(&lines)), wanted, "{lines:?}");
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_go_duration_is_read_from_headers_and_prose(hours in 0_u64..1_000_000, minutes in 0_u64..60, millis in 0_u64..60_000) {
        let text = format!("{hours}h{minutes}m{}.{:03}s", millis / 1000, millis % 1000);
        let seconds = hours.saturating_mul(3_600).saturating_add(minutes.saturating_mul(60));
        let wanted = Duration::from_secs(seconds).saturating_add(Duration::from_millis(millis));
        proptest::prop_assert_eq!(crate::server_hints::duration::header_duration(&text), Some(wanted));
        let prose = format!("Please try again in {text}. Thank you");
        proptest::prop_assert_eq!(crate::server_hints::prose::delay_in_prose(&prose), Some(wanted));
    }

    #[test]
    fn no_text_panics(text: String) {
        let _ = crate::server_hints::duration::header_duration(&text);
        let _ = crate::server_hints::prose::delay_in_prose(&text);
    }
}
