//! WHEN: the conditions of a document.

use super::reader::{Checked, block};
use super::shown::header_name;
use super::value::Value;
use super::values::{
    Attempts, BareStatus, HeaderKey, List, ListOr, MapOr, MethodName, Name, Natural, PathPattern,
    SearchText, Several, Statuses, Texts, Word, Words, leaf, words,
};
use http_retry_core::ConfigError;
use http_retry_rules::{self as rules, ErrorGroup};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::convert::Infallible;

block! {
    /// Tests that must all hold; if a key has a list, one of its items must match.
    WhenKeys {
        outcome: Word<ResultKind>,
        status: Statuses,
        error: Several<Word<ErrorGroup>>,
        code: Texts,
        message: Texts,
        header: HeaderTests,
        json: JsonTests,
        xml: XmlTests,
        path: Several<PathPattern>,
        keyed: bool,
        method: Several<MethodName>,
        attempt: Attempts,
        retryable: bool,
        idempotent: bool,
        any: List<When>,
        all: List<When>,
        not: When,
    }
}

/// A condition: tests, or a bare status.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "MapOr<WhenKeys, BareStatus>")]
pub(super) struct When(pub(super) rules::Condition);

/// A list of conditions; one must hold.
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "ListOr<When, NoList>")]
pub(super) struct Conditions(pub(super) rules::Condition);

leaf! {
    /// Anything but a list; its error shows how to write one.
    NoList(Infallible) = |value| {
        let example = "[\"5xx\", 429, {error: timeout}]";
        let write = match value {
            Value::Integer(_) => format!("[{value}], or {example}"),
            Value::Text(_) if value.is_public() => match condition_of_word(value) {
                Some(condition) => format!("[{condition}], or {example}"),
                None => format!("[{value}], or {example}"),
            },
            _ => example.to_owned(),
        };
        Err(format!("{value} is not a list: write {write}"))
    };

    /// A pointer into a JSON body.
    JsonPlace(String) = |value| match value {
        Value::Text(text) => pointer(text).map(|()| text.clone()),
        value => Err(format!("{value} is not a text")),
    };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResultKind {
    Ok,
    Error,
}

words! { ResultKind:
    "ok" => ResultKind::Ok, "error" => ResultKind::Error
}

impl Words for ErrorGroup {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("any", Self::Any),
        ("connect", Self::Connect),
        ("timeout", Self::Timeout),
        ("reset", Self::Reset),
        ("dns", Self::Dns),
        ("tls", Self::Tls),
        ("body", Self::Body),
    ];
    /// Names that people write for an error, and its name in reports.
    const SYNONYMS: &'static [(&'static str, &'static str)] = &[
        ("refused", "connect"),
        ("unreachable", "connect"),
        ("connection", "connect"),
        ("connect_timeout", "connect, or timeout for all timeouts"),
        ("timed_out", "timeout"),
        ("incomplete", "reset"),
        ("closed", "reset"),
        ("eof", "reset"),
        ("broken_pipe", "reset"),
        ("http2", "reset"),
        ("not_processed", "reset"),
        ("resolve", "dns"),
        ("certificate", "tls"),
        ("ssl", "tls"),
        ("decode", "body"),
        ("request", "any"),
        ("redirect", "any"),
        ("protocol", "any"),
        ("other", "any"),
    ];
}

/// Returns the condition that a single word was meant as: `{error: timeout}` for `timeout`.
pub(super) fn condition_of_word(value: &Value) -> Option<String> {
    let Value::Text(text) = value else {
        return None;
    };
    fn word<T: Words>(text: &str) -> Option<&'static str> {
        let exact = T::WORDS.iter().find(|(word, _)| *word == text);
        let synonym = T::SYNONYMS.iter().find(|(word, _)| *word == text);
        let exact = exact.map(|(word, _)| *word);
        // Some synonyms explain more than one word.
        exact.or_else(|| synonym?.1.split(',').next())
    }
    let text = text.trim().to_ascii_lowercase();
    let outcome = word::<ResultKind>(&text).map(|word| format!("{{outcome: {word}}}"));
    outcome.or_else(|| word::<ErrorGroup>(&text).map(|word| format!("{{error: {word}}}")))
}

impl From<ListOr<When, NoList>> for Conditions {
    fn from(read: ListOr<When, NoList>) -> Self {
        let list = match read {
            ListOr::List(List(list)) => list.into_iter(),
            ListOr::Other(NoList(never)) => match never {},
        };
        Self(rules::Condition::any(list.map(|When(when)| when)))
    }
}

impl TryFrom<MapOr<WhenKeys, BareStatus>> for When {
    type Error = String;

