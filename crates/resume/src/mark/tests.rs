//! Tables of the responses that can be resumed, and of the verdicts on responses to the request for the rest. Headers
//! end with `;`, `OLD` is a minute before `NOW`, `NEW` a second later than `OLD`, and `MAX` the greatest number.

mod what_is_asked;
mod what_is_resumed;

use super::*;

const MAX: u64 = u64::MAX;

fn filled(text: &str) -> String {
    let before = |number: u64| (MAX - number).to_string();
    text.trim()
        .replace("OLD", "Wed, 31 Dec 2025 23:59:00 GMT")
        .replace("NEW", "Wed, 31 Dec 2025 23:59:01 GMT")
        .replace("NOW", "Thu, 01 Jan 2026 00:00:00 GMT")
        .replace("MAX-1026", &before(1026))
        .replace("MAX-1", &before(1))
        .replace("MAX", &before(0))
}

/// Parses headers from their short text, in which each character is one byte.
fn headers(text: &str) -> HeaderMap {
    let text = filled(text);
    let fields = text.split(';').map(str::trim).filter(|f| !f.is_empty());
    let mut headers = HeaderMap::new();
    for (name, value) in fields.map(|field| field.split_once(": ").unwrap()) {
        let bytes = value.chars().map(|c| u8::try_from(u32::from(c)).unwrap());
        let value = HeaderValue::from_bytes(&bytes.collect::<Vec<_>>()).unwrap();
        headers.append(HeaderName::try_from(name).unwrap(), value);
    }
    headers
}

/// Splits a table into the cells of its rows.
fn rows<const N: usize>(table: &str) -> Vec<[String; N]> {
    let rows = table.trim().lines();
    let cells = |row: &str| row.split('|').map(filled).collect::<Vec<_>>();
    rows.map(|row| cells(row).try_into().unwrap()).collect()
}

fn validator(request: &str, status: &str, response: &str) -> Option<ResumeValidator> {
    let status: StatusCode = status.parse().unwrap();
    ResumeValidator::from_response(
        (&Method::GET, &headers(request)),
        (status, &headers(response)),
    )
}

/// The validator of a file of this length with a strong tag.
fn tagged(total: u64) -> ResumeValidator {
    validator("", "200", &format!("content-length: {total}; etag: \"a\"")).unwrap()
}

fn dated(total: u64) -> ResumeValidator {
    let response = format!("content-length: {total}; last-modified: OLD; date: NOW");
    validator("", "200", &response).unwrap()
}

fn part() -> ResumeValidator {
    let response = "content-length: 3000; content-range: bytes 500-3499/9000; etag: \"a\"";
    validator("range: bytes=500-3499", "206", response).unwrap()
}

/// Checks responses to the request for the rest after this many bytes: status, head, verdict.
fn check(validator: &ResumeValidator, received: u64, table: &str) {
    for [status, response, wanted] in rows(table) {
        let verdict = match validator.check(received, status.parse().unwrap(), &headers(&response))
        {
            Ok(Some(skip)) => format!("go {skip}"),
            Ok(None) => "done".to_owned(),
            Err(why) => why.to_string(),
        };
        assert_eq!(verdict, wanted, "{received} {status} {response}");
    }
}

