//! What a part of an answer must be.

use crate::policy::verdict::bare_name;

/// What a value must be, of a header or of a place in a body; a list means "one of".
///
/// A text stands for [`Value::is`], a whole number for [`Value::number`], and a list of texts for one of them. Blanks around a
/// value do not count. A condition refuses an empty list, and an empty text where every value would have it.
///
/// ```
/// use http::HeaderName;
/// use http_retry::rules::{Condition, Value};
///
/// let state = HeaderName::from_static("x-state");
/// let one = Condition::head(state.clone(), "shedding")?;
/// let several = Condition::head(state.clone(), ["shedding", "draining"])?;
/// let begins = Condition::head(state, Value::starts("degraded:"))?;
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Value(pub(super) ValueTest);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ValueTest {
    /// Anything, as long as it is there.
    There,
    Is(Vec<String>),
    /// Its name, without a namespace before it and an address behind it.
    Name(Vec<String>),
    /// In lower case, as header values are compared.
    Starts(Vec<String>),
    /// In lower case and without `_`, `-`, `.` and blanks.
    Has(Vec<String>),
    Number(Vec<u64>),
    AnyNumber,
}

impl Value {
    /// Any value, also an empty one, as long as it is there.
    pub fn any() -> Self {
        Self(ValueTest::There)
    }

    /// One of these values: in a header whatever the case, in a body written just so.
    pub fn is(values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(ValueTest::Is(values.into_iter().map(Into::into).collect()))
    }

    /// One of these names, which may have a namespace that ends in `#` before it and an address that starts with `:`
    /// behind it, as AWS writes the names of its errors.
    pub fn name(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(ValueTest::Name(names.into_iter().map(Into::into).collect()))
    }

    /// A value that starts with this text; case does not matter.
    pub fn starts(start: impl AsRef<str>) -> Self {
        Self::starts_with_any([start])
    }

    /// A value that starts with one of these texts; case does not matter.
    pub fn starts_with_any(starts: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let starts = starts
            .into_iter()
            .map(|start| start.as_ref().to_lowercase());
        Self(ValueTest::Starts(starts.collect()))
    }

    /// A value that has one of these texts in it, both in lower case and without `_`, `-`, `.` and blanks.
    pub fn has(parts: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        Self(ValueTest::Has(
            parts.into_iter().map(|part| plain(part.as_ref())).collect(),
        ))
    }

    /// A value that begins with this whole number: 0 stands for `0`, `0.0` and `0;w=60`, and not for `05`.
    pub fn number(number: u64) -> Self {
        Self::numbers([number])
    }

    /// A value that begins with one of these whole numbers, as [`number`](Self::number) says.
    pub fn numbers(numbers: impl IntoIterator<Item = u64>) -> Self {
        Self(ValueTest::Number(numbers.into_iter().collect()))
    }

    /// A value that is a whole number or a decimal, not below 0.
    pub fn any_number() -> Self {
        Self(ValueTest::AnyNumber)
    }
}

impl ValueTest {
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::There | Self::AnyNumber => false,
            Self::Is(texts) => texts.is_empty(),
            Self::Name(texts) | Self::Starts(texts) | Self::Has(texts) => {
                texts.is_empty() || texts.iter().any(String::is_empty)
            }
            Self::Number(numbers) => numbers.is_empty(),
        }
    }

    pub(super) fn holds(&self, value: &str, same: fn(&str, &str) -> bool) -> bool {
        let value = value.trim_ascii();
        match self {
            Self::There => true,
            Self::Is(texts) => texts.iter().any(|text| same(text, value)),
            Self::Name(names) => names.iter().any(|name| name == bare_name(value)),
            Self::Starts(starts) => starts.iter().any(|start| {
                let own = value.get(..start.len());
                own.is_some_and(|own| own.eq_ignore_ascii_case(start))
            }),
            Self::Has(parts) => {
                let value = plain(value);
                parts.iter().any(|part| value.contains(part.as_str()))
            }
            Self::Number(numbers) => leading(value).is_some_and(|number| numbers.contains(&number)),
            Self::AnyNumber => is_number(value),
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::is([text])
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::number(number)
    }
}

impl<const N: usize> From<[&str; N]> for Value {
    fn from(texts: [&str; N]) -> Self {
        Self::is(texts)
    }
}

fn plain(text: &str) -> String {
    let kept = text
        .chars()
        .filter(|c| !matches!(c, '_' | '-' | '.') && !c.is_whitespace());
    kept.flat_map(char::to_lowercase).collect()
}

/// The whole number that a text begins with.
fn leading(text: &str) -> Option<u64> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .map_or(text, |end| text.get(..end).unwrap_or_default());
    digits.parse().ok()
}

fn is_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.split_once('.') {
        Some((whole, parts)) => digits(whole) && digits(parts),
        None => digits(text),
    }
}