    fn try_from(read: MapOr<WhenKeys, BareStatus>) -> Result<Self, String> {
        let refused = |error: ConfigError| error.to_string();
        let tests = match read {
            MapOr::Other(BareStatus(range)) => {
                return status([range]).map(Self).map_err(refused);
            }
            MapOr::Map(keys) => tests(*keys).map_err(refused)?,
        };
        // A map of tests holds if all of them do.
        tests
            .into_iter()
            .reduce(rules::Condition::and)
            .map(Self)
            .ok_or_else(|| {
                "is empty: give at least one condition, such as {status: 429}".to_owned()
            })
    }
}

fn status(
    ranges: impl IntoIterator<Item = std::ops::RangeInclusive<u32>>,
) -> Result<rules::Condition, ConfigError> {
    let statuses = ranges.into_iter().flatten();
    rules::Condition::status(statuses.filter_map(|status| u16::try_from(status).ok()))
}

/// Returns each test that is given.
fn tests(when: WhenKeys) -> Result<Vec<rules::Condition>, ConfigError> {
    use rules::Condition;
    fn any<T>(
        list: Vec<T>,
        condition: impl Fn(T) -> Result<Condition, ConfigError>,
    ) -> Result<Option<Condition>, ConfigError> {
        let conditions = list
            .into_iter()
            .map(condition)
            .collect::<Result<Vec<_>, _>>()?;
        // All items may have been invalid, and `any` of nothing would never hold.
        Ok((!conditions.is_empty()).then(|| Condition::any(conditions)))
    }
    fn either(holds: bool, condition: Condition) -> Condition {
        if holds { condition } else { !condition }
    }
    let several = |list: List<When>| list.0.into_iter().map(|When(when)| when);
    let statuses = when.status.filter(|ranges| !ranges.0.is_empty());
    let statuses = statuses.map(|ranges| status(ranges.0.into_iter().map(|range| range.0)));
    let all = [
        when.outcome.map(|Word(outcome)| match outcome {
            ResultKind::Ok => Condition::success(),
            ResultKind::Error => Condition::failure(),
        }),
        statuses.transpose()?,
        any(list(when.error), |Word(group)| Ok(Condition::error(group)))?,
        any(texts(when.code), Condition::code)?,
        any(texts(when.message), Condition::message)?,
        any(when.header.map_or_else(Vec::new, |tests| tests.0), Ok)?,
        any(list(when.path), |path| Condition::path(path.0))?,
        when.keyed.map(|keyed| either(keyed, Condition::keyed())),
        any(list(when.method), |method| Ok(Condition::method(method.0)))?,
        any(list(when.attempt), |range| Condition::attempt(range.0))?,
        when.retryable
            .map(|retryable| either(retryable, Condition::retryable())),
        when.idempotent
            .map(|idempotent| either(idempotent, Condition::idempotent())),
        when.any.map(|list| Condition::any(several(list))),
        when.all.map(|list| Condition::all(several(list))),
        when.not.map(|When(when)| !when),
    ];
    // The tests of a body must all hold, unlike those of headers, of which one must.
    let body_tests = [
        when.json.map(|tests| tests.0),
        when.xml.map(|tests| tests.0),
    ];
    let body_tests = body_tests.into_iter().flatten().flatten();
    Ok(all.into_iter().flatten().chain(body_tests).collect())
}

fn list<T>(several: Option<Several<T>>) -> Vec<T> {
    several.map_or_else(Vec::new, |several| several.0)
}

fn texts(texts: Option<Texts>) -> Vec<String> {
    texts.map_or_else(Vec::new, |texts| texts.0)
}

block! {
    /// A test of a value; exactly one of is, name, starts, has, number and any_number.
    ComparedKeys {
        is: Texts,
        name: Texts,
        starts: Texts,
        has: Texts,
        number: Several<Natural>,
        any_number: bool,
        part: Name,
    }
}

/// A test of a value, or of one part of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "ComparedForm")]
struct Compared {
    value: rules::Value,
    part: Option<Name>,
}

type ComparedForm = MapOr<ComparedKeys, ListOr<SearchText, AnyOrText>>;

leaf! {
    /// `true` for any value, or a text to compare with.
    AnyOrText(rules::Value) = |value| match value {
        Value::Bool(true) => Ok(rules::Value::any()),
        value => Ok(equal_to_any(vec![SearchText::try_from(value.clone())?])?),
    };
}

fn equal_to_any(texts: Vec<SearchText>) -> Result<rules::Value, &'static str> {
    let Texts(texts) = Several(texts).try_into()?;
    Ok(rules::Value::is(texts))
}

impl TryFrom<ComparedForm> for Compared {
    type Error = &'static str;

