//! Which answers may be resumed.

use super::*;

#[test]
fn an_answer_that_may_be_resumed() {
    for [asked, status, told, wanted] in rows(
        r#"
                    | 200 | content-length: 10; etag: "a"                              | 0-9/10
                    | 200 | content-length: 1; etag: ""                                | 0-0/1
                    | 200 | content-length: 10; etag: "é ,W/"                          | 0-9/10
                    | 200 | content-length: MAX; etag: "a"                             | 0-MAX-1/MAX
                    | 200 | content-length: 10; last-modified: OLD; date: NOW          | 0-9/10
                    | 200 | content-length: 10; etag: "a"; content-encoding: Identity  | 0-9/10
    range: bytes=5- | 200 | content-length: 10; etag: "a"                              | 0-9/10
    range: bytes=5- | 206 | content-length: 5; etag: "a"; content-range: bytes 5-9/10  | 5-9/10
    range: bytes=-1 | 206 | content-length: 1; etag: "a"; content-range: Bytes MAX-1-MAX-1/MAX | MAX-1-MAX-1/MAX
    "#,
    ) {
        let mark = mark(&asked, &status, &told).unwrap_or_else(|| panic!("{told}"));
        let ContentRange { first, last, total } = mark.range;
        assert_eq!(format!("{first}-{last}/{total}"), wanted, "{told}");
        assert!(mark.is_proven(), "{told}");
    }
}

#[test]
fn an_answer_without_a_proof_can_only_begin_anew() {
    for [told] in rows(
        r#"
        accept-ranges: bytes
        etag: W/"a"
        etag: a
        etag: "a
        etag: "
        etag: "a"b"
        etag: "a"; etag: "a"
        etag: "a"; etag: "b"
        etag: W/"a"; last-modified: OLD; date: NOW
        last-modified: NEW; date: NOW
        last-modified: OLD
        last-modified: NOW; date: OLD
        last-modified: OLD; last-modified: OLD; date: NOW
        last-modified: OLD; date: NOW; date: NOW
        last-modified: é; date: NOW
    "#,
    ) {
        let mark = mark("", "200", &format!("content-length: 10; {told}")).unwrap();
        assert_eq!((mark.length(), mark.is_proven()), (10, false), "{told}");
    }
}

/// What a request asks for, and the status and head of its answer.
const NEVER: &str = r"
                        | 200 | content-type: a/b
                        | 200 | content-length: 0
                        | 200 | content-length: -1
                        | 200 | content-length: +1
                        | 200 | content-length: 1, 1
                        | 200 | content-length: ²
                        | 200 | content-length: 18446744073709551616
                        | 200 | content-length: 1; content-length: 1
                        | 200 | content-length: 1; content-encoding: gzip
                        | 200 | content-length: 1; content-encoding: identity; content-encoding: br
                        | 200 | content-length: 1; content-encoding: é
                        | 204 | content-length: 1
                        | 404 | content-length: 1
                        | 206 | content-length: 3; content-range: bytes 5-7/10
    range: bytes=0-1,5- | 206 | content-length: 3; content-range: bytes 5-7/10
    range: bytes=0-1,5- | 200 | content-length: 3
    range: bytes=5-7; range: bytes=5-7 | 206 | content-length: 3; content-range: bytes 5-7/10
    range: bytes=5-7    | 206 | content-length: 3
    range: bytes=5-7    | 206 | content-length: 2; content-range: bytes 5-7/10
    range: bytes=5-7    | 206 | content-range: bytes 5-7/10
    range: bytes=5-7    | 206 | content-length: 3; content-range: bytes 5-7/10; content-range: bytes 5-7/10
    range: bytes=5-7    | 206 | content-length: 3; content-range: bytes 5-7/*
    range: bytes=5-7    | 206 | content-length: 3; content-range: bytes 5-7/7
    range: bytes=5-7    | 206 | content-length: 3; content-range: bytes 7-5/10
    range: bytes=5-7    | 206 | content-length: 3; content-range: items 5-7/10
    range: bytes=5-7    | 206 | content-length: 3; content-range: bytes 5-7/¹
    range: bytes=5-7    | 206 | content-length: 3; content-range: bytes 5-7/10; content-type: Multipart/ByteRanges
    range: bytes=5-7    | 416 | content-length: 3; content-range: bytes */10
    ";

#[test]
fn an_answer_that_is_never_resumed() {
    for [asked, status, told] in rows(NEVER) {
        let told = format!("{told}; etag: \"a\"");
        assert_eq!(
            mark(&asked, &status, &told),
            None,
            "{asked} {status} {told}"
        );
    }
    let told = headers("content-length: 1; etag: \"a\"");
    for method in [Method::HEAD, Method::POST, Method::PUT] {
        let asked = HeaderMap::new();
        assert_eq!(
            ResumeValidator::of((&method, &asked), (StatusCode::OK, &told)),
            None
        );
    }
}
