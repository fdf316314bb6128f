//! The delay that a response's headers ask for.

use super::fields::{Fields, milliseconds};
use http::{HeaderMap, HeaderValue, StatusCode};
use http_retry::policy::ServerHints;
use serde_json::Value;
use std::time::Duration;

const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// From this many on, a number of seconds is a point in time.
const UNIX_TIME: u64 = 1_000_000_000;

pub(super) fn check(case: &Value) -> Result<(), String> {
    let case = Fields::of_case(case, &["headers", "now_unix", "delay_ms"])?;
    let headers = case.headers("headers")?;
    let now = case.milliseconds("now_unix")?.saturating_mul(1_000);
    let wanted = Wanted::of(case.value("delay_ms")?)?;
    // The status that lets the quota headers speak for themselves; on the others it has no influence.
    let got = ServerHints::read(StatusCode::TOO_MANY_REQUESTS, &headers, now).delay();
    if wanted.holds(got, names_a_time(&headers)) {
        Ok(())
    } else {
        Err(format!("wanted {wanted:?}, got {got:?}"))
    }
}

#[derive(Debug)]
enum Wanted {
    NoWish,
    Delay(Duration),
    AtLeastOneYear,
}

impl Wanted {
    fn of(value: &Value) -> Result<Self, String> {
        match value {
            Value::Null => Ok(Self::NoWish),
            Value::Number(_) => milliseconds(value).map(Self::Delay),
            Value::String(text) if text == "at_least_one_year" => Ok(Self::AtLeastOneYear),
            other => Err(format!("delay_ms: {other} is not known")),
        }
    }

    /// A time in the past is a delay of 0 or no wish alike.
    fn holds(&self, got: Option<Duration>, may_be_past: bool) -> bool {
        match self {
            Self::NoWish => got.is_none() || (may_be_past && got == Some(Duration::ZERO)),
            Self::Delay(wanted) => {
                got == Some(*wanted) || (may_be_past && wanted.is_zero() && got.is_none())
            }
            Self::AtLeastOneYear => got.is_some_and(|got| got >= YEAR),
        }
    }
}

fn names_a_time(headers: &HeaderMap) -> bool {
    let texts = headers.values().filter_map(|value| value.to_str().ok());
    texts.map(str::trim).any(|text| {
        let unix = text.parse::<u64>().is_ok_and(|time| time >= UNIX_TIME);
        // Every date has a time of day.
        unix || text.contains(':')
    })
}

mod tests {
    use super::*;
    use serde_json::json;

    fn case(retry_after: &str, delay_ms: &Value) -> Result<(), String> {
        check(
            &json!({"id": "a", "source": "b", "headers": [["retry-after", retry_after]],
            "now_unix": 946_684_797, "delay_ms": delay_ms}),
        )
    }

    const PAST: &str = "Fri, 31 Dec 1999 23:59:00 GMT";

    #[test]
    fn a_wrong_delay_is_seen() {
        assert_eq!(case("2", &json!(2000)), Ok(()));
        assert_eq!(
            case("2", &json!(2001)),
            Err("wanted Delay(2.001s), got Some(2s)".to_owned())
        );
        assert!(case("2", &json!(null)).is_err());
        assert!(case("x", &json!(0)).is_err());
        assert!(case("0", &json!(null)).is_err());
    }

    #[test]
    fn a_past_date_is_zero_or_no_wish() {
        assert_eq!(case(PAST, &json!(0)), Ok(()));
        assert_eq!(case(PAST, &json!(null)), Ok(()));
        assert!(case(PAST, &json!(1)).is_err());
    }

    #[test]
    fn a_year_is_a_least_and_not_a_most() {
        assert_eq!(case("31536000", &json!("at_least_one_year")), Ok(()));
        assert_eq!(case("999999999999", &json!("at_least_one_year")), Ok(()));
        assert!(case("31535999", &json!("at_least_one_year")).is_err());
    }

    #[test]
    fn another_word_for_a_delay_is_an_error() {
        assert!(case("2", &json!("soon")).is_err());
    }

    #[test]
    fn bytes_that_are_no_text_are_no_time() {
        let mut headers = HeaderMap::new();
        headers.insert("retry-after", HeaderValue::from_bytes(b"\xb2").unwrap());
        assert!(!names_a_time(&headers));
    }
}
