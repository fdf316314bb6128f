//! Whether the default policy would retry.

use super::fields::Fields;
use http::{Method, StatusCode};
use http_retry::policy::Moment;
use http_retry::{Outcome, RequestFacts, RetryPolicy};
use serde_json::Value;
use std::time::Duration;

/// 2026-08-21T12:00:00Z: the time of a case that names none.
const WALL: Duration = Duration::from_secs(1_787_313_600);

pub(super) fn check(case: &Value) -> Result<(), String> {
    let case = Fields::of_case(case, &["method", "status", "headers", "retry"])?;
    let method = Method::from_bytes(case.text("method")?.as_bytes())
        .map_err(|error| format!("method: {error}"))?;
    let status = u16::try_from(case.count("status")?).unwrap_or(u16::MAX);
    let status = StatusCode::from_u16(status).map_err(|error| format!("status: {error}"))?;
    // A case's headers are the response's; an idempotency key among them can only be the request's.
    let headers = case.headers("headers")?;
    let facts = RequestFacts::of(&method, &headers);
    let policy = RetryPolicy::default();
    let outcome = policy.classify(Outcome::response(status, &headers));
    let session = policy.session(facts, Duration::ZERO);
    let decision = session.plan(&outcome, Moment::default().with_wall(WALL));
    let wanted = case.truth("retry")?;
    if decision.is_ok() == wanted {
        Ok(())
    } else {
        Err(format!("wanted retry {wanted}, got {decision:?}"))
    }
}

mod tests {
    use super::*;
    use serde_json::json;

    fn case(method: &str, status: u16, headers: &Value, retry: bool) -> Result<(), String> {
        check(
            &json!({"id": "a", "source": "b", "method": method, "status": status,
            "headers": headers, "retry": retry}),
        )
    }

    #[test]
    fn a_wrong_decision_is_seen() {
        assert_eq!(case("GET", 503, &json!([]), true), Ok(()));
        assert_eq!(
            case("GET", 404, &json!([]), true),
            Err("wanted retry true, got Err(NotRetryable)".to_owned())
        );
        assert!(case("GET", 503, &json!([]), false).is_err());
    }

    #[test]
    fn what_a_header_says_of_a_retry_counts() {
        let named = |name: &str, value: &str| json!([[name, value]]);
        assert_eq!(case("POST", 403, &named("retry-after", "5"), true), Ok(()));
        let no = named("x-should-retry", "false");
        assert_eq!(case("GET", 503, &no, false), Ok(()));
    }

    #[test]
    fn a_key_in_the_headers_is_the_requests() {
        let key = json!([["idempotency-key", "k"]]);
        assert_eq!(case("POST", 500, &json!([]), false), Ok(()));
        assert_eq!(case("POST", 500, &key, true), Ok(()));
    }

    #[test]
    fn a_status_that_is_none_is_an_error() {
        assert!(case("GET", 42, &json!([]), false).is_err());
        assert!(case("GE T", 503, &json!([]), false).is_err());
    }
}
