//! The types of a document's values: durations, numbers, sizes, ranges, names, headers, and sets of words.

mod duration;
mod range;

pub(super) use duration::{Duration, DurationOrNone, duration_text, positive};
pub(super) use range::{Attempts, BareStatus, Statuses};

use super::problems::{hint, nearest};
use super::reader::{Checked, Hidden, block};
use super::shown::{self, header_name};
use super::value::Value;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use http_retry_core::policy::Decimal;
use http_retry_core::settings::{CLIENT_HEADER, is_client_header};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Defines types that are parsed from a single value.
macro_rules! leaf {
    ($($(#[$about:meta])* $name:ident($inner:ty) = $read:expr;)+) => {$(
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, serde::Deserialize)]
        #[serde(try_from = "crate::value::Value")]
        pub(crate) struct $name(pub(crate) $inner);

        impl TryFrom<crate::value::Value> for $name {
            type Error = String;

            fn try_from(value: crate::value::Value) -> Result<Self, String> {
                let read: fn(&crate::value::Value) -> Result<$inner, String> = $read;
                read(&value).map(Self)
            }
        }
    )+};
}

pub(super) use leaf;

/// A map, or any other value in its place.
#[derive(Deserialize)]
#[serde(bound = "M: Deserialize<'de>, O: Deserialize<'de>")]
pub(super) enum MapOr<M, O> {
    #[serde(rename = "$map")]
    Map(Box<M>),
    #[serde(rename = "$other")]
    Other(O),
}

/// A list, or any other value in its place.
#[derive(Deserialize)]
#[serde(bound = "T: Deserialize<'de>, O: Deserialize<'de>")]
pub(super) enum ListOr<T, O> {
    #[serde(rename = "$list")]
    List(List<T>),
    #[serde(rename = "$other")]
    Other(O),
}

/// A list that is not empty. Invalid items are left out.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Vec<Checked<T>>", bound = "T: Deserialize<'de>")]
pub(super) struct List<T>(pub(super) Vec<T>);

impl<T> TryFrom<Vec<Checked<T>>> for List<T> {
    type Error = &'static str;

    fn try_from(items: Vec<Checked<T>>) -> Result<Self, &'static str> {
        if items.is_empty() {
            return Err("is an empty list: give at least one item, or leave the key out");
        }
        Ok(Self(
            items.into_iter().filter_map(|Checked(item)| item).collect(),
        ))
    }
}

/// A list, or a single value as a list of one.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "ListOr<T, T>", bound = "T: Deserialize<'de>")]
pub(super) struct Several<T>(pub(super) Vec<T>);

impl<T> From<ListOr<T, T>> for Several<T> {
    fn from(read: ListOr<T, T>) -> Self {
        Self(match read {
            ListOr::List(List(list)) => list,
            ListOr::Other(one) => vec![one],
        })
    }
}

/// A list of up to 100 items, or a single one.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Several<T>", bound = "T: Deserialize<'de>")]
pub(super) struct Few<T>(pub(super) Vec<T>);

impl<T> TryFrom<Several<T>> for Few<T> {
    type Error = String;

    fn try_from(Several(items): Several<T>) -> Result<Self, String> {
        const MOST: usize = 100;
        if items.len() > MOST {
            return Err(format!("has more than {MOST} names"));
        }
        Ok(Self(items))
    }
}

/// A whole number.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub(super) struct Count<const LEAST: u32, const MOST: u32>(pub(super) u32);

impl<const LEAST: u32, const MOST: u32> TryFrom<Value> for Count<LEAST, MOST> {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        /// The largest bound that an error need not mention.
        const MANY: u32 = u32::MAX - 1;
        let number = match value {
            Value::Integer(number) => u32::try_from(number).ok(),
            _ => None,
        };
        if let Some(number) = number.filter(|number| (LEAST..=MOST).contains(number)) {
            return Ok(Self(number));
        }
        let bounds = match (LEAST, MOST, &value) {
            (0, 1, _) => "must be 0 or 1".to_owned(),
            (.., Value::Integer(number)) if *number > MOST.into() => {
                format!("must be at most {MOST}")
            }
            (_, MANY.., _) => format!("must be a whole number of at least {LEAST}"),
            _ => format!("must be a whole number from {LEAST} to {MOST}"),
        };
        Err(format!("{value} is not allowed: {bounds}"))
    }
}

/// A number with up to six decimal places.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(try_from = "Value")]
pub(super) struct Number<const LEAST: u32, const MOST: u32>(pub(super) Decimal);

