//! Failures whose body breaks off or can be read in two ways: no row makes them refused.

use futures_util::FutureExt;
use http::{HeaderMap, Method, StatusCode, Uri};
use http_retry::dialect::{Dialect, Interpretation, Row};
use http_retry::policy::ErrorBody;
use http_retry::route::RequestHead;
use http_retry::rules::{Condition, Value};
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use http_retry::{Class, Outcome, Reach, RetryPolicy};
use tower::{Layer, ServiceExt};

fn policy(rows: impl IntoIterator<Item = Row>) -> RetryPolicy {
    let dialect = rows.into_iter().fold(Dialect::named("own"), Dialect::row);
    let policy = RetryPolicy::background().to_builder().dialect(dialect);
    policy.build().unwrap()
}

fn judged(rows: impl IntoIterator<Item = Row>, status: u16, body: &str) -> (Class, Reach) {
    let headers = HeaderMap::new();
    let uri = Uri::from_static("http://api.example/orders");
    let request = RequestHead::new(&Method::POST, &uri);
    let body = ErrorBody::read(body.as_bytes());
    let outcome = Outcome::response(StatusCode::from_u16(status).unwrap(), &headers);
    let outcome = policy(rows).classify(outcome.of_request(&request).with_body(&body));
    (outcome.class(), outcome.reach())
}

const REFUSED: (Class, Reach) = (Class::Throttled, Reach::Refused);
const ANSWERED: (Class, Reach) = (Class::Throttled, Reach::Answered);

fn busy() -> Row {
    let when = Row::when().status([500]).json("/code", "BUSY");
    when.is(Interpretation::throttled())
}

#[test]
fn a_whole_document_makes_a_failure_refused() {
    for body in [
        r#"{"code": "BUSY"}"#,
        r#"{"code": "BUSY", "trace": {"code": "DONE"}, "at": 1700000000.25}"#,
        r#"{"code": "BUSY", "message": "[42] no room {"}"#,
        "data: {\"code\": \"BUSY\"}\n\ndata: [DONE]\n\n",
    ] {
        assert_eq!(judged([busy()], 500, body), REFUSED, "{body}");
    }
}

#[test]
fn contradictory_or_broken_json_makes_no_failure_refused() {
    for body in [
        r#"{"code": "DONE", "code": "BUSY"}"#,
        r#"{"code": "BUSY", "code": "DONE"}"#,
        r#"{"code": "BUSY", "c\u006fde": "DONE"}"#,
        r#"{"code": "BUSY"} {"code": "DONE"}"#,
        r#"{"code": "BUSY"} <html>"#,
        r#"{"code": "BUSY""#,
        r#"{"code": "BUSY", "state": "#,
        r#"{"code": "BUSY", "left": 1e-400}"#,
        "data: {\"code\": \"BUSY\"}\n\ndata: {\"code\": \"DONE\"}\n\n",
    ] {
        assert_eq!(judged([busy()], 500, body), ANSWERED, "{body}");
    }
}

#[test]
fn bytes_that_are_no_text_make_no_failure_refused() {
    let (headers, body) = (
        HeaderMap::new(),
        ErrorBody::read(b"{\"code\": \"BUSY\", \"\xff\": \"DONE\"}"),
    );
    let outcome = Outcome::response(StatusCode::INTERNAL_SERVER_ERROR, &headers);
    let outcome = policy([busy()]).classify(outcome.with_body(&body));
    assert_eq!((outcome.class(), outcome.reach()), ANSWERED);
}

