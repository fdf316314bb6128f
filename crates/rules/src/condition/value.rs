//! The required value of a part of a response.

use http_retry_core::reading::bare_name;

/// The required value of a header or of a location in a body; a list means "one of".
///
/// A text converts to [`Value::is`], a whole number to [`Value::number`], and a list of texts to any of them. Blanks
/// around a value are ignored. A condition refuses an empty list, and an empty text that every value would match.
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
    /// Any value, also an empty one.
    Present,
    Is(Vec<String>),
    /// The name, without a namespace before it and an address after it.
    Name(Vec<String>),
    /// The start, in lower case, as header values are compared.
    Starts(Vec<String>),
    /// A part, in lower case and without `_`, `-`, `.` and blanks.
    Has(Vec<String>),
    Number(Vec<u64>),
    AnyNumber,
}

impl Value {
    /// Matches any value, also an empty one, as long as it is there.
    pub fn any() -> Self {
        Self(ValueTest::Present)
    }

    /// Matches one of these values: in a header whatever the case, in a body exactly.
    pub fn is(values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(ValueTest::Is(values.into_iter().map(Into::into).collect()))
    }

    /// Matches one of these names, with or without a namespace that ends in `#` before it and an address that starts
    /// with `:` after it, as AWS writes the names of its errors.
    pub fn name(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(ValueTest::Name(names.into_iter().map(Into::into).collect()))
    }

    /// Matches a value that starts with this text; case is ignored.
    pub fn starts(start: impl AsRef<str>) -> Self {
        Self::starts_with_any([start])
    }

    /// Matches a value that starts with one of these texts; case is ignored.
    pub fn starts_with_any(starts: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let starts = starts
            .into_iter()
            .map(|start| start.as_ref().to_lowercase());
        Self(ValueTest::Starts(starts.collect()))
    }

    /// Matches a value that contains one of these texts, both in lower case and without `_`, `-`, `.` and blanks.
    pub fn has(parts: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        Self(ValueTest::Has(
            parts
                .into_iter()
                .map(|part| normalized(part.as_ref()))
                .collect(),
        ))
    }

    /// Matches a value that begins with this whole number: 0 matches `0`, `0.0` and `0;w=60`, but not `05`.
    pub fn number(number: u64) -> Self {
        Self::numbers([number])
    }

    /// Matches a value that begins with one of these whole numbers, as for [`number`](Self::number).
    pub fn numbers(numbers: impl IntoIterator<Item = u64>) -> Self {
        Self(ValueTest::Number(numbers.into_iter().collect()))
    }

    /// Matches a value that is a whole number or a decimal, not below 0.
    pub fn any_number() -> Self {
        Self(ValueTest::AnyNumber)
    }
}

impl ValueTest {
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Present | Self::AnyNumber => false,
            // An empty text is allowed here: as a whole value it matches an empty value, not every one.
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
            Self::Present => true,
            Self::Is(texts) => texts.iter().any(|text| same(text, value)),
            Self::Name(names) => names.iter().any(|name| name == bare_name(value)),
            Self::Starts(starts) => starts.iter().any(|start| {
                // `get`, since a slice that ends inside a character would panic.
                let own = value.get(..start.len());
                own.is_some_and(|own| own.eq_ignore_ascii_case(start))
            }),
            Self::Has(parts) => {
                let value = normalized(value);
                parts.iter().any(|part| value.contains(part.as_str()))
            }
            Self::Number(numbers) => {
                leading_number(value).is_some_and(|number| numbers.contains(&number))
            }
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

fn normalized(text: &str) -> String {
    let letters = text
        .chars()
        .filter(|c| !matches!(c, '_' | '-' | '.') && !c.is_whitespace());
    letters.flat_map(char::to_lowercase).collect()
}

/// Returns the whole number that a text begins with, or `None` if there is none.
fn leading_number(text: &str) -> Option<u64> {
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
