//! Conditions on what an answer holds: a part of a header, a place of a JSON body, an element of an XML one.

use super::{Condition, Test};
use crate::error::ConfigError;
use crate::error_body::{ErrorBody, Pointer};
use crate::policy::header_rules::bare_name;
use http::{HeaderMap, HeaderName};

/// The longest line of a header that is looked at, in bytes.
const LONGEST_LINE: usize = 1024;
/// As many lines of a header are looked at.
const MOST_LINES: usize = 8;

/// What a value must be; a list means "one of".
///
/// A text stands for [`Value::is`], a whole number for [`Value::number`], and a list of texts for one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Value(pub(crate) Wanted);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wanted {
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
    /// Any value.
    pub fn any() -> Self {
        Self(Wanted::There)
    }

    /// One of these values: in a header whatever the case, in a body written just so.
    pub fn is(values: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(Wanted::Is(values.into_iter().map(Into::into).collect()))
    }

    /// One of these names, which may have a namespace that ends in `#` before it and an address that starts with `:`
    /// behind it, as AWS writes the names of its errors.
    pub fn name(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self(Wanted::Name(names.into_iter().map(Into::into).collect()))
    }

    /// A value that starts with this text; case does not matter.
    pub fn starts(start: impl AsRef<str>) -> Self {
        Self(Wanted::Starts(vec![start.as_ref().to_lowercase()]))
    }

    /// A value that has one of these texts in it, both in lower case and without `_`, `-`, `.` and blanks.
    pub fn has(parts: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        Self(Wanted::Has(
            parts.into_iter().map(|part| plain(part.as_ref())).collect(),
        ))
    }

    /// A value that begins with this whole number: 0 stands for `0`, `0.0` and `0;w=60`, and not for `05`.
    pub fn number(number: u64) -> Self {
        Self(Wanted::Number(vec![number]))
    }

    /// A value that is a whole number or a decimal, not below 0.
    pub fn any_number() -> Self {
        Self(Wanted::AnyNumber)
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

impl Wanted {
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::There | Self::AnyNumber => false,
            Self::Is(texts) => texts.is_empty(),
            Self::Name(texts) | Self::Starts(texts) | Self::Has(texts) => {
                texts.is_empty() || texts.iter().any(String::is_empty)
            }
            Self::Number(numbers) => numbers.is_empty(),
        }
    }

    fn holds(&self, value: &str, same: fn(&str, &str) -> bool) -> bool {
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

pub(crate) fn plain(text: &str) -> String {
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

/// A response header one of whose lines, or a part of them by its name, has a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeadTest {
    pub(crate) name: HeaderName,
    /// `left` of `used=3, left=2`.
    pub(crate) part: Option<String>,
    pub(crate) wanted: Wanted,
}

impl HeadTest {
    pub(crate) fn new(name: HeaderName, wanted: Wanted) -> Self {
        let part = None;
        Self { name, part, wanted }
    }

    pub(super) fn holds(&self, headers: &HeaderMap) -> bool {
        let mut lines = lines(headers, &self.name);
        match &self.part {
            None if self.wanted == Wanted::There => headers.contains_key(&self.name),
            None => lines.any(|line| self.wanted.holds(line, str::eq_ignore_ascii_case)),
            Some(part) => lines
                .flat_map(|line| parts(line, part))
                .any(|value| self.wanted.holds(value, str::eq_ignore_ascii_case)),
        }
    }
}

/// The lines of a header that are short enough to be looked at.
pub(crate) fn lines<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = &'a str> + use<'a> {
    let lines = headers.get_all(name).iter().take(MOST_LINES);
    let short = lines.filter(|line| line.len() <= LONGEST_LINE);
    short.filter_map(|line| std::str::from_utf8(line.as_bytes()).ok())
}

/// The values of a part by its name: `left` of `used=3, left=2`.
pub(crate) fn parts<'a>(line: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    line.split([',', ';', '&']).filter_map(move |part| {
        let (own, value) = part.split_once(['=', ':'])?;
        let same = own.trim().eq_ignore_ascii_case(name);
        same.then(|| value.trim().trim_matches('"'))
    })
}

