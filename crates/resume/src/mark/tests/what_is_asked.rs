//! The request for the rest.

use super::*;

/// Returns the range, `If-Range` and coding of the request for the rest, which has no condition that can lead to a 304.
fn rest_headers(validator: &ResumeValidator, received: u64, own: &str) -> [String; 3] {
    let mut headers = headers(own);
    assert!(validator.ask(received, &mut headers));
    assert!(!headers.contains_key(IF_NONE_MATCH) && !headers.contains_key(IF_MODIFIED_SINCE));
    [RANGE, IF_RANGE, ACCEPT_ENCODING].map(|name| {
        let value = headers.get(name).unwrap();
        value.to_str().unwrap().to_owned()
    })
}

const OWN: &str = "range: bytes=5-; if-range: x; accept-encoding: gzip; if-none-match: \"a\"; if-modified-since: x";

#[test]
fn the_rest_is_requested_from_a_kibibyte_before() {
    for (validator, received, range) in [
        (tagged(5000), 0, "bytes=0-4999"),
        (tagged(5000), 1, "bytes=0-4999"),
        (tagged(5000), 1024, "bytes=0-4999"),
        (tagged(5000), 1025, "bytes=1-4999"),
        (tagged(5000), 4999, "bytes=3975-4999"),
        (tagged(MAX), MAX - 2, "bytes=MAX-1026-MAX-1"),
        (part(), 2000, "bytes=1476-3499"),
    ] {
        let wanted = [&filled(range), "\"a\"", "identity"];
        assert_eq!(rest_headers(&validator, received, OWN), wanted);
        assert_eq!(rest_headers(&validator, received, ""), wanted);
    }
    let wanted = ["bytes=1024-4999", &filled("OLD"), "identity"];
    assert_eq!(rest_headers(&dated(5000), 2048, OWN), wanted);
}

#[test]
fn without_a_validator_the_request_keeps_its_own_range() {
    let response = "content-length: 3; content-range: bytes 5-7/10";
    let range = validator("range: bytes=5-7", "206", response).unwrap();
    assert_eq!(rest_headers(&range, 0, OWN), ["bytes=5-", "x", "identity"]);
}

#[test]
fn a_request_without_room_for_headers_is_not_sent() {
    let mut full = HeaderMap::new();
    let name = |number| HeaderName::try_from(format!("x-{number}")).unwrap();
    let mut names = (0..).map(name);
    while full
        .try_insert(names.next().unwrap(), HeaderValue::from(1))
        .is_ok()
    {}
    assert!(!tagged(10).ask(5, &mut full));
}
