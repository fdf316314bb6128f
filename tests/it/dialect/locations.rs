//! Where a row of one's own finds times, windows and the names of limits.

use super::answers::{NOW, headers};
use http::{Method, StatusCode};
use http_retry::dialect::{Dialect, Interpretation, Location, Row};
use http_retry::policy::{Scope, Unit};
use http_retry::route::RequestHead;
use http_retry::{Outcome, RetryPolicy};
use serde_json::json;
use std::time::Duration;

/// What one row makes of a 429: the delay, the shortest delay, and the scope.
type Meant = (Option<Duration>, Option<Duration>, Option<Scope>);

fn meant(meaning: Interpretation, path: &str, head: &serde_json::Value) -> Meant {
    let dialect = Dialect::named("own").row(Row::when().status([429]).is(meaning));
    let policy = RetryPolicy::builder().dialect(dialect).build().unwrap();
    let head = headers(head);
    let uri = path.parse().unwrap();
    let request = RequestHead::new(&Method::GET, &uri);
    let outcome = Outcome::response(StatusCode::TOO_MANY_REQUESTS, &head);
    let outcome = policy.classify(outcome.of_request(&request));
    (
        outcome.server_delay(NOW),
        outcome.verdict().at_least,
        outcome.verdict().scope,
    )
}

fn seconds(count: u64) -> Option<Duration> {
    Some(Duration::from_secs(count))
}

#[test]
fn the_longest_start_of_a_list_is_the_delay() {
    let slow = Interpretation::throttled().delay(Location::header_starts("x-limits"), Unit::S);
    for (line, delay) in [
        ("60:error:organization", seconds(60)),
        ("60:error, 2700:default;security:key, 5::", seconds(2_700)),
        (" 7 ", seconds(7)),
        ("0:error", None),
        (":error, soon:error", None),
        ("", None),
    ] {
        let head = json!({"x-limits": line});
        assert_eq!(meant(slow.clone(), "/", &head).0, delay, "{line:?}");
    }
}

#[test]
fn resets_of_quotas_count_unless_the_rows_header_is_there() {
    let slow = Interpretation::throttled().delay(Location::header("x-reset"), Unit::Ms);
    for (own, delay) in [
        (json!({"x-reset": "5000"}), seconds(5)),
        (json!({"x-reset": "soon"}), None),
        (json!({}), seconds(60)),
    ] {
        let mut head = json!({"ratelimit-remaining": "0", "ratelimit-reset": "60"});
        let both = head.as_object_mut().unwrap();
        both.extend(own.as_object().unwrap().clone());
        assert_eq!(meant(slow.clone(), "/", &head).0, delay, "{own}");
    }
}

#[test]
fn a_segment_of_the_path_names_a_limit() {
    let slow = Interpretation::throttled().scope_from(Location::path_segment(1));
    let slow = slow.scope(Scope::Route);
    for (path, scope) in [
        ("/v0/appX/Orders", Scope::named("appX")),
        ("//v0/appX/?x=1", Scope::named("appX")),
        ("/v0", Some(Scope::Route)),
        ("/", Some(Scope::Route)),
    ] {
        assert_eq!(meant(slow.clone(), path, &json!({})).2, scope, "{path}");
    }
}

#[test]
fn the_shortest_delay_is_the_rest_of_a_window() {
    let quarter = Interpretation::throttled().until_next(Duration::from_secs(15 * 60));
    for (date, least) in [
        ("Fri, 21 Aug 2026 12:10:00 GMT", seconds(300)),
        ("Fri, 21 Aug 2026 12:59:59 GMT", seconds(1)),
        ("Fri, 21 Aug 2026 12:00:00 GMT", seconds(900)),
        ("yesterday", seconds(900)),
    ] {
        let head = json!({"date": date});
        assert_eq!(
            meant(quarter.clone(), "/", &head),
            (None, least, None),
            "{date}"
        );
    }
    let longer = quarter.at_least(Duration::from_secs(1_000));
    assert_eq!(meant(longer, "/", &json!({})).1, seconds(1_000));
}

#[test]
fn a_window_of_nothing_is_refused() {
    let none = Interpretation::throttled().until_next(Duration::ZERO);
    let error = Row::when().status([429]).is(none).check().unwrap_err();
    assert_eq!(
        error.to_string(),
        "window: 0 is not allowed: must be longer than 0"
    );
}

#[test]
fn a_usage_that_has_reached_its_limit_meets_a_row() {
    let of_a_day = Row::when().used_up("x-usage", "x-limit", 1);
    let dialect = Dialect::named("own").row(of_a_day.is(Interpretation::permanent()));
    let policy = RetryPolicy::builder().dialect(dialect).build().unwrap();
    for (usage, row) in [("5, 2000", Some("own[0]")), ("205, 870", None)] {
        let head = headers(&json!({"x-usage": usage, "x-limit": "200, 2000"}));
        let outcome = Outcome::response(StatusCode::TOO_MANY_REQUESTS, &head);
        let outcome = policy.classify(outcome);
        assert_eq!(policy.row_of(&outcome).as_deref(), row, "{usage}");
    }
    let wrong = Row::when().used_up("x usage", "x-limit", 0);
    assert!(wrong.is(Interpretation::permanent()).check().is_err());
}