/// A place of a JSON body that has a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JsonTest {
    pub(crate) pointer: Pointer,
    pub(crate) wanted: Wanted,
}

impl JsonTest {
    pub(super) fn holds(&self, body: &ErrorBody) -> bool {
        let same = |one: &str, other: &str| one == other;
        body.at(&self.pointer).iter().any(|found| match found {
            Some(scalar) => self.wanted.holds(scalar.as_str(), same),
            None => self.wanted == Wanted::There,
        })
    }
}

/// An element of an XML error that holds one of these texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct XmlTest {
    pub(crate) tag: String,
    pub(crate) texts: Vec<String>,
}

impl XmlTest {
    pub(super) fn holds(&self, body: &ErrorBody) -> bool {
        let held = body.xml(&self.tag);
        held.is_some_and(|held| self.texts.iter().any(|text| text == held))
    }
}

impl Condition {
    /// Holds for responses one of whose lines of this header has this value. The first 8 lines count, each of at most
    /// 1,024 bytes.
    ///
    /// # Errors
    ///
    /// A value that no header can have: an empty list, or a part that is empty.
    pub fn head(name: HeaderName, value: impl Into<Value>) -> Result<Self, ConfigError> {
        Self::of_head(name, None, value.into())
    }

    /// Holds for responses where this part of a header of several has this value: `left` of `used=3, left=2`.
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

    fn of_head(
        name: HeaderName,
        part: Option<String>,
        Value(wanted): Value,
    ) -> Result<Self, ConfigError> {
        if wanted.is_empty() || part.as_ref().is_some_and(String::is_empty) {
            return Err(ConfigError::new("header", name, NOTHING));
        }
        Ok(Self::of(Test::Header(vec![HeadTest {
            name,
            part,
            wanted,
        }])))
    }

    /// Holds where a place of a JSON error body has this value. The place is a pointer of RFC 6901 in which `*` stands
    /// for any member or item.
    ///
    /// # Errors
    ///
    /// No pointer, or an empty list of values.
    pub fn json(pointer: &str, value: impl Into<Value>) -> Result<Self, ConfigError> {
        let Value(wanted) = value.into();
        let pointer_read = Pointer::parse(pointer)?;
        if wanted.is_empty() {
            return Err(ConfigError::new("json", pointer, NOTHING));
        }
        // The number that a service writes is the number that is meant, and a text of it too.
        Ok(Self::of(Test::Json(JsonTest {
            pointer: pointer_read,
            wanted,
        })))
    }

    /// Holds where the first element of this name in an XML error body holds one of these texts.
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
        match tag.is_empty() || texts.is_empty() {
            true => Err(ConfigError::new("xml", tag, NOTHING)),
            false => Ok(Self::of(Test::Xml(XmlTest { tag, texts }))),
        }
    }

    /// Holds for requests to a path like this one, in which `*` stands for anything. A path that is not known is like
    /// none.
    ///
    /// # Errors
    ///
    /// A pattern that starts neither with a slash nor with `*`, or that has a query.
    pub fn path(pattern: impl Into<String>) -> Result<Self, ConfigError> {
        let pattern = pattern.into();
        let is_path = pattern.starts_with(['/', '*']) && !pattern.contains(['?', '#']);
        match is_path {
            true => Ok(Self::of(Test::Path(vec![pattern]))),
            false => Err(ConfigError::new(
                "path",
                pattern,
                "must be a path: write /v1/*",
            )),
        }
    }

    /// Holds for requests that carry a key of idempotency.
    pub fn keyed() -> Self {
        Self::of(Test::Keyed)
    }
}

const NOTHING: &str = "must name something to look for";

/// Whether a text is like a pattern in which `*` stands for anything.
pub(crate) fn is_like(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let Some(last) = pattern.contains('*').then(|| parts.next_back()).flatten() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}
