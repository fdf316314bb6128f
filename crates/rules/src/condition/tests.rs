use super::*;
use http::{HeaderMap, HeaderName, StatusCode, Uri};
use http_retry_core::RetryPolicy;
use http_retry_core::rules::{CannedResponse, Failover, OnExhausted, Rule};
use http_retry_core::settings::PolicyExt;

fn holds(test: Test, outcome: &Outcome<'_>, view: BodyView) -> Option<bool> {
    let mut input = ConditionInput::new(outcome, view);
    (input.attempt, input.method, input.idempotent) = (1, Some(&Method::GET), true);
    input.reads_successes = false;
    Condition([test].into()).holds(&input)
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
    assert_eq!(holds(message(), &failed, BodyView::Head), None);
    assert_eq!(holds(message(), &failed, BodyView::Body), Some(false));
    let body = ErrorBody::read(b"Please slow down now");
    let read = failed.with_body(&body);
    assert_eq!(holds(message(), &read, BodyView::Head), Some(true));
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
        holds(when(status(500..=599)), &failed, BodyView::Head),
        Some(false)
    );
    assert_eq!(
        holds(when(status(400..=499)), &failed, BodyView::Head),
        None
    );
    let either = |second| {
        Test::Any(vec![
            Condition([message()].into()),
            Condition([second].into()),
        ])
    };
    assert_eq!(
        holds(either(status(400..=499)), &failed, BodyView::Head),
        Some(true)
    );
    assert_eq!(
        holds(
            Test::Not(Condition([message()].into())),
            &failed,
            BodyView::Head
        ),
        None
    );
}

#[test]
fn a_body_test_does_not_hold_for_a_success() {
    let headers = HeaderMap::new();
    let fine = Outcome::response(StatusCode::OK, &headers);
    assert_eq!(holds(message(), &fine, BodyView::Head), Some(false));
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
        holds(Test::Header(test), &outcome, BodyView::Body)
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
        |list: Vec<Condition>| Condition::any(list).matches(&outcome, BodyView::Head) == Some(true);
    assert!(holds(vec![header("x-b"), status(500), header("x-a")]));
    assert!(holds(vec![header("x-a"), status(500), header("x-b")]));
    assert!(holds(vec![header("x-a"), header("x-b")]));
    assert!(holds(vec![header("x-b"), header("x-a")]));
    assert!(holds(vec![header("x-a"), status(400), header("x-a")]));
    assert!(!holds(vec![header("x-a"), status(500), header("x-c")]));
    assert!(!holds(Vec::new()));
}

#[cfg(feature = "json")]
#[test]
fn the_locations_of_rules_are_looked_up_with_those_of_tables() {
    let busy = Condition::json("/error/code", "busy").unwrap();
    let policy = RetryPolicy::builder().rule(Rule::when(busy).stop());
    let headers = HeaderMap::new();
    let failed = Outcome::response(StatusCode::CONFLICT, &headers);
    let pointers = policy.build().unwrap().pointers(&failed);
    assert_eq!(pointers, [Pointer::parse("/error/code").unwrap()]);
}

