//! Reads a case strictly: a field of the wrong kind, or one that nobody reads, is an error.

use http::{HeaderMap, HeaderName, HeaderValue};
use http_retry::policy::Decimal;
use serde_json::{Map, Value};
use std::fmt::Debug;
use std::time::Duration;

/// What a case wants is what came.
pub(super) fn same<T: PartialEq + Debug>(what: &str, wanted: &T, got: &T) -> Result<(), String> {
    if wanted == got {
        Ok(())
    } else {
        Err(format!("{what}: wanted {wanted:?}, got {got:?}"))
    }
}

/// The fields of one JSON object.
pub(super) struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    /// The fields of a whole case, which has an id and a source besides those that are known of its kind.
    pub(super) fn of_case(case: &'a Value, known: &[&str]) -> Result<Self, String> {
        let fields = Self::of(case, &[known, &["id", "source"]].concat())?;
        fields.text("id")?;
        Ok(fields)
    }

    /// The fields of an object, if all of them are known.
    pub(super) fn of(object: &'a Value, known: &[&str]) -> Result<Self, String> {
        let fields = object
            .as_object()
            .ok_or_else(|| format!("wanted an object, got {object}"))?;
        match fields.keys().find(|name| !known.contains(&name.as_str())) {
            Some(unknown) => Err(format!("the field {unknown:?} is not known")),
            None => Ok(Self(fields)),
        }
    }

    pub(super) fn optional(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name)
    }

    pub(super) fn value(&self, name: &str) -> Result<&'a Value, String> {
        self.optional(name)
            .ok_or_else(|| format!("the field {name:?} is missing"))
    }

    pub(super) fn text(&self, name: &str) -> Result<&'a str, String> {
        read(name, self.value(name)?, "a text", Value::as_str)
    }

    pub(super) fn truth(&self, name: &str) -> Result<bool, String> {
        read(name, self.value(name)?, "true or false", Value::as_bool)
    }

    pub(super) fn list(&self, name: &str) -> Result<&'a [Value], String> {
        let list = read(name, self.value(name)?, "a list", Value::as_array)?;
        if list.is_empty() {
            Err(format!("{name}: the list is empty"))
        } else {
            Ok(list)
        }
    }

    /// A list whose values are all of one kind.
    pub(super) fn all<T>(
        &self,
        name: &str,
        each: impl Fn(&'a Value) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        let values = self.list(name)?.iter().map(each);
        values
            .collect::<Result<_, _>>()
            .map_err(|wrong| format!("{name}: {wrong}"))
    }

    pub(super) fn decimal(&self, name: &str) -> Result<Decimal, String> {
        decimal(self.value(name)?).map_err(|wrong| format!("{name}: {wrong}"))
    }

    pub(super) fn count(&self, name: &str) -> Result<u32, String> {
        count(self.value(name)?).map_err(|wrong| format!("{name}: {wrong}"))
    }

    pub(super) fn milliseconds(&self, name: &str) -> Result<Duration, String> {
        milliseconds(self.value(name)?).map_err(|wrong| format!("{name}: {wrong}"))
    }

    /// Pairs of names and values, as the bytes of their UTF-8.
    pub(super) fn headers(&self, name: &str) -> Result<HeaderMap, String> {
        let pairs = read(name, self.value(name)?, "a list", Value::as_array)?;
        pairs
            .iter()
            .map(header)
            .collect::<Option<_>>()
            .ok_or_else(|| {
                format!("{name}: wanted pairs of header names and values, got {pairs:?}")
            })
    }
}

fn read<'a, T>(
    name: &str,
    value: &'a Value,
    kind: &str,
    as_kind: impl Fn(&'a Value) -> Option<T>,
) -> Result<T, String> {
    as_kind(value).ok_or_else(|| format!("{name}: wanted {kind}, got {value}"))
}

fn header(pair: &Value) -> Option<(HeaderName, HeaderValue)> {
    let [name, value] = pair.as_array()?.as_slice() else {
        return None;
    };
    let name = HeaderName::from_bytes(name.as_str()?.as_bytes()).ok()?;
    let value = HeaderValue::from_bytes(value.as_str()?.as_bytes()).ok()?;
    Some((name, value))
}

pub(super) fn number(value: &Value) -> Result<f64, String> {
    value
        .as_f64()
        .ok_or_else(|| format!("wanted a number, got {value}"))
}

pub(super) fn count(value: &Value) -> Result<u32, String> {
    let count = value.as_u64().and_then(|count| u32::try_from(count).ok());
    count.ok_or_else(|| format!("wanted a whole number up to {}, got {value}", u32::MAX))
}

/// A number that the crate keeps exactly.
pub(super) fn decimal(value: &Value) -> Result<Decimal, String> {
    let number = number(value)?;
    if number >= 0.0 && (number * 1e6).round() / 1e6 == number {
        Ok(Decimal::from(number))
    } else {
        Err(format!(
            "wanted a number of up to six places, not below 0, got {number}"
        ))
    }
}

/// To the nearest nanosecond; what no duration can hold is the longest one.
pub(super) fn milliseconds(value: &Value) -> Result<Duration, String> {
    if let Some(whole) = value.as_u64() {
        return Ok(Duration::from_millis(whole));
    }
    match number(value)? {
        negative if negative < 0.0 => Err(format!("wanted a number not below 0, got {negative}")),
        number => Ok(Duration::try_from_secs_f64(number / 1e3).unwrap_or(Duration::MAX)),
    }
}

mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_field_that_nobody_reads_is_an_error() {
        let case = json!({"id": "a", "source": "b", "status": 1, "stauts": 2});
        let wrong = Fields::of_case(&case, &["status"]).err();
        assert_eq!(wrong.as_deref(), Some("the field \"stauts\" is not known"));
        assert!(Fields::of_case(&case, &["status", "stauts"]).is_ok());
    }

    #[test]
    fn durations_are_read_to_the_nanosecond_and_saturate() {
        let of = |value: Value| milliseconds(&value);
        assert_eq!(of(json!(1500)), Ok(Duration::from_millis(1500)));
        assert_eq!(of(json!(337.5)), Ok(Duration::from_micros(337_500)));
        assert_eq!(of(json!(2856.1)), Ok(Duration::from_micros(2_856_100)));
        assert_eq!(of(json!(1e300)), Ok(Duration::MAX));
        assert!(of(json!(-1)).is_err());
        assert!(of(json!(null)).is_err());
    }

    #[test]
    fn decimals_have_six_places() {
        assert_eq!(decimal(&json!(1.1)), Ok(Decimal::from(1.1)));
        assert_eq!(decimal(&json!(0.000_001)), Ok(Decimal::from(0.000_001)));
        for wrong in [json!(0.333_333_3), json!(-1), json!("1")] {
            assert!(decimal(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_header_may_hold_any_bytes_that_a_response_may() {
        let case = json!({"headers": [["retry-after", "²"], ["retry-after", "\t42 "]]});
        let headers = Fields(case.as_object().unwrap())
            .headers("headers")
            .unwrap();
        let values: Vec<&[u8]> = headers
            .get_all("retry-after")
            .iter()
            .map(HeaderValue::as_bytes)
            .collect();
        assert_eq!(values, ["²".as_bytes(), b"\t42 "]);
        let case = json!({"headers": [["retry-after", "1\n2"]]});
        assert!(
            Fields(case.as_object().unwrap())
                .headers("headers")
                .is_err()
        );
    }
}