impl<const LEAST: u32, const MOST: u32> TryFrom<Value> for Number<LEAST, MOST> {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let bounds = (Decimal::from(LEAST), Decimal::from(MOST));
        decimal(&value, bounds, &format!("must be {LEAST} to {MOST}")).map(Self)
    }
}

pub(super) const MAX_TOKENS: u32 = 1_000_000_000;
const MIN_FRACTION: Decimal = Decimal::from_micros(1);

leaf! {
    /// The capacity of a budget.
    Capacity(Decimal) = |value| {
        let bounds = (MIN_FRACTION, Decimal::from(MAX_TOKENS));
        decimal(value, bounds, &format!("must be above 0, up to {MAX_TOKENS}"))
    };

    /// The cost of a retry in tokens.
    Cost(Decimal) = |value| {
        let bounds = (MIN_FRACTION, Decimal::from(MAX_TOKENS));
        decimal(value, bounds, "must be above 0, up to the capacity")
    };

    /// A share of a whole.
    Share(Decimal) = |value| {
        let almost_all = Decimal::from_micros(999_999);
        decimal(value, (MIN_FRACTION, almost_all), "must be above 0 and below 1")
    };

    /// A size in bytes: `512KiB`, `2MiB`, or a number of bytes.
    Bytes(usize) = |value| {
        let size = match value {
            Value::Integer(number) => usize::try_from(*number).ok(),
            Value::Text(text) => size(text),
            _ => None,
        };
        size.ok_or_else(|| format!("{value} is not a size: write 512KiB, 2MiB or a number of bytes"))
    };

    /// A text that is a name.
    Name(Arc<str>) = |value| {
        let name = text(value)?;
        shown::not_a_name(name).map_or(Ok(name.into()), |cause| Err(cause.to_owned()))
    };

    /// An HTTP method.
    MethodName(Method) = |value| {
        let upper = text(value)?.to_ascii_uppercase();
        let method = Method::from_bytes(upper.as_bytes());
        method.map_err(|_| format!("{value} is not a method: write GET or POST"))
    };

    /// The name of a header.
    HeaderKey(HeaderName) = |value| header_name(text(value)?).map_err(str::to_owned);

    /// The name of a header that a layer adds to requests.
    AddedHeader(HeaderName) = |value| {
        let name = header_name(text(value)?)?;
        if is_client_header(&name) { Err(not_ours(&name)) } else { Ok(name) }
    };

    /// A whole number, not below 0.
    Natural(u64) = |value| {
        let number = match value {
            Value::Integer(number) => u64::try_from(*number).ok(),
            _ => None,
        };
        number.ok_or_else(|| format!("{value} is not a whole number, not below 0"))
    };

    /// A text or a number to look for.
    SearchText(String) = |value| match value {
        // An error code may be a number, which YAML does not read as a text.
        Value::Integer(number) => Ok(number.to_string()),
        value => text(value).map(str::to_owned),
    };

    /// The value of a header, which may be a secret.
    HeaderText(HeaderValue) = |value| match value {
        Value::Text(text) => HeaderValue::from_str(text).map_err(|_| {
            "is no header value: it holds a line break or another control character".to_owned()
        }),
        Value::Map(_) | Value::List(_) | Value::Null => {
            Err(format!("{} is not a text", value.kind()))
        }
        other => Err(format!("{} is not a text: put it in quotes", other.kind())),
    };

    /// The base URL of a service. It may hold a password.
    BaseUrl(String) = |value| {
        let url = text(value)?;
        // The service itself checks it, so that a document allows what code does.
        let service = http_retry_services::Service::new("a", http_retry_core::RetryPolicy::default());
        let checked = service.base_url(url).check();
        checked.map_err(|error| format!("is no base URL: {}", error.allowed))?;
        Ok(url.to_owned())
    };
}

fn text(value: &Value) -> Result<&str, String> {
    match value {
        Value::Text(text) => Ok(text),
        _ => Err(format!("{value} is not a text")),
    }
}

