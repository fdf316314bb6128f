//! The bounds of reading a head, for heads of any size.

use super::{WALL, head, read, unreadable};
use crate::server_hints::names::MAX_NAME_BYTES;
use crate::server_hints::{MAX_HEADER_BYTES, MAX_HEADER_LINES, ResponseHead, ServerHints};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

const MEBIBYTE: usize = 1 << 20;

fn map(lines: impl IntoIterator<Item = (String, String)>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        let name = HeaderName::try_from(name).unwrap();
        headers.append(name, HeaderValue::try_from(value).unwrap());
    }
    headers
}

/// Returns about a mebibyte of quota headers in each of the shapes that once took seconds: many lines, long names, long
/// lists.
fn large() -> Vec<HeaderMap> {
    let one = |name: &str, value: String| map([(name.to_owned(), value)]);
    let reset = "x-ratelimit-reset";
    vec![
        map((0..10_000).map(|_| (format!("{reset}-tokens"), "1s".to_owned()))),
        map((0..10_000).map(|n| (format!("{reset}-{n}"), "1s".to_owned()))),
        map((0..100).map(|_| (format!("{reset}-{}", "a-".repeat(16_000)), "1s".to_owned()))),
        map((0..10_000).map(|_| ("ratelimit".to_owned(), r#""d";r=0;t=3"#.to_owned()))),
        one("ratelimit", r#""d";r=0;t=3,"#.repeat(MEBIBYTE / 12)),
        one("ratelimit", "a=b;".repeat(MEBIBYTE / 4)),
        one(reset, "1s".repeat(MEBIBYTE / 2)),
        one(reset, "1".repeat(MEBIBYTE)),
        one(reset, "1,".repeat(MEBIBYTE / 2)),
        map((0..10_000).map(|_| ("retry-after".to_owned(), "1,".repeat(50)))),
        map((0..10_000).map(|_| ("date".to_owned(), "Fri,".repeat(25)))),
    ]
}

/// Returns the number of bytes that a head passes to its readers.
fn bytes_read(headers: &HeaderMap) -> usize {
    let head = ResponseHead::new(headers, WALL);
    let named = head.quota_lines();
    let named = named.map(|(name, text)| name.len() + text.map_or(0, str::len));
    let name = HeaderName::from_static("ratelimit");
    let listed = head.lines(&name).map(|text| text.map_or(0, str::len));
    named.chain(listed).sum()
}

#[test]
fn the_first_64_delays_of_a_header_are_read() {
    let asked = |long: usize, as_list: bool| {
        let delays = (1..=80).map(|n| if n == long { "7" } else { "1" });
        let delays = delays.map(str::to_owned);
        let lines = if as_list {
            vec![delays.collect::<Vec<_>>().join(", ")]
        } else {
            delays.collect()
        };
        let headers = map(lines
            .into_iter()
            .map(|line| ("retry-after".to_owned(), line)));
        let hints = ServerHints::read(StatusCode::TOO_MANY_REQUESTS, &headers, WALL);
        hints.asked.unwrap().as_secs()
    };
    for as_list in [false, true] {
        assert_eq!(asked(64, as_list), 7, "{as_list}");
        assert_eq!(asked(65, as_list), 1, "{as_list}");
    }
}

#[test]
fn a_mebibyte_of_headers_is_read_only_up_to_the_limits() {
    for headers in large() {
        let read = bytes_read(&headers);
        assert!(
            read <= MAX_HEADER_LINES * (MAX_NAME_BYTES + 2 * MAX_HEADER_BYTES),
            "{read}"
        );
        let _ = ServerHints::read(StatusCode::TOO_MANY_REQUESTS, &headers, WALL);
    }
}

#[test]
fn a_line_above_the_limit_is_reported_as_unreadable() {
    let long = format!("30{}", " ".repeat(MAX_HEADER_BYTES));
    for name in ["retry-after", "x-ratelimit-reset", "ratelimit"] {
        let lines = [(name, long.as_str())];
        assert_eq!(
            (read(429, &lines).delay(), unreadable(&lines)),
            (None, vec![name])
        );
    }
    let just = format!("30{}", " ".repeat(MAX_HEADER_BYTES - 2));
    assert!(read(429, &[("retry-after", &just)]).delay().is_some());
}

#[test]
fn a_list_above_the_limit_is_reported_as_unreadable() {
    let quotas = r#""d";r=1;t=1,"#.repeat(64);
    assert_eq!(unreadable(&[("ratelimit", &quotas)]), Vec::<&str>::new());
    let one_more = [
        ("ratelimit", quotas.as_str()),
        ("ratelimit", r#""d";r=0;t=9"#),
    ];
    assert_eq!(unreadable(&one_more), ["ratelimit"]);
}

#[test]
fn a_folded_list_is_read_up_to_its_64th_element() {
    let ones = "1,".repeat(63);
    let within = format!("{ones}9,");
    let beyond = format!("{ones}1,9");
    for name in [
        "retry-after",
        "x-retry-in",
        "x-ratelimit-reset",
        "x-ratelimit-retry-after",
    ] {
        let seconds = |line: &str| {
            read(429, &[(name, line)])
                .delay()
                .map(|delay| delay.as_secs())
        };
        assert_eq!(seconds(&within), Some(9), "{name}");
        assert_eq!(seconds(&beyond), Some(1), "{name}");
    }
    let mut lines = vec![("retry-after", "1, 1"); 32];
    lines.push(("retry-after", "9"));
    assert_eq!(
        read(429, &lines).delay().map(|delay| delay.as_secs()),
        Some(1)
    );
}

#[test]
fn a_date_in_every_element_is_measured_against_one_clock() {
    // 64 lines of 64 elements that name a date, beside 64 lines of the clock that they are measured by.
    let date = "Fri, 15 Jan 2027 08:00:00 GMT";
    let unix = "1800000001,".repeat(64);
    let lines = std::iter::repeat_n(("x-ratelimit-reset", unix.as_str()), 64);
    let lines: Vec<_> = lines
        .chain(std::iter::repeat_n(("date", date), 64))
        .collect();
    let read = read(429, &lines);
    assert_eq!(read.delay().map(|delay| delay.as_secs()), Some(1));
}

#[test]
fn many_quota_lines_do_not_hide_retry_after() {
    let mut headers = large().swap_remove(0);
    headers.extend(head(&[("retry-after", "5")]));
    let hints = ServerHints::read(StatusCode::TOO_MANY_REQUESTS, &headers, WALL);
    assert_eq!(hints.delay().map(|delay| delay.as_secs()), Some(5));
}