    fn try_from(read: ComparedForm) -> Result<Self, &'static str> {
        use rules::Value;
        let keys = match read {
            MapOr::Map(keys) => *keys,
            MapOr::Other(other) => {
                let value = match other {
                    ListOr::List(List(texts)) => equal_to_any(texts)?,
                    ListOr::Other(AnyOrText(value)) => value,
                };
                return Ok(Self { value, part: None });
            }
        };
        let given = [
            keys.is.map(|Texts(texts)| Value::is(texts)),
            keys.name.map(|Texts(texts)| Value::name(texts)),
            keys.starts
                .map(|Texts(texts)| Value::starts_with_any(texts)),
            keys.has.map(|Texts(texts)| Value::has(texts)),
            keys.number
                .map(|Several(numbers)| Value::numbers(numbers.into_iter().map(|one| one.0))),
            keys.any_number
                .filter(|any| *any)
                .map(|_| Value::any_number()),
        ];
        let mut given = given.into_iter().flatten();
        let value = match (given.next(), given.next(), &keys.part) {
            (Some(value), None, _) => value,
            // A part by itself must be there, with any value.
            (None, None, Some(_)) => Value::any(),
            _ => {
                return Err(
                    "must hold exactly one of is, name, starts, has, number and any_number",
                );
            }
        };
        let part = keys.part;
        Ok(Self { value, part })
    }
}

/// A name that must be present, a list of such names, or a map of names and values.
type Places<N> = MapOr<BTreeMap<String, Checked<Compared>>, Several<N>>;

/// Conditions on headers; one must hold.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Places<HeaderKey>")]
pub(super) struct HeaderTests(Vec<rules::Condition>);

impl TryFrom<Places<HeaderKey>> for HeaderTests {
    type Error = String;

    fn try_from(read: Places<HeaderKey>) -> Result<Self, String> {
        let values = match read {
            MapOr::Other(Several(names)) => {
                let names = names.into_iter();
                let there = names.map(|HeaderKey(name)| rules::Condition::header(name));
                return Ok(Self(there.collect()));
            }
            MapOr::Map(values) => *values,
        };
        let tests = named(values, "header", |name, Compared { value, part }| {
            // The reader takes any key of a map, so the name is checked here.
            let name = header_name(name)?;
            let test = match part {
                Some(Name(part)) => rules::Condition::head_part(name, &*part, value),
                None => rules::Condition::head(name, value),
            };
            test.map_err(|error| error.to_string())
        })?;
        Ok(Self(tests))
    }
}

/// Conditions on values of a JSON body, which must all hold.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "Places<JsonPlace>")]
pub(super) struct JsonTests(Vec<rules::Condition>);

impl TryFrom<Places<JsonPlace>> for JsonTests {
    type Error = String;

    fn try_from(read: Places<JsonPlace>) -> Result<Self, String> {
        let json = |location: &str, value| {
            rules::Condition::json(location, value).map_err(|error| error.to_string())
        };
        let tests = match read {
            MapOr::Other(Several(locations)) => {
                let locations = locations.iter();
                locations
                    .map(|JsonPlace(location)| json(location, rules::Value::any()))
                    .collect::<Result<_, _>>()?
            }
            MapOr::Map(values) => named(*values, "pointer", |location, compared| {
                pointer(location)?;
                if compared.part.is_some() {
                    return Err("part is for headers".to_owned());
                }
                json(location, compared.value)
            })?,
        };
        Ok(Self(tests))
    }
}

/// Conditions on elements of an XML body, which must all hold.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "BTreeMap<String, Checked<Texts>>")]
pub(super) struct XmlTests(Vec<rules::Condition>);

impl TryFrom<BTreeMap<String, Checked<Texts>>> for XmlTests {
    type Error = String;

    fn try_from(read: BTreeMap<String, Checked<Texts>>) -> Result<Self, String> {
        let xml = |tag: &str, Texts(texts)| {
            rules::Condition::xml(tag, texts).map_err(|error| error.to_string())
        };
        named(read, "element", xml).map(Self)
    }
}

/// Builds the conditions of a map that must not be empty.
fn named<T>(
    map: BTreeMap<String, Checked<T>>,
    what: &str,
    condition: impl Fn(&str, T) -> Result<rules::Condition, String>,
) -> Result<Vec<rules::Condition>, String> {
    if map.is_empty() {
        return Err(format!(
            "is empty: give at least one {what}, or leave the key out"
        ));
    }
    let given = map
        .into_iter()
        .filter_map(|(name, Checked(value))| Some((name, value?)));
    given.map(|(name, value)| condition(&name, value)).collect()
}

/// Checks a pointer. An invalid one may be a secret, so the error does not show it.
fn pointer(text: &str) -> Result<(), String> {
    let checked = rules::Condition::json(text, rules::Value::any());
    let checked = checked.map_err(|error| format!("invalid JSON pointer: {}", error.allowed));
    checked.map(drop)
}