fn decimal(
    value: &Value,
    (least, most): (Decimal, Decimal),
    allowed: &str,
) -> Result<Decimal, String> {
    let given = match value {
        Value::Integer(number) => u32::try_from(*number).ok().map(Decimal::from),
        Value::Float(number) => Some(Decimal::from(*number)),
        Value::Text(text) => {
            let write = meant_number(text).map(|number| format!(": write {number}"));
            return Err(format!(
                "{value} is not a number{}",
                write.unwrap_or_default()
            ));
        }
        _ => return Err(format!("{value} is not a number")),
    };
    let Some(given) = given else {
        return Err(format!("{value} is not allowed: {allowed}"));
    };
    // Keeps the error's part on decimal places, and replaces its bounds by those of the key.
    given.within("", least, most).map_err(|error| {
        let (_, places) = error.allowed.split_once(',').unwrap_or_default();
        let comma = if places.is_empty() { "" } else { "," };
        format!("{given} is not allowed: {allowed}{comma}{places}")
    })
}

/// Returns the number that a text was meant to be: 0.2 for `20%`.
fn meant_number(text: &str) -> Option<Decimal> {
    let text = text.trim();
    let (digits, hundredths) = match text.strip_suffix('%') {
        Some(percent) => (percent.trim_end(), true),
        None => (text, false),
    };
    let most = Decimal::from(MAX_TOKENS);
    let number = Decimal::from(digits.parse::<f64>().ok()?);
    let number = number.within("", Decimal::ZERO, most).ok()?;
    let micros = number.micros();
    Some(if hundredths {
        Decimal::from_micros(micros / 100)
    } else {
        number
    })
}

/// Parses a size, with unambiguous units only: a kB is 1000 bytes to some and 1024 to others.
fn size(text: &str) -> Option<usize> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at_checked(end)?;
    let number: usize = number.parse().ok()?;
    let factor: usize = match unit.trim_start() {
        "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(factor)
}

/// Texts to look for; one is enough.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Several<SearchText>")]
pub(super) struct Texts(pub(super) Vec<String>);

impl TryFrom<Several<SearchText>> for Texts {
    type Error = &'static str;

    fn try_from(Several(texts): Several<SearchText>) -> Result<Self, &'static str> {
        if texts.iter().any(|text| text.0.is_empty()) {
            return Err("holds an empty text: give something to look for");
        }
        Ok(Self(texts.into_iter().map(|text| text.0).collect()))
    }
}

fn not_ours(name: &HeaderName) -> String {
    format!("{name} is not allowed: {CLIENT_HEADER}")
}

/// Headers by their names; a list gives a name several values.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "BTreeMap<String, Checked<Several<HeaderText>>>")]
pub(super) struct Headers(pub(super) Arc<HeaderMap>);

impl TryFrom<BTreeMap<String, Checked<Several<HeaderText>>>> for Headers {
    type Error = String;

    fn try_from(read: BTreeMap<String, Checked<Several<HeaderText>>>) -> Result<Self, String> {
        /// The default limit of common servers and clients; a `HeaderMap` panics if it is full.
        const MOST: usize = 100;
        let counts = read
            .values()
            .map(|Checked(values)| values.as_ref().map_or(1, |Several(values)| values.len()));
        if counts.fold(0, usize::saturating_add) > MOST {
            return Err(format!("holds more than {MOST} headers"));
        }
        let mut headers = HeaderMap::new();
        for (name, Checked(values)) in read {
            let name = header_name(&name)?;
            for HeaderText(value) in values.into_iter().flat_map(|Several(values)| values) {
                headers.append(&name, value);
            }
        }
        Ok(Self(Arc::new(headers)))
    }
}

/// Headers for a request, without those that only its client sets.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Headers")]
pub(super) struct RequestHeaders(Arc<HeaderMap>);

impl TryFrom<Headers> for RequestHeaders {
    type Error = String;

    fn try_from(Headers(headers): Headers) -> Result<Self, String> {
        match headers.keys().find(|name| is_client_header(name)) {
            Some(name) => Err(not_ours(name)),
            None => Ok(Self(headers)),
        }
    }
}

block! {
    /// The headers that change from the next attempt on.
    Change {
        /// Request headers that replace those with the same name.
        headers: Hidden<RequestHeaders>,
    }
}

/// The headers to set, at least one.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Hidden<Change>")]
pub(super) struct Set(pub(super) Arc<HeaderMap>);

impl TryFrom<Hidden<Change>> for Set {
    type Error = &'static str;

    fn try_from(Hidden(change): Hidden<Change>) -> Result<Self, &'static str> {
        let headers = change
            .headers
            .map(|Hidden(RequestHeaders(headers))| headers);
        let headers = headers.filter(|headers| !headers.is_empty());
        headers
            .map(Self)
            .ok_or("sets nothing: write {headers: {NAME: VALUE}}")
    }
}

