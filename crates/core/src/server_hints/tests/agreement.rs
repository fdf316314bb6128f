//! Agreement of the delay of a refused call with the quota for the gate, in every form of header.

use super::{Lines, WALL, head, read};
use crate::policy::Outcome;
use crate::policy::outcome::ext::OutcomeExt;
use http::StatusCode;

/// A spent quota in every form, and the milliseconds until it is back.
const SPENT: &[(Lines<'static>, u128)] = &[
    (&[("x-ratelimit-reset", "90")], 90_000),
    (&[("x-ratelimit-reset", "1m30s")], 90_000),
    (&[("x-ratelimit-reset", "1m 30s")], 90_000),
    (&[("x-ratelimit-reset", "1 m 30 s")], 90_000),
    (&[("x-ratelimit-reset", "1.5")], 1_500),
    (&[("x-ratelimit-reset", "0.0001")], 1),
    (&[("x-ratelimit-reset", ".5s")], 500),
    (&[("x-ratelimit-reset", "59.70175s")], 59_702),
    (&[("x-ratelimit-reset", "20ms")], 20),
    (&[("x-ratelimit-reset", "500\u{b5}s")], 1),
    (&[("x-ratelimit-reset", "1d")], 86_400_000),
    (&[("x-ratelimit-reset", "1800000060")], 60_000),
    (&[("x-ratelimit-reset", "1800000060.25")], 60_250),
    (&[("x-ratelimit-reset", "1800000060250")], 60_250),
    (&[("x-ratelimit-reset", "2027-01-15T08:00:12Z")], 12_000),
    (&[("x-ratelimit-reset", "2027-01-15 08:00:12.25z")], 12_250),
    (
        &[("x-ratelimit-reset", "2027-01-15T09:00:12+01:00")],
        12_000,
    ),
    (&[("x-ratelimit-reset", "2027-01-15T09:00:12+0100")], 12_000),
    (
        &[("x-ratelimit-reset", "Fri, 15 Jan 2027 08:00:12 GMT")],
        12_000,
    ),
    (&[("x-ratelimit-reset", "30;w=60")], 30_000),
    (&[("x-ratelimit-reset", "30, 40")], 40_000),
    (&[("x-ratelimit-reset", "99999999999999999999h")], u128::MAX),
    (&[("x-ratelimit-reset-after", "1.25")], 1_250),
];

/// Spent quotas that also state the remainder.
const WHOLE: &[(Lines<'static>, u128)] = &[
    (&[("ratelimit", r#""d";r=0;t=30"#)], 30_000),
    (&[("ratelimit", r#""d"; r = 0 ; T=30"#)], 30_000),
    (&[("ratelimit", "d;r=0;t=30.5")], 30_500),
    (&[("ratelimit", "limit=100, remaining=0, reset=50")], 50_000),
    (&[("ratelimit", "limit=100;remaining=0;reset=50")], 50_000),
    (&[("ratelimit", "r=0, t=50")], 50_000),
    (
        &[("ratelimit", "remaining=0"), ("ratelimit", "reset=50")],
        50_000,
    ),
    (
        &[("ratelimit", r#""a";r=0;t=30, "b";r=0;t=7, "c";r=9;t=99"#)],
        30_000,
    ),
    (
        &[
            ("ratelimit", r#""d";r=0"#),
            ("ratelimit-policy", r#""d";q=9;w=60"#),
        ],
        60_000,
    ),
    (
        &[
            ("ratelimit", r#""d";r=0;t=90"#),
            ("ratelimit-policy", r#""d";q=9;w=60"#),
        ],
        90_000,
    ),
    (
        &[
            ("ratelimit", r#""d";r=0;t=soon"#),
            ("ratelimit-policy", r#""d";q=9;w=60"#),
        ],
        60_000,
    ),
    (
        &[
            ("ratelimit", "limit=9, remaining=0"),
            ("ratelimit-policy", "9;w=60, 99;w=600"),
        ],
        60_000,
    ),
    (
        &[("ratelimit", r#""d";r=0;t=99999999999999999999"#)],
        u128::MAX,
    ),
    (
        &[("ratelimit", r#""d";r=0;t=1800000060"#)],
        1_800_000_060_000,
    ),
    (
        &[
            ("ratelimit", r#""d";r=0;t=30"#),
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", "90"),
        ],
        90_000,
    ),
    (
        &[
            ("ratelimit", r#""bytes";r=0;t=5"#),
            ("ratelimit-policy", r#""bytes";q=9;w=1;qu="content-bytes""#),
        ],
        5_000,
    ),
    (&[("ratelimit-remaining", "0;w=21600")], 21_600_000),
    (
        &[
            ("ratelimit-remaining", "0"),
            ("ratelimit-limit", "100;w=21600"),
        ],
        21_600_000,
    ),
    (
        &[
            ("ratelimit-remaining", "0"),
            ("ratelimit-limit", "100, 100;window=60, 1000;window=3600"),
        ],
        60_000,
    ),
    (
        &[("ratelimit-remaining", "0.0"), ("ratelimit-reset", "13")],
        13_000,
    ),
    (
        &[
            ("x-rate-limit-remaining", "0"),
            ("x-rate-limit-reset", "13"),
        ],
        13_000,
    ),
    (
        &[
            ("x-ratelimit-remaining-tokens", "0"),
            ("x-ratelimit-reset-tokens", "6m0s"),
        ],
        360_000,
    ),
    (
        &[
            ("x-ratelimit-remaining-requests-day", "00"),
            ("x-ratelimit-reset-requests-day", "90"),
        ],
        90_000,
    ),
    (
        &[
            ("x-ratelimit-requests-remaining", "0"),
            ("x-ratelimit-requests-reset", "1800000090000"),
        ],
        90_000,
    ),
    (
        &[
            ("anthropic-ratelimit-requests-remaining", "0"),
            ("anthropic-ratelimit-requests-reset", "2027-01-15T08:00:12Z"),
        ],
        12_000,
    ),
    (
        &[
            ("ratelimitbysize-remaining", "0"),
            ("ratelimitbysize-reset", "37"),
        ],
        37_000,
    ),
];

#[test]
fn a_spent_quota_sets_the_same_delay_and_reset() {
    let bare = SPENT.iter().map(|(lines, wanted)| {
        let mut lines = lines.to_vec();
        lines.push(("x-ratelimit-remaining", "0"));
        (lines, wanted)
    });
    let whole = WHOLE.iter().map(|(lines, wanted)| (lines.to_vec(), wanted));
    for (lines, wanted) in bare.chain(whole) {
        for status in [StatusCode::TOO_MANY_REQUESTS, StatusCode::BAD_GATEWAY] {
            let headers = head(&lines);
            let outcome = Outcome::response(status, &headers);
            let delay = outcome.server_delay(WALL);
            let quota = outcome.quota(WALL);
            let reset = quota.map(|quota| (quota.remaining, quota.reset));
            assert_eq!(reset, delay.map(|delay| (0, delay)), "{lines:?}");
            let millis = delay.map(|delay| delay.as_millis());
            let wanted = Some(*wanted).map(|most| most.min(std::time::Duration::MAX.as_millis()));
            assert_eq!(millis, wanted, "{lines:?}");
        }
    }
}

#[test]
fn retry_after_limits_the_reset_of_a_quota() {
    let spent = ("ratelimit", r#""d";r=0;t=90"#);
    let left = ("ratelimit", r#""d";r=9;t=90"#);
    for (status, asked, quota, wanted) in [
        (429, ("retry-after", "5"), spent, 5),
        (429, ("retry-after-ms", "5000"), spent, 5),
        (429, ("retry-after", "soon"), spent, 90),
        (
            429,
            ("retry-after", "Fri, 15 Jan 2027 07:00:00 GMT"),
            spent,
            90,
        ),
        (429, ("retry-after", "100"), spent, 90),
        (429, ("retry-after", "5"), left, 5),
        (503, ("retry-after", "5"), spent, 5),
        (503, ("retry-after", "5"), left, 90),
        (202, ("retry-after", "5"), spent, 90),
    ] {
        let reset = read(status, &[asked, quota]).quota.unwrap().reset;
        assert_eq!(reset.as_secs(), wanted, "{status} {asked:?} {quota:?}");
    }
}

#[test]
fn a_quota_of_calls_in_flight_has_no_window() {
    let policy = (
        "ratelimit-policy",
        r#""c";q=9;w=60;qu="concurrent-requests""#,
    );
    let window = read(429, &[("ratelimit", r#""c";r=0"#), policy]);
    assert_eq!((window.delay(), window.quota), (None, None));
    let hints = read(429, &[("ratelimit", r#""c";r=0;t=30"#), policy]);
    assert_eq!(hints.delay().map(|delay| delay.as_secs()), Some(30));
    assert_eq!(hints.quota, None, "the next call may find a place at once");
}
