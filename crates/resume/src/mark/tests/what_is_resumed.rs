//! The responses that can be resumed.

use super::*;

#[test]
fn a_response_with_a_length_and_a_validator_is_resumed() {
    for [request, status, response, wanted] in rows(
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
        let validator =
            validator(&request, &status, &response).unwrap_or_else(|| panic!("{response}"));
        let ContentRange { first, last, total } = validator.range;
        assert_eq!(format!("{first}-{last}/{total}"), wanted, "{response}");
        assert!(validator.is_proven(), "{response}");
    }
}

#[test]
fn a_response_without_a_validator_can_only_restart() {
    for [response] in rows(
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
        let validator = validator("", "200", &format!("content-length: 10; {response}")).unwrap();
        assert_eq!(
            (validator.length(), validator.is_proven()),
            (10, false),
            "{response}"
        );
    }
}

/// The headers of a request, and the status and head of its response.
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
fn a_response_without_one_plain_range_is_never_resumed() {
    for [request, status, response] in rows(NEVER) {
        let response = format!("{response}; etag: \"a\"");
        assert_eq!(
            validator(&request, &status, &response),
            None,
            "{request} {status} {response}"
        );
    }
    let response = headers("content-length: 1; etag: \"a\"");
    for method in [Method::HEAD, Method::POST, Method::PUT] {
        let request = HeaderMap::new();
        assert_eq!(
            ResumeValidator::from_response((&method, &request), (StatusCode::OK, &response)),
            None
        );
    }
}
