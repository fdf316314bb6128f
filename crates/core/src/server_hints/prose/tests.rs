use super::*;

fn prose(text: &str) -> Option<u128> {
    delay_in_prose(text).map(|delay| delay.as_millis())
}

#[test]
fn a_number_of_too_many_digits_saturates_in_prose() {
    let long = "9".repeat(500);
    assert!(prose(&format!("retry after {long} days")).is_some());
}

#[test]
fn delays_are_read_in_many_phrasings() {
    for (text, ms) in [
        ("Please retry after 1 second.", 1_000),
        ("Please retry your request after 6 seconds", 6_000),
        ("Please try again after 33 seconds.", 33_000),
        ("TRY AGAIN IN 28MS.", 28),
        ("Please wait 5 minutes before trying again", 300_000),
        ("please wait for 2.5 seconds", 2_500),
        ("wait at least 30s", 30_000),
        ("Retrying in approximately 3 sec", 3_000),
        ("Your quota will reset after 2h30m5s.", 9_005_000),
        ("The limit resets in 1 minute and 30 seconds", 90_000),
        ("try again in 1 hour, 2 minutes", 3_720_000),
        ("retry after 86,400 seconds", 86_400_000),
        ("Retry-After: 30", 30_000),
        ("retry_after=7.", 7_000),
        (
            "try again in 1s. Or try again in 3s. Or retry in 2s.",
            3_000,
        ),
        (
            "Please try again in 6m0s. Visit https://example.com",
            360_000,
        ),
        ("Please try again in 1d2h.", 93_600_000),
        ("please try again in ~20s", 20_000),
        ("Please wait a minute before trying again", 60_000),
        ("wait for at least one minute", 60_000),
        ("try again in an hour", 3_600_000),
        ("You can submit the request after 49 seconds", 49_000),
        ("Come back in 10 minutes.", 600_000),
        (
            "Weekly usage limit reached. Resets in 6hr 29min.",
            23_340_000,
        ),
    ] {
        assert_eq!(prose(text), Some(ms), "{text}");
    }
}

#[test]
fn other_numbers_in_prose_are_no_delays() {
    for text in [
        "Limit 200 per day, Used 200, Requested 1.",
        "retry 3 times in 20 seconds",
        "Please retry in 3 attempts",
        "You can try again in 2026",
        "try again at 10:30",
        "Please retry after 2026-08-21T12:00:20Z",
        "Retry-After: 2026-08-21",
        "Retry-After: 12:30",
        "resets every 60 seconds",
        "waited 30 seconds",
        "Request took 30 seconds; try again",
        "await 5s",
        "éretry in 5s",
        "ärmwait 5s",
        "the limit reset 5 minutes",
        "try again with fewer than 100 seconds of audio",
        "available models: 5 s",
        "wait",
        "wait ",
        "retry after .",
        "retry after 5 smiles",
        "retry after 1,20 seconds",
        "Please wait a few minutes before you try again.",
        "wait a moment",
        "retry a minute",
        "The request timed out after 30 seconds",
        "rolled back in 5 seconds",
        "limit of 100 requests in 60 seconds",
    ] {
        assert_eq!(prose(text), None, "{text}");
    }
}

/// 2026-08-21T12:10:00Z.
const TEN_PAST_NOON: u64 = 1_787_314_200;

#[test]
fn dates_are_read_in_many_phrasings() {
    for text in [
        "Please try after 2026-08-21T12:10:00Z.",
        "User-rate limit exceeded.  Retry after 2026-08-21T12:10:00Z (Forwarding rules)",
        "usage limit reached (0/0 used), resets at 2026-08-21T12:10:00Z (2056)",
        "Your limit will reset at 2026-08-21 12:10:00 UTC.",
        "It will reset at 2026-08-21 20:10:00 +0800 CST. We recommend to upgrade.",
        "retry after 2026-08-21 12:10:00 UTC: see https://ca.example/limits",
        "Please try again after Fri, 21 Aug 2026 12:10:00 GMT and see https://crates.example",
        "TRY AGAIN AT 2026-08-21T14:10:00+02:00",
        "wait until '2026-08-21T12:10Z', please",
        "Please try after 2026-08-21T12:10:00Z.\nToo Many Requests",
        "reset_at: 2026-08-21T12:10:00Z",
        "resets at 2026-08-21T12:00:00Z, or retry after 2026-08-21T12:10:00Z",
    ] {
        let date = date_in_prose(text).map(|date| date.as_secs());
        assert_eq!(date, Some(TEN_PAST_NOON), "{text}");
    }
    let finer = date_in_prose("Retry after 2026-08-21T12:10:00.247Z");
    let millis = finer.map(|date| date.as_millis());
    assert_eq!(millis, Some(u128::from(TEN_PAST_NOON) * 1_000 + 247));
}

#[test]
fn other_dates_in_prose_name_no_time_to_come_back() {
    for text in [
        "Your limit will reset at 2026-08-22 00:38:28",
        "Please wait for your limit to reset on April 20, 2026 at 2:00 AM",
        "You will regain access on 2026-09-01",
        "created 2026-08-21T12:10:00Z",
        "the account that you created after signing up 2026-08-21T12:10:00Z",
        "hereafter 2026-08-21T12:10:00Z",
        "resets at 3pm",
        "retry after 20 seconds",
        "after",
        "after ",
        "retry after é2026-08-21T12:10:00Z",
        "",
    ] {
        assert_eq!(date_in_prose(text), None, "{text}");
    }
}

#[test]
fn long_prose_is_read_in_linear_time() {
    for part in [
        "after ",
        "after 2",
        "after Fri, ",
        "wait until (",
        "retry at",
        "é after",
    ] {
        let many = part.repeat(200_000 / part.len());
        assert_eq!(date_in_prose(&many), None, "{part}");
    }
    let many = "retry wait ".repeat(100_000);
    assert_eq!(prose(&many), None);
    let digits = format!("retry in {}", "1,000".repeat(100_000));
    assert_eq!(prose(&digits), None);
}

#[test]
fn a_cue_within_a_word_of_any_script_is_none() {
    for letter in ["é", "ж", "重", "\u{663}"] {
        let word = format!("{letter}retry{letter}wait").repeat(1_000);
        assert_eq!(after_cues(&word).count(), 0, "{letter}");
    }
    let word = "é".repeat(1_000);
    assert!(letters(&word).0.len() < 50);
}
