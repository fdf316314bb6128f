//! Conditions on the content of a response: a part of a header, a location in a JSON body, an element of an XML one.

use super::{Condition, Test, Value, ValueTest};
#[cfg(feature = "json")]
use crate::error_body::ReadBody;
use http::HeaderName;
#[cfg(feature = "json")]
use http_retry_core::policy::{ErrorBody, Pointer};
use http_retry_core::reading::OutcomeExt;
use http_retry_core::{ConfigError, Outcome};

/// A test of a response header: one of its values, or a named part of a line, has a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeadTest {
    pub(crate) name: HeaderName,
    /// The name of the part: `left` in `used=3, left=2`.
    pub(crate) part: Option<String>,
    pub(crate) wanted: ValueTest,
}

impl HeadTest {
    pub(crate) fn new(name: HeaderName, wanted: ValueTest) -> Self {
        let part = None;
        Self { name, part, wanted }
    }

    pub(super) fn holds(&self, outcome: &Outcome<'_>) -> bool {
        // A line that is too long to be looked at still makes the header present.
        if self.part.is_none() && self.wanted == ValueTest::Present {
            let headers = outcome.headers();
            return headers.is_some_and(|headers| headers.contains_key(&self.name));
        }
        let mut values = outcome.header_values(&self.name, self.part.as_deref());
        values.any(|value| self.wanted.holds(value, str::eq_ignore_ascii_case))
    }
}

/// A test of two headers that list numbers: a usage has reached its limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UsageTest {
    usage: HeaderName,
    limit: HeaderName,
    /// The index of both numbers in their lists.
    index: usize,
}

impl UsageTest {
    pub(super) fn holds(&self, outcome: &Outcome<'_>) -> bool {
        let number = |name| {
            let item = outcome
                .header_lines(name)
                .flat_map(|line| line.split(','))
                .nth(self.index);
            item.and_then(|item| item.trim_ascii().parse::<u64>().ok())
        };
        let (usage, limit) = (number(&self.usage), number(&self.limit));
        limit.is_some() && usage >= limit
    }
}

/// Returns `true` if a JSON body has such a value at a location.
#[cfg(feature = "json")]
pub(super) fn has_at(body: &ErrorBody, pointer: &Pointer, wanted: &ValueTest) -> bool {
    let same = |one: &str, other: &str| one == other;
    body.at(pointer).iter().any(|value| match value {
        Some(scalar) => wanted.holds(scalar, same),
        // A list, an object or a text that is too long has no value to compare, but it is present.
        None => *wanted == ValueTest::Present,
    })
}

impl Condition {
    /// Holds for responses with this header, whatever its value. An error never has one.
    pub fn header(name: HeaderName) -> Self {
        Self::of(Test::Header(HeadTest::new(name, ValueTest::Present)))
    }

    /// Holds for responses with a line of this header, or an element of its list, that is this value as a whole,
    /// without the blanks around it; case is ignored. [`head`](Self::head) takes parts, starts and numbers.
    ///
    /// ```
    /// use http::HeaderName;
    /// use http_retry::rules::Condition;
    ///
    /// let shed = Condition::header_is(HeaderName::from_static("x-shed"), "true");
    /// ```
    pub fn header_is(name: HeaderName, value: impl Into<String>) -> Self {
        let wanted = ValueTest::Is(vec![value.into()]);
        Self::of(Test::Header(HeadTest::new(name, wanted)))
    }

    /// Holds for responses with a line of this header that has this value, or an element of its list: `a: 1` twice and
    /// `a: 1, 1` are the same header. The first 8 lines count, each of at most 1,024 bytes, and 64 elements of a line.
    ///
    /// ```
    /// use http::HeaderName;
    /// use http_retry::rules::{Condition, Value};
    ///
    /// let left = HeaderName::from_static("x-calls-left");
    /// let spent = Condition::head(left.clone(), 0)?;
    /// let few = Condition::head_part(left, "day", Value::any_number())?;
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A value that no header can have: an empty list, or an empty part.
    pub fn head(name: HeaderName, value: impl Into<Value>) -> Result<Self, ConfigError> {
        Self::of_head(name, None, value.into())
    }

    /// Holds for responses with this value in a named part of a header: `left` in `used=3, left=2`. Parts end at `,`,
    /// `;` or `&`, their names at `=` or `:`; the case of a name is ignored, as are quotes, braces and brackets around
    /// a name or a value, so that the innermost members of JSON count too.
    ///
    /// # Errors
    ///
    /// As for [`Condition::head`].
    pub fn head_part(
        name: HeaderName,
        part: impl Into<String>,
        value: impl Into<Value>,
    ) -> Result<Self, ConfigError> {
        Self::of_head(name, Some(part.into()), value.into())
    }