#[test]
fn a_number_that_is_read_as_another_makes_no_failure_refused() {
    let left = |value: Value| {
        let when = Row::when().status([500]).json("/left", value);
        when.is(Interpretation::throttled())
    };
    for (body, judgement) in [
        (r#"{"left": 0}"#, REFUSED),
        (r#"{"left": 0.0}"#, REFUSED),
        (r#"{"left": 0e3}"#, REFUSED),
        (r#"{"left": 1e-400}"#, ANSWERED),
    ] {
        for value in [Value::number(0), Value::is(["0"])] {
            assert_eq!(judged([left(value)], 500, body), judgement, "{body}");
        }
    }
}

#[test]
fn json_in_a_text_makes_no_failure_refused_unless_it_is_whole() {
    let inner = || {
        let when = Row::when().status([500]).json("/message/code", "BUSY");
        when.is(Interpretation::throttled())
    };
    for (message, judgement) in [
        (r#"{\"code\": \"BUSY\"}"#, REFUSED),
        (r#"{\"code\": \"BUSY\", \"code\": \"DONE\"}"#, ANSWERED),
        (r#"{\"code\": \"BUSY\""#, ANSWERED),
        (r#"{\"code\": \"BUSY\"} and more"#, ANSWERED),
    ] {
        let body = format!(r#"{{"message": "{message}"}}"#);
        assert_eq!(judged([inner()], 500, &body), judgement, "{body}");
    }
}

#[test]
fn contradictory_or_broken_xml_makes_no_failure_refused() {
    let slow = || {
        let when = Row::when().status([500]).xml("Code", ["SlowDown"]);
        when.is(Interpretation::throttled())
    };
    let whole = "<?xml version=\"1.0\"?>\n<Error><Code>SlowDown</Code><Message>m</Message></Error>";
    assert_eq!(judged([slow()], 500, whole), REFUSED);
    let named = whole.find("</Code>").unwrap() + "</Code>".len();
    for end in named..whole.len() {
        assert_eq!(judged([slow()], 500, &whole[..end]), ANSWERED, "{end}");
    }
    for body in [
        "<Error><Code>SlowDown</Code><Code>Done</Code></Error>",
        "<Error><!-- <Code>SlowDown</Code> --><Code>Done</Code></Error>",
        "<Error><Code>SlowDown</Code></Error><Error><Code>Done</Code></Error>",
        "<Error><Code>SlowDown</Code></Error> and more",
    ] {
        assert_eq!(judged([slow()], 500, body), ANSWERED, "{body}");
    }
}

#[test]
fn a_text_in_broken_json_makes_no_failure_refused() {
    let text = || {
        let when = Row::when().status([500]).message("no room");
        when.is(Interpretation::throttled())
    };
    for (body, judgement) in [
        ("no room", REFUSED),
        ("<html><p>no room<br></html>", REFUSED),
        (r#"{"message": "no room"}"#, REFUSED),
        (r#"{"message": "no room", "message": "done"}"#, ANSWERED),
        (r#"{"message": "no room"#, ANSWERED),
    ] {
        assert_eq!(judged([text()], 500, body), judgement, "{body}");
    }
}

#[test]
fn what_a_broken_body_does_not_say_makes_no_failure_refused() {
    let open = || {
        let done = Condition::json("/code", "DONE").unwrap();
        let when = Row::when().status([500]).and(!done);
        when.is(Interpretation::throttled())
    };
    for (body, judgement) in [
        (r#"{"code": "BUSY"}"#, REFUSED),
        ("", REFUSED),
        (r#"{"co"#, ANSWERED),
        (r#"{"code": "BUSY"} {"code": "DONE"}"#, ANSWERED),
    ] {
        assert_eq!(judged([open()], 500, body), judgement, "{body}");
    }
    // Its caller reads no bodies.
    let (policy, headers) = (policy([open()]), HeaderMap::new());
    let unread = Outcome::response(StatusCode::INTERNAL_SERVER_ERROR, &headers);
    assert_eq!(policy.classify(unread).reach(), Reach::Answered);
}

#[test]
fn a_row_that_a_broken_body_hides_leaves_the_next_one_unsure() {
    let done = || {
        let when = Row::when().status([500]).json("/code", "DONE");
        when.is(Interpretation::permanent())
    };
    let shed = || Row::when().status([500]).is(Interpretation::throttled());
    for (body, judgement) in [
        (r#"{"code": "BUSY"}"#, REFUSED),
        ("<html>no room", REFUSED),
        ("", REFUSED),
        (r#"{"trace": 7, "co"#, ANSWERED),
    ] {
        assert_eq!(judged([done(), shed()], 500, body), judgement, "{body}");
    }
    // A row that looks at no body needs none.
    assert_eq!(judged([shed()], 500, r#"{"co"#), REFUSED);
}

#[test]
fn a_broken_body_takes_nothing_from_what_the_status_says() {
    let busy = || {
        let when = Row::when().status([429]).json("/code", "BUSY");
        when.is(Interpretation::throttled())
    };
    assert_eq!(judged([busy()], 429, r#"{"code": "BUSY""#), REFUSED);
}

#[test]
fn a_post_is_not_sent_again_after_a_contradictory_body() {
    let sent = |method: Method, body: &'static str| {
        let server = Script::new().status(500).body(body).status(200);
        let retries = RetryLayer::new(policy([busy()])).runtime(ManualRuntime::new());
        let request = http::Request::builder()
            .method(method)
            .uri("http://api.example/orders");
        let request = request.body(String::new()).unwrap();
        let sent = retries
            .layer(server.clone())
            .oneshot(request)
            .now_or_never();
        sent.unwrap().unwrap();
        server.calls().len()
    };
    let contradictory = r#"{"code":"DONE","code":"BUSY"}"#;
    assert_eq!(sent(Method::POST, r#"{"code":"BUSY"}"#), 2);
    assert_eq!(sent(Method::POST, contradictory), 1);
    assert_eq!(sent(Method::PUT, contradictory), 2);
}
