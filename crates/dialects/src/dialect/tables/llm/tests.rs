use super::*;
use http::HeaderValue;
use http_retry_core::{Class, Reach};

fn reach(status: u16, retry_after: bool, body: &str) -> (Class, Reach) {
    let mut headers = HeaderMap::new();
    if retry_after {
        headers.insert("retry-after", HeaderValue::from_static("3"));
    }
    let status = StatusCode::from_u16(status).unwrap();
    let judged = judge(status, &headers, &ErrorBody::read(body.as_bytes()));
    judged.map_or((Class::Success, Reach::Answered), |judged| {
        (judged.class, judged.reach)
    })
}

#[test]
fn only_who_says_that_it_did_nothing_has_refused() {
    let slow_down = r#"{"error": {"code": "slow_down"}}"#;
    let aws = r#"{"__type": "ThrottlingException"}"#;
    let flex = r#"{"error": {"code": "capacity_exceeded"}}"#;
    for (status, retry_after, body) in [
        (429, false, ""),
        (429, false, flex),
        (503, false, slow_down),
        (413, true, ""),
        (498, false, flex),
        (400, false, aws),
    ] {
        let wanted = (Class::Throttled, Reach::Refused);
        assert_eq!(reach(status, retry_after, body), wanted, "{status} {body}");
    }
    for (status, retry_after) in [(503, false), (503, true), (529, true)] {
        let wanted = (Class::Throttled, Reach::Answered);
        assert_eq!(reach(status, retry_after, ""), wanted, "{status}");
    }
    for (status, wanted) in [
        (408, Reach::Refused),
        (425, Reach::Refused),
        (409, Reach::Answered),
        (499, Reach::Answered),
        (500, Reach::Answered),
        (504, Reach::Answered),
    ] {
        assert_eq!(
            reach(status, false, ""),
            (Class::Transient, wanted),
            "{status}"
        );
    }
}

#[test]
fn without_a_body_the_status_decides() {
    for status in 100..=999 {
        let class = reach(status, false, "").0;
        let wanted = match status {
            ..400 => Class::Success,
            429 | 503 | 529 => Class::Throttled,
            501 | 505 => Class::Permanent,
            408 | 409 | 425 | 499 | 500..=599 => Class::Transient,
            _ => Class::Permanent,
        };
        assert_eq!(class, wanted, "{status}");
    }
}
