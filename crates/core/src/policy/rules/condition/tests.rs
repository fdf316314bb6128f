use super::*;
use crate::error_body::ErrorBody;
use crate::policy::outcome::Outcome;
use http::{HeaderMap, HeaderName, StatusCode};

fn holds(test: Test, outcome: &Outcome<'_>, evidence: Evidence) -> Option<bool> {
    Condition([test].into()).holds(&ConditionInput {
        outcome,
        attempt: 1,
        method: Some(&Method::GET),
        idempotent: true,
        evidence,
        reads_successes: false,
    })
}

fn message() -> Test {
    Test::Message("slow down".into())
}

fn status(range: RangeInclusive<u16>) -> Test {
    Test::Status(vec![range])
}

#[test]
fn a_test_of_an_unread_body_is_undecided() {
    let headers = HeaderMap::new();
    let failed = Outcome::response(StatusCode::BAD_REQUEST, &headers);
    assert_eq!(holds(message(), &failed, Evidence::Head), None);
    assert_eq!(holds(message(), &failed, Evidence::Body), Some(false));
    let body = ErrorBody::read(b"Please slow down now");
    let read = failed.with_body(&body);
    assert_eq!(holds(message(), &read, Evidence::Head), Some(true));
}

#[test]
fn a_test_of_the_head_that_decides_makes_the_body_needless() {
    let headers = HeaderMap::new();
    let failed = Outcome::response(StatusCode::BAD_REQUEST, &headers);
    let when = |first| {
        Test::All(vec![
            Condition([message()].into()),
            Condition([first].into()),
        ])
    };
    assert_eq!(
        holds(when(status(500..=599)), &failed, Evidence::Head),
        Some(false)
    );
    assert_eq!(
        holds(when(status(400..=499)), &failed, Evidence::Head),
        None
    );
    let either = |second| {
        Test::Any(vec![
            Condition([message()].into()),
            Condition([second].into()),
        ])
    };
    assert_eq!(
        holds(either(status(400..=499)), &failed, Evidence::Head),
        Some(true)
    );
    assert_eq!(
        holds(
            Test::Not(Condition([message()].into())),
            &failed,
            Evidence::Head
        ),
        None
    );
}

#[test]
fn a_body_test_does_not_hold_for_a_success() {
    let headers = HeaderMap::new();
    let fine = Outcome::response(StatusCode::OK, &headers);
    assert_eq!(holds(message(), &fine, Evidence::Head), Some(false));
}

#[test]
fn a_header_test_checks_presence_or_a_whole_value() {
    let mut headers = HeaderMap::new();
    headers.append("x-reason", http::HeaderValue::from_static(" Busy "));
    let outcome = Outcome::response(StatusCode::BAD_REQUEST, &headers);
    let test = |name: &'static str, values: Option<&str>| {
        let values = values.map(|value| vec![value.to_owned()]);
        let wanted = values.map_or(ValueTest::Present, ValueTest::Is);
        let test = HeadTest::new(HeaderName::from_static(name), wanted);
        holds(Test::Header(test), &outcome, Evidence::Body)
    };
    assert_eq!(test("x-reason", None), Some(true));
    assert_eq!(test("x-reason", Some("busy")), Some(true));
    assert_eq!(test("x-reason", Some("bus")), Some(false));
    assert_eq!(test("x-other", None), Some(false));
}

#[test]
fn any_holds_if_one_condition_does_wherever_it_stands() {
    let headers = HeaderMap::from_iter([(
        HeaderName::from_static("x-b"),
        http::HeaderValue::from_static("1"),
    )]);
    let outcome = Outcome::response(StatusCode::BAD_REQUEST, &headers);
    let header = |name| Condition::header(HeaderName::from_static(name));
    let status = |status| Condition::status([status]).unwrap();
    let holds =
        |list: Vec<Condition>| Condition::any(list).matches(&outcome, Evidence::Head) == Some(true);
    assert!(holds(vec![header("x-b"), status(500), header("x-a")]));
    assert!(holds(vec![header("x-a"), status(500), header("x-b")]));
    assert!(holds(vec![header("x-a"), header("x-b")]));
    assert!(holds(vec![header("x-b"), header("x-a")]));
    assert!(holds(vec![header("x-a"), status(400), header("x-a")]));
    assert!(!holds(vec![header("x-a"), status(500), header("x-c")]));
    assert!(!holds(Vec::new()));
}