    /// A response with two headers that list numbers, such as `usage: 205, 870` and `limit: 200, 2000`, in which the
    /// usage at this index has reached its limit. The index starts at 0.
    ///
    /// ```
    /// use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
    /// use http_retry::Outcome;
    /// use http_retry::rules::Condition;
    /// use http_retry_core::rules::BodyView;
    ///
    /// let [usage, limit] = ["x-usage", "x-limit"].map(HeaderName::from_static);
    /// let values = ["205,870", "200,2000"].map(HeaderValue::from_static);
    /// let headers = HeaderMap::from_iter([usage.clone(), limit.clone()].into_iter().zip(values));
    /// let refused = Outcome::response(StatusCode::TOO_MANY_REQUESTS, &headers);
    /// let of_a_quarter = Condition::used_up(usage.clone(), limit.clone(), 0);
    /// assert_eq!(of_a_quarter.matches(&refused, BodyView::Head), Some(true));
    /// let of_a_day = Condition::used_up(usage, limit, 1);
    /// assert_eq!(of_a_day.matches(&refused, BodyView::Head), Some(false));
    /// ```
    pub fn used_up(usage: HeaderName, limit: HeaderName, index: usize) -> Self {
        Self::of(Test::Usage(UsageTest {
            usage,
            limit,
            index,
        }))
    }

    fn of_head(
        name: HeaderName,
        part: Option<String>,
        Value(wanted): Value,
    ) -> Result<Self, ConfigError> {
        if wanted.is_empty() || part.as_ref().is_some_and(String::is_empty) {
            return Err(ConfigError::new("header", name, NOTHING));
        }
        Ok(Self::of(Test::Header(HeadTest { name, part, wanted })))
    }

    /// Holds if a location in a JSON error body has this value. The location is an RFC 6901 pointer in which `*`
    /// matches any member or item. A number and a text of its digits are the same. It needs the feature `json` (in
    /// `http-retry`: `dialects`).
    ///
    /// ```
    /// use http_retry::rules::{Condition, Value};
    ///
    /// let code = Condition::json("/errors/*/code", ["busy", "locked"])?;
    /// let exists = Condition::json("/error/retryable", Value::any())?;
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// An invalid pointer, or an empty list of values.
    #[cfg(feature = "json")]
    pub fn json(pointer: &str, value: impl Into<Value>) -> Result<Self, ConfigError> {
        let Value(wanted) = value.into();
        let parsed = Pointer::parse(pointer)?;
        if wanted.is_empty() {
            return Err(ConfigError::new("json", pointer, NOTHING));
        }
        // A number counts as the service writes it, and so does a text of the same digits.
        Ok(Self::of(Test::Json {
            pointer: parsed,
            wanted,
        }))
    }

    /// Holds if the first element of this name in an XML error body has one of these texts, as
    /// [`ReadBody::xml`] finds it.
    ///
    /// ```
    /// use http_retry::rules::Condition;
    ///
    /// let slow = Condition::xml("Code", ["SlowDown", "RequestLimitExceeded"])?;
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// An empty name, or no text.
    pub fn xml(
        tag: impl Into<String>,
        texts: impl IntoIterator<Item = impl Into<String>>,
    ) -> Result<Self, ConfigError> {
        let (tag, texts): (String, Vec<String>) =
            (tag.into(), texts.into_iter().map(Into::into).collect());
        if tag.is_empty() || texts.is_empty() {
            Err(ConfigError::new("xml", tag, NOTHING))
        } else {
            Ok(Self::of(Test::Xml { tag, texts }))
        }
    }
}

const NOTHING: &str = "must name something to look for";

#[cfg(test)]
mod tests {
    use super::UsageTest;
    use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
    use http_retry_core::Outcome;

    #[test]
    fn a_usage_that_has_reached_its_limit_is_told_from_others() {
        let [usage, limit] = ["x-usage", "x-limit"].map(HeaderName::from_static);
        let holds = |lines: [Option<&'static str>; 2], index| {
            let names = [usage.clone(), limit.clone()].into_iter();
            let lines = names
                .zip(lines)
                .filter_map(|(name, line)| Some((name, HeaderValue::from_static(line?))));
            let headers = HeaderMap::from_iter(lines);
            let (usage, limit) = (usage.clone(), limit.clone());
            UsageTest {
                usage,
                limit,
                index,
            }
            .holds(&Outcome::response(StatusCode::OK, &headers))
        };
        let both = [Some("205, 870"), Some("200,2000")];
        assert!(holds(both, 0));
        assert!(!holds(both, 1));
        assert!(!holds(both, 2));
        assert!(holds([Some("200"), Some("200")], 0));
        for lines in [
            [None, Some("200")],
            [Some("205"), None],
            [None, None],
            [Some("many"), Some("200")],
        ] {
            assert!(!holds(lines, 0), "{lines:?}");
        }
    }
}
