//! The headers that state quotas.

use super::{Lines, delay, quota, read, unreadable, whole};

const UNKNOWN: (&str, &str) = ("x-rate-limit-reset-tokens", "55");

const RESET: (&str, &str) = ("x-ratelimit-reset", "30");

/// A status, its lines, and the delay in milliseconds.
const DELAYS: [(u16, Lines<'_>, Option<u128>); 20] = [
    (500, &[RESET], None),
    (429, &[RESET], Some(30_000)),
    (500, &[RESET, ("x-ratelimit-remaining", "0")], Some(30_000)),
    (429, &[RESET, ("x-ratelimit-remaining", "1")], None),
    (429, &[RESET, ("x-ratelimit-remaining", "599.0")], None),
    (
        429,
        &[RESET, ("x-ratelimit-remaining", "many")],
        Some(30_000),
    ),
    (
        429,
        &[RESET, ("x-ratelimit-remaining", "7 calls")],
        Some(30_000),
    ),
    (503, &[UNKNOWN], None),
    (429, &[UNKNOWN], Some(55_000)),
    (
        429,
        &[
            UNKNOWN,
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", "2"),
        ],
        Some(2_000),
    ),
    (429, &[("ratelimit", r#""d";t=30"#)], Some(30_000)),
    (429, &[("ratelimit", r#""a\";b";r=0;t=5"#)], Some(5_000)),
    (503, &[("ratelimit", r#""d";t=30"#)], None),
    (429, &[("x-ratelimit-reset", "0")], None),
    (
        429,
        &[("x-ratelimit-reset", "0"), ("x-ratelimit-remaining", "0.0")],
        None,
    ),
    (429, &[("x-ratelimit-reset", "1700000000")], None),
    (429, &[("ratelimit-limit", "100;w=60")], None),
    (429, &[("ratelimit-policy", r#""d";q=9;w=60"#)], None),
    (
        429,
        &[
            ("x-ratelimit-remaining", "-1"),
            ("x-ratelimit-limit", "60;w=60"),
        ],
        None,
    ),
    (
        429,
        &[
            ("ratelimit-observed", "9"),
            ("x-ratelimit-resource", "core"),
        ],
        None,
    ),
];

#[test]
fn a_quota_is_waited_for_when_it_is_spent() {
    for (status, lines, wanted) in DELAYS {
        assert_eq!(delay(status, lines), wanted, "{status} {lines:?}");
    }
}

#[test]
fn the_latest_reset_of_the_spent_quotas_is_waited_for() {
    let lines = [
        ("x-ratelimit-remaining-requests", "0"),
        ("x-ratelimit-reset-requests", "1s"),
        ("x-ratelimit-remaining-tokens", "7"),
        ("x-ratelimit-reset-tokens", "6m0s"),
        ("x-ratelimit-remaining-requests-day", "00"),
        ("x-ratelimit-reset-requests-day", "90"),
    ];
    assert_eq!(
        (delay(429, &lines), delay(503, &lines)),
        (Some(90_000), Some(90_000))
    );
}

#[test]
fn a_status_header_counts_if_there_is_no_remainder() {
    let short = [
        ("anthropic-ratelimit-unified-5h-status", "rejected"),
        ("anthropic-ratelimit-unified-5h-reset", "1800000100"),
    ];
    let long = [
        ("anthropic-ratelimit-unified-7d-status", "allowed_warning"),
        ("anthropic-ratelimit-unified-7d-reset", "1800600000"),
    ];
    let both = [short[0], short[1], long[0], long[1]];
    assert_eq!(
        (delay(429, &both), delay(429, &long)),
        (Some(100_000), None)
    );
    assert_eq!(quota(&both), None, "a success may be paid for otherwise");
}

#[test]
fn all_forms_of_the_drafts_are_read() {
    let of = |line| quota(&[("ratelimit", line)]);
    assert_eq!(of("limit=100, remaining=50, reset=30"), Some((50, 30_000)));
    assert_eq!(of(r#""default";r=50;t=30"#), Some((50, 30_000)));
    assert_eq!(
        of(r#""a;r=9,t=9"; r=50; t=30;pk=:abc=:"#),
        Some((50, 30_000))
    );
    assert_eq!(
        of(r#""day";r=900;t=9000, "burst";r=3;t=1"#),
        Some((3, 1_000))
    );
    assert_eq!(
        of(r#""hour";r=900;t=3600, "burst";r=3;t=1"#),
        Some((3, 1_000))
    );
    assert_eq!(
        of(r#""day";r=0;t=9000, "burst";r=0;t=1"#),
        Some((0, 9_000_000))
    );
    assert_eq!(of("remaining=1, reset=0"), Some((1, 0)));
    let policy = (
        "ratelimit-policy",
        r#""d";q=100;w=60, "b";q=10;w=1;qu="content-bytes""#,
    );
    let with_policy = |line| read(200, &[("ratelimit", line), policy]).quota;
    assert_eq!(with_policy(r#""d";r=50"#), Some(whole(100, 50, 60, 60)));
    assert_eq!(with_policy(r#""b";r=5;t=1"#), None);
    assert_eq!(with_policy(r#""b";r=0;t=1"#), Some(whole(0, 0, 1, 1)));
}

#[test]
fn headers_of_several_providers_are_read() {
    let of = |lines: Lines<'_>| read(200, lines).quota;
    let lines = [
        ("ratelimit-limit", "100, 100;w=60"),
        ("ratelimit-remaining", " 7 "),
        ("ratelimit-reset", "12"),
    ];
    assert_eq!(of(&lines), Some(whole(100, 7, 12, 60)));
    let lines = [
        ("x-ratelimit-limit-requests", "14400"),
        ("x-ratelimit-remaining-requests", "14370"),
        ("x-ratelimit-reset-requests", "2m59s"),
        ("x-ratelimit-limit-tokens", "18000"),
        ("x-ratelimit-remaining-tokens", "17997"),
        ("x-ratelimit-reset-tokens", "7.66s"),
    ];
    assert_eq!(of(&lines), Some(whole(14_400, 14_370, 179, 0)));
    let lines = [
        ("anthropic-ratelimit-requests-limit", "5"),
        ("anthropic-ratelimit-requests-remaining", "0"),
        ("anthropic-ratelimit-requests-reset", "2027-01-15T08:00:12Z"),
        ("anthropic-ratelimit-tokens-remaining", "16000"),
        ("anthropic-ratelimit-tokens-reset", "2027-01-15T08:01:00Z"),
    ];
    assert_eq!(of(&lines), Some(whole(5, 0, 12, 0)));
    let lines = [
        ("x-ratelimit-limit", "5000"),
        ("x-ratelimit-remaining", "4999"),
        ("x-ratelimit-reset", "1800000060"),
    ];
    assert_eq!(of(&lines), Some(whole(5_000, 4_999, 60, 0)));
    let docker = [
        ("ratelimit-limit", "100;w=21600"),
        ("ratelimit-remaining", "76;w=21600"),
    ];
    assert_eq!(of(&docker), Some(whole(100, 76, 21_600, 21_600)));
}

#[test]
fn the_stricter_of_two_proxies_counts() {
    let lines = [
        ("x-ratelimit-remaining", "5"),
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", "30"),
        ("x-ratelimit-reset", "60"),
    ];
    assert_eq!(
        (delay(503, &lines), quota(&lines)),
        (Some(60_000), Some((0, 60_000)))
    );
    let joined = [
        ("x-ratelimit-remaining", "5, 0"),
        ("x-ratelimit-reset", "30, 60"),
    ];
    assert_eq!(delay(503, &joined), Some(60_000));
}

#[test]
fn tokens_and_images_close_no_gate_while_some_are_left() {
    let tokens = |left| {
        [
            ("x-ratelimit-remaining-tokens", left),
            ("x-ratelimit-reset-tokens", "6m0s"),
        ]
    };
    assert_eq!(quota(&tokens("149984")), None);
    assert_eq!(quota(&tokens("0")), Some((0, 360_000)));
    let mut lines = tokens("0").to_vec();
    lines.extend([
        ("x-ratelimit-limit-requests", "60"),
        ("x-ratelimit-remaining-requests", "59"),
        ("x-ratelimit-reset-requests", "1s"),
    ]);
    assert_eq!(read(200, &lines).quota, Some(whole(60, 0, 360, 0)));
    let images = [
        ("x-ratelimit-remaining-images", "0"),
        ("x-ratelimit-reset-images", "60"),
    ];
    assert_eq!((quota(&images), delay(429, &images)), (None, Some(60_000)));
}

#[test]
fn an_invalid_ratelimit_header_is_no_quota() {
    for line in [
        ",",
        ";;;",
        "=",
        "remaining",
        "remaining=, reset=",
        "remaining=-1",
        r#""d";r=-1"#,
        r#""d;r=1;t=1"#,
        r#""day";r=x;t=y"#,
    ] {
        let lines = [("ratelimit", line)];
        assert_eq!((quota(&lines), delay(429, &lines)), (None, None), "{line}");
    }
    assert_eq!(
        unreadable(&[("ratelimit", r#""day";r=x;t=y"#)]),
        ["ratelimit"]
    );
    assert_eq!(
        unreadable(&[("ratelimit", r#""day";r=x;t=9"#)]),
        ["ratelimit"]
    );
}

#[test]
fn invalid_numbers_and_times_are_reported_as_unreadable() {
    for reset in [
        "",
        "never",
        "-1",
        "1e3",
        "9s8",
        "1..5s",
        "2027-99-99T00:00:00Z",
        "5 minutes",
    ] {
        let lines = [("x-ratelimit-remaining", "1"), ("x-ratelimit-reset", reset)];
        assert_eq!(quota(&lines), None, "{reset}");
        assert_eq!(unreadable(&lines), ["x-ratelimit-reset"], "{reset}");
    }
    let lines = [
        ("x-ratelimit-limit-tokens", "-1"),
        ("x-ratelimit-remaining-tokens", "-1"),
        ("x-ratelimit-reset-tokens", "0"),
    ];
    assert_eq!((quota(&lines), delay(429, &lines)), (None, None));
    assert_eq!(
        unreadable(&lines),
        ["x-ratelimit-limit-tokens", "x-ratelimit-remaining-tokens"]
    );
}

#[test]
fn the_reset_of_the_least_remainder_counts_in_parallel_lists() {
    for (remaining, reset, ms) in [
        (["0", "1832"], ["1", "1419704"], 1_000),
        (["5", "0"], ["1", "60"], 60_000),
        (["0", "0"], ["20", "30"], 30_000),
        (["0", "0"], ["30", "20"], 30_000),
    ] {
        let folded = [remaining.join(", "), reset.join(", ")];
        let lines = [
            ("x-ratelimit-remaining", folded[0].as_str()),
            ("x-ratelimit-reset", folded[1].as_str()),
        ];
        assert_eq!(delay(429, &lines), Some(ms), "{lines:?}");
        let lines = [
            ("x-ratelimit-remaining", remaining[0]),
            ("x-ratelimit-reset", reset[0]),
            ("x-ratelimit-reset", reset[1]),
            ("x-ratelimit-remaining", remaining[1]),
        ];
        assert_eq!(delay(429, &lines), Some(ms), "{lines:?}");
    }
    // Lists of different lengths do not belong together.
    let lines = [
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", "5, 7"),
    ];
    assert_eq!(delay(429, &lines), Some(7_000));
    let lines = [
        ("x-ratelimit-remaining", "3, 500"),
        ("x-ratelimit-reset", "2, 3600"),
    ];
    assert_eq!(quota(&lines), Some((3, 2_000)));
}
