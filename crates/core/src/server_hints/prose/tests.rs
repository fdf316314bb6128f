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
    ] {
        assert_eq!(prose(text), None, "{text}");
    }
}

#[test]
fn long_prose_is_read_in_linear_time() {
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