/// Responses to a request for bytes 976 to 4999, of which the first 1024 were handed out.
const RANGE_CHECKS: &str = r#"
    206 | RANGE; etag: "a"                                             | go 1024
    206 | RANGE; etag: "a"; content-length: 4024; content-type: x/y    | go 1024
    206 | RANGE; etag: "a"; content-encoding: identity                 | go 1024
    206 | RANGE; etag: "a"; content-length: 4023                       | wrong_range
    206 | RANGE; etag: "a"; content-length: 4024; content-length: 4024 | wrong_range
    206 | RANGE; etag: "a"; content-length: 0                          | wrong_range
    206 | RANGE; etag: "a"; content-length: é                          | wrong_range
    206 | RANGE; etag: "a"; content-encoding: gzip                     | encoded
    206 | RANGE; etag: "b"                                             | changed
    206 | RANGE; etag: "é"                                             | changed
    206 | RANGE; etag: W/"a"                                           | changed
    206 | RANGE; etag: "a"; etag: "a"                                  | changed
    206 | RANGE; last-modified: OLD                                    | changed
    206 | RANGE                                                        | changed
    206 | RANGE; RANGE; etag: "a"                                      | wrong_range
    206 | RANGE; etag: "a"; content-type: multipart/byteranges; x: y   | wrong_range
    206 | etag: "a"                                                    | wrong_range
    206 | etag: "a"; content-range: bytes 976-4999/*                   | wrong_range
    206 | etag: "a"; content-range: bytes 976-4999/5001                | wrong_range
    206 | etag: "a"; content-range: bytes 976-4999                     | wrong_range
    206 | etag: "a"; content-range: bytes 976-4998/5000                | wrong_range
    206 | etag: "a"; content-range: bytes 975-4999/5000                | wrong_range
    206 | etag: "a"; content-range: bytes 0-4999/5000                  | wrong_range
    206 | etag: "a"; content-range: bytes 977-4999/5000                | wrong_range
    206 | etag: "a"; content-range: é 976-4999/5000                    | wrong_range
    206 | etag: "a"; content-range: items 976-4999/5000                | wrong_range
    206 | etag: "a"; content-range: bytes 976-4999/MAX                 | wrong_range
    "#;

#[test]
fn a_206_continues_only_with_the_requested_range() {
    let range = "content-range: bytes 976-4999/5000";
    check(&tagged(5000), 2000, &RANGE_CHECKS.replace("RANGE", range));
    let last = r#"206 | etag: "a"; content-range: bytes MAX-1026-MAX-1/MAX | go 1024"#;
    check(&tagged(MAX), MAX - 2, last);
    let by_date = r#"
    206 | last-modified: OLD; content-range: bytes 0-9/10            | go 5
    206 | last-modified: OLD; content-range: bytes 0-9/10; etag: "a" | changed
    206 | last-modified: NEW; content-range: bytes 0-9/10            | changed
    "#;
    check(&dated(10), 5, by_date);
}

#[test]
fn a_200_continues_only_under_the_same_strong_tag() {
    let by_tag = r#"
    200 | content-length: 10; etag: "a"                       | go 5
    200 | content-length: 10; etag: "b"                       | changed
    200 | content-length: 10                                  | changed
    200 | content-length: 11; etag: "a"                       | range_ignored
    200 | etag: "a"                                           | range_ignored
    200 | content-length: 10; etag: "a"; content-encoding: br | encoded
    "#;
    check(&tagged(10), 5, by_tag);
    check(
        &tagged(10),
        0,
        r#"200 | content-length: 10; etag: "a" | go 0"#,
    );
    let by_date = r#"
    200 | content-length: 10; last-modified: OLD | range_ignored
    200 | content-length: 10; last-modified: NEW | changed
    "#;
    check(&dated(10), 5, by_date);
    let by_date_anew = r#"
    200 | content-length: 10; last-modified: OLD | go 0
    200 | content-length: 11; last-modified: OLD | range_ignored
    200 | content-length: 10; last-modified: NEW | changed
    "#;
    check(&dated(10), 0, by_date_anew);
    check(
        &part(),
        2000,
        r#"200 | content-length: 9000; etag: "a" | go 2500"#,
    );
    check(
        &part(),
        0,
        r#"200 | content-length: 3000; etag: "a" | range_ignored"#,
    );
}

#[test]
fn any_other_status_ends_the_download() {
    let table = r#"
    412 | x: y                             | changed
    416 | content-range: bytes */5000      | changed
    416 | content-range: bytes */4000      | changed
    204 | x: y                             | head_failed
    302 | location: /                      | head_failed
    304 | etag: "a"                        | head_failed
    404 | x: y                             | head_failed
    503 | retry-after: 1                   | head_failed
    "#;
    check(&tagged(5000), 2000, table);
    let whole = r#"
    416 | content-range: bytes */5000      | done
    416 | content-range: bytes */5001      | changed
    416 | content-range: bytes 0-4999/5000 | changed
    416 | x: y                             | changed
    "#;
    check(&tagged(5000), 5000, whole);
}

#[test]
fn a_restart_must_have_the_head_that_the_caller_has_seen() {
    let first = r#"content-length: 10; content-type: a/b; etag: W/"a""#;
    let restart = validator("", "200", first).unwrap();
    let table = r#"
    200 | FIRST                                                  | go 0
    200 | FIRST; date: NOW                                       | go 0
    200 | FIRST; etag: "b"                                       | changed
    200 | FIRST; content-encoding: gzip                          | encoded
    200 | content-length: 11; content-type: a/b; etag: W/"a"     | changed
    200 | content-length: 10; content-type: a/c; etag: W/"a"     | changed
    200 | content-length: 10; content-type: a/b; etag: W/"b"     | changed
    200 | content-length: 10; content-type: a/b                  | changed
    206 | FIRST                                                  | changed
    503 | FIRST                                                  | head_failed
    "#;
    check(&restart, 0, &table.replace("FIRST", first));
    check(
        &restart,
        1,
        &"200 | FIRST | changed".replace("FIRST", first),
    );
}
