//! Every row of what may be resumed, and of what an answer to the request for the rest is worth, as tables of text:
//! headers end with `;`, `OLD` is a minute before `NOW` and `NEW` a second later, `MAX` the greatest number.

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

/// Headers as their short text says, each character of it one byte.
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

/// The cells of each row.
fn rows<const N: usize>(table: &str) -> Vec<[String; N]> {
    let rows = table.trim().lines();
    let cells = |row: &str| row.split('|').map(filled).collect::<Vec<_>>();
    rows.map(|row| cells(row).try_into().unwrap()).collect()
}

fn mark(asked: &str, status: &str, told: &str) -> Option<ResumeValidator> {
    let status: StatusCode = status.parse().unwrap();
    ResumeValidator::of((&Method::GET, &headers(asked)), (status, &headers(told)))
}

/// The mark of a file of so many bytes with a strong tag.
fn tagged(total: u64) -> ResumeValidator {
    mark("", "200", &format!("content-length: {total}; etag: \"a\"")).unwrap()
}

fn dated(total: u64) -> ResumeValidator {
    let told = format!("content-length: {total}; last-modified: OLD; date: NOW");
    mark("", "200", &told).unwrap()
}

fn part() -> ResumeValidator {
    let told = "content-length: 3000; content-range: bytes 500-3499/9000; etag: \"a\"";
    mark("range: bytes=500-3499", "206", told).unwrap()
}

/// Checks answers to the request for the rest after so many bytes: status, head, verdict.
fn check(mark: &ResumeValidator, got: u64, table: &str) {
    for [status, told, wanted] in rows(table) {
        let verdict = match mark.check(got, status.parse().unwrap(), &headers(&told)) {
            RangeCheck::Go { skip } => format!("go {skip}"),
            RangeCheck::Done => "done".to_owned(),
            RangeCheck::No(why) => why.to_string(),
        };
        assert_eq!(verdict, wanted, "{got} {status} {told}");
    }
}

/// Answers to a request for bytes 976 to 4999, of which the first 1024 are there.
const GOES_ON: &str = r#"
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
fn an_answer_goes_on_only_with_the_bytes_that_were_asked_for() {
    let range = "content-range: bytes 976-4999/5000";
    check(&tagged(5000), 2000, &GOES_ON.replace("RANGE", range));
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
fn the_whole_again_goes_on_only_under_the_same_strong_tag() {
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
fn any_other_answer_does_not_go_on() {
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
fn what_begins_anew_is_what_the_caller_was_told() {
    let first = r#"content-length: 10; content-type: a/b; etag: W/"a""#;
    let begun = mark("", "200", first).unwrap();
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
    check(&begun, 0, &table.replace("FIRST", first));
    check(&begun, 1, &"200 | FIRST | changed".replace("FIRST", first));
}