#[test]
fn explain_shows_the_lists_that_are_set_in_code() {
    let status = |status| Condition::status([status]).unwrap();
    let later = CannedResponse::new(StatusCode::SERVICE_UNAVAILABLE);
    let policy = RetryPolicy::builder()
        .retry_on([status(500), status(502)])
        .stop_on([status(501)])
        .on_exhausted(OnExhausted::Respond(later));
    let text = policy.build().unwrap().explain();
    for line in [
        "  retry_on: only status 500, status 502, whatever the class\n",
        "  stop_on: never status 501\n",
        "  on_exhausted: respond 503\n",
        "  once retries are exhausted, the caller gets a response of the policy, 503\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
    let plain = RetryPolicy::background().explain();
    assert!(!plain.contains("_on") && !plain.contains("on_"), "{plain}");
}

#[test]
fn explain_shows_when_a_rule_holds_and_what_a_failover_gives() {
    let spent = Condition::status([429])
        .unwrap()
        .and(Condition::message("no credit left").unwrap());
    let policy = RetryPolicy::builder()
        .rule(
            Rule::when(spent)
                .named("spent")
                .failover(Failover::to("backup")),
        )
        .rule(Rule::when(Condition::failure()).stop());
    let text = policy.build().unwrap().explain();
    let lines = "  rule spent: failover to backup\n    \
                 if status 429 and a text in the body; the caller gets the outcome of backup\n  \
                 rule rules[1]: stop\n    if no success\n";
    assert!(text.contains(lines), "{text}");
    assert!(!text.contains("credit"), "{text}");
}

#[test]
fn a_condition_names_the_starts_of_the_paths_that_it_holds_for() {
    let path = |pattern: &str| Condition::path(pattern).unwrap();
    let ok = || Condition::status([200]).unwrap();
    let paths = [
        "/",
        "/v",
        "/v1",
        "/v1/",
        "/v1/a",
        "/v10",
        "/v1/export",
        "/w/v1",
        "/V1",
        "/%C3%BC",
    ];
    for (condition, starts) in [
        (path("/v1"), &["/v1"][..]),
        (path("/v1/"), &["/v1"]),
        (path("/v1/*"), &["/v1"]),
        (path("/v1*"), &["/v1"]),
        (path("/v1/*/export"), &["/v1"]),
        (path("/%C3%BC*"), &["/%C3%BC"]),
        (path("*/v1"), &[]),
        (path("/*"), &[]),
        (path("/"), &[]),
        (ok().and(path("/v1/*")), &["/v1"]),
        (path("/v1").or(path("/w/*")), &["/v1", "/w"]),
        (path("/v1").or(ok()), &[]),
        (Condition::all([ok(), path("/v1/a")]), &["/v1/a"]),
        (!path("/v1"), &[]),
        (Condition::always(), &[]),
    ] {
        assert_eq!(condition.path_starts(), starts, "{condition:?}");
        for path in paths {
            let headers = HeaderMap::new();
            let uri = path.parse().unwrap();
            let request = RequestHead::new(&Method::GET, &uri).with_key_in(&headers);
            let outcome = Outcome::response(StatusCode::OK, &headers).of_request(&request);
            let holds = condition.matches(&outcome, BodyView::Head) == Some(true);
            let may =
                starts.is_empty() || starts.iter().any(|start| request.path().starts_with(start));
            assert!(may || !holds, "{condition:?}: {path}");
        }
    }
}

#[test]
fn a_condition_says_if_a_success_can_meet_it() {
    let path = || Condition::path("/a/*").unwrap();
    let failed = || Condition::status(500..=599).unwrap();
    let ok = || Condition::status([204, 503]).unwrap();
    let message = || Condition::message("slow").unwrap();
    for (condition, may) in [
        (Condition::always(), true),
        (Condition::success(), true),
        (Condition::failure(), false),
        (path(), true),
        (ok(), true),
        (failed(), false),
        (message(), false),
        (Condition::retryable(), false),
        (Condition::error(ErrorGroup::Any), false),
        (path().and(failed()), false),
        (path().or(failed()), true),
        (failed().or(message()), false),
        (Condition::all([path(), failed()]), false),
        (Condition::all([path(), ok()]), true),
        (!failed(), true),
        (!Condition::success(), true),
    ] {
        assert_eq!(condition.may_hold_for_success(), may, "{condition:?}");
        for status in [StatusCode::OK, StatusCode::NO_CONTENT, StatusCode::FOUND] {
            let headers = HeaderMap::new();
            let uri = Uri::from_static("http://a.example/a/b");
            let request = RequestHead::new(&Method::GET, &uri).with_key_in(&headers);
            let outcome = Outcome::response(status, &headers).of_request(&request);
            let mut input = ConditionInput::new(&outcome, BodyView::Head);
            input.reads_successes = false;
            let holds = condition.holds(&input);
            assert!(may || holds == Some(false), "{condition:?}: {status}");
        }
    }
}