/// Defines the patterns of a match, which are kept in their normal form.
macro_rules! patterns {
    ($($name:ident = $normal:ident;)+) => {
        leaf! {
            $($name(String) = |value| {
                let pattern = http_retry_core::settings::$normal(text(value)?);
                pattern.map_err(|allowed| format!("{value} is not {allowed}"))
            };)+
        }
    };
}

patterns! {
    Host = host_pattern;
    Scheme = scheme_pattern;
    PathPattern = path_pattern;
}

/// A set of words.
pub(super) trait Words: Clone + 'static {
    const WORDS: &'static [(&'static str, Self)];
    /// Words that are not values themselves, and the form to write instead.
    const FORMS: &'static [(&'static str, &'static str)] = &[];
    /// Synonyms from elsewhere, and the word to write instead.
    const SYNONYMS: &'static [(&'static str, &'static str)] = &[];
}

/// One of a set of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "Value", bound = "T: Words")]
pub(super) struct Word<T>(pub(super) T);

impl<T: Words> TryFrom<Value> for Word<T> {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        word(&value).map(Self)
    }
}

/// Defines the words of a type: `words! { Type: "word" => value, ..; "other word" => "form to write", .. }`.
macro_rules! words {
    ($type:ty: $($word:literal => $value:expr),+ $(; $($other:literal => $form:literal),+)?) => {
        impl crate::values::Words for $type {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, $value)),+];
            $(const FORMS: &'static [(&'static str, &'static str)] = &[$(($other, $form)),+];)?
        }
    };
}

pub(super) use words;

/// Parses a word. An error names the nearest one, or the form to write instead.
pub(super) fn word<T: Words>(value: &Value) -> Result<T, String> {
    let known: Vec<&str> = T::WORDS.iter().map(|(word, _)| *word).collect();
    let forms = T::FORMS.iter().map(|(_, form)| *form);
    let all: Vec<&str> = known.iter().copied().chain(forms).collect();
    let text = match value {
        Value::Text(text) => text.as_str(),
        // YAML 1.1 reads on and off as truth values.
        Value::Bool(true) if known.contains(&"on") => "on",
        Value::Bool(false) if known.contains(&"off") => "off",
        _ => return Err(format!("{value} is not one of {}", all.join(", "))),
    };
    if let Some((_, value)) = T::WORDS.iter().find(|(word, _)| *word == text) {
        return Ok(value.clone());
    }
    let among = |pairs: &[(&str, &'static str)]| {
        let pair = pairs.iter().find(|(word, _)| *word == text);
        pair.map(|(_, write)| *write)
    };
    Err(if let Some(word) = among(T::SYNONYMS) {
        format!("{value} is not known: write {word}")
    } else if let Some(form) = among(T::FORMS) {
        format!("{value} does not stand alone: write {form}")
    } else if nearest(text, &known).is_some() {
        format!("{value} is not known: {}", hint(text, known))
    } else {
        format!("{value} is not known: {}", hint(text, all))
    })
}

/// Returns the word for a value.
pub(super) fn word_for<T: Words + PartialEq>(value: &T) -> &'static str {
    let entry = T::WORDS.iter().find(|(_, known)| known == value);
    entry.map_or("", |(word, _)| word)
}

#[cfg(test)]
mod tests {
    use super::{meant_number, size};

    #[test]
    fn a_percentage_is_meant_as_a_share() {
        let meant = |text| meant_number(text).map(|number| number.to_string());
        for (text, wanted) in [
            ("20%", "0.2"),
            (" 12.5 % ", "0.125"),
            ("2", "2"),
            ("0.1", "0.1"),
        ] {
            assert_eq!(meant(text).as_deref(), Some(wanted), "{text}");
        }
        for text in ["", "%", "many", "-20%", "nan", "inf%", "1e300"] {
            assert_eq!(meant(text), None, "{text}");
        }
    }

    #[test]
    fn sizes_have_a_number_and_a_unit() {
        assert_eq!(size("2MiB"), Some(2 << 20));
        assert_eq!(size(" 512 KiB "), Some(512 << 10));
        assert_eq!(size("0B"), Some(0));
        for text in ["2MB", "2M", "MiB", "2", "-2MiB", "1.5MiB", "2mib", ""] {
            assert_eq!(size(text), None, "{text}");
        }
        assert_eq!(size("99999999999999999999MiB"), None);
        assert_eq!(size("18446744073709551615KiB"), None);
    }
}
