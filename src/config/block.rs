//! Reading the maps of a document: every key is asked for by name, and what nobody asked for is an error.

use super::value::Value;
use crate::error::ConfigError;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt::{self, Display};

/// The problems of a document; all of them are found before it is refused.
#[derive(Debug, Default)]
pub(super) struct Problems(RefCell<Vec<ConfigError>>);

impl Problems {
    pub(super) fn add(&self, path: &Path, given: &dyn Display, cause: impl Into<String>) {
        let error = ConfigError::at(path.to_string(), given.to_string(), cause.into());
        let mut problems = self.0.borrow_mut();
        if problems.len() < MOST_PROBLEMS && !problems.contains(&error) {
            problems.push(error);
        }
    }

    pub(super) fn push(&self, error: ConfigError) {
        let mut problems = self.0.borrow_mut();
        if problems.len() < MOST_PROBLEMS && !problems.contains(&error) {
            problems.push(error);
        }
    }

    pub(super) fn take(self) -> Vec<ConfigError> {
        self.0.into_inner()
    }
}

const MOST_PROBLEMS: usize = 100;

/// Where a value stands: `services.openai.retry.base`, `rules[2].when.status`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Path(String);

impl Path {
    pub(super) fn key(&self, key: &str) -> Self {
        match self.0.is_empty() {
            true => Self(key.to_owned()),
            false => Self(format!("{}.{key}", self.0)),
        }
    }

    pub(super) fn item(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    pub(super) fn as_str(&self) -> &str {
        match self.0.is_empty() {
            true => "the document",
            false => &self.0,
        }
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A value, where it stands, and where problems go.
#[derive(Debug, Clone)]
pub(super) struct Node<'a> {
    pub(super) value: &'a Value,
    pub(super) path: Path,
    pub(super) problems: &'a Problems,
}

/// A map whose keys are taken one by one.
#[derive(Debug)]
pub(super) struct Block<'a> {
    left: BTreeMap<&'a str, &'a Value>,
    known: Vec<&'static str>,
    path: Path,
    problems: &'a Problems,
}

/// A place where something is wrong, whatever stands there.
#[derive(Debug)]
pub(super) struct Place<'a> {
    path: Path,
    problems: &'a Problems,
}

impl Place<'_> {
    pub(super) fn wrong(&self, given: &dyn Display, cause: impl Into<String>) {
        self.problems.add(&self.path, given, cause);
    }
}

impl<'a> Node<'a> {
    /// Says what is wrong with the value.
    pub(super) fn wrong(&self, cause: impl Into<String>) {
        self.problems.add(&self.path, self.value, cause);
    }

    /// Says that the value is of another kind than the one that is wanted.
    pub(super) fn not(&self, wanted: &str) {
        self.wrong(format!("{} is not {wanted}", self.value));
    }

    pub(super) fn block(self) -> Option<Block<'a>> {
        match self.value {
            Value::Map(map) => Some(Block {
                left: map
                    .iter()
                    .map(|(key, value)| (key.as_str(), value))
                    .collect(),
                known: Vec::new(),
                path: self.path,
                problems: self.problems,
            }),
            _ => {
                self.not("a map");
                None
            }
        }
    }

    /// The named entries of a map.
    pub(super) fn entries(&self) -> Vec<(&'a str, Node<'a>)> {
        match self.value {
            Value::Map(map) => map
                .iter()
                .map(|(key, value)| {
                    let node = Node {
                        value,
                        path: self.path.key(key),
                        problems: self.problems,
                    };
                    (key.as_str(), node)
                })
                .collect(),
            _ => {
                self.not("a map");
                Vec::new()
            }
        }
    }

    /// The items of a list that must not be empty.
    pub(super) fn items(&self) -> Vec<Node<'a>> {
        match self.value {
            Value::List(list) if list.is_empty() => {
                self.wrong("is an empty list: give at least one item, or leave the key out");
                Vec::new()
            }
            Value::List(list) => self.each(list),
            _ => {
                self.not("a list");
                Vec::new()
            }
        }
    }

    /// The items of a list, or the one value that stands for a list of itself.
    pub(super) fn one_or_more(&self) -> Vec<Node<'a>> {
        match self.value {
            Value::List(_) => self.items(),
            _ => vec![self.clone()],
        }
    }

    fn each(&self, list: &'a [Value]) -> Vec<Node<'a>> {
        let items = list.iter().enumerate();
        items
            .map(|(index, value)| Node {
                value,
                path: self.path.item(index),
                problems: self.problems,
            })
            .collect()
    }

    pub(super) fn text(&self) -> Option<&'a str> {
        match self.value {
            Value::Text(text) => Some(text),
            _ => {
                self.not("a text");
                None
            }
        }
    }

    pub(super) fn truth(&self) -> Option<bool> {
        match self.value {
            Value::Bool(value) => Some(*value),
            _ => {
                self.not("true or false");
                None
            }
        }
    }

    /// A word out of a list of them.
    pub(super) fn word<T: Clone>(&self, words: &[(&'static str, T)]) -> Option<T> {
        let found = match self.value {
            Value::Text(text) => words.iter().find(|(word, _)| *word == text),
            _ => None,
        };
        if found.is_none() {
            let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            self.unknown("is not known", &known);
        }
        found.map(|(_, value)| value.clone())
    }

    /// Says that a name is not among those that are known, and which one is nearest.
    pub(super) fn unknown(&self, what: &str, known: &[&str]) {
        let given = match self.value {
            Value::Text(text) => text.as_str(),
            _ => "",
        };
        self.wrong(format!("{} {what}: {}", self.value, hint(given, known)));
    }

    pub(super) fn count(&self, least: u32, most: u32) -> Option<u32> {
        let bounds = || format!("must be a whole number from {least} to {most}");
        let number = match self.value {
            Value::Integer(number) => u32::try_from(*number).ok(),
            _ => None,
        };
        let fits = number.filter(|number| (least..=most).contains(number));
        if fits.is_none() {
            self.wrong(format!("{} is not allowed: {}", self.value, bounds()));
        }
        fits
    }
}

impl<'a> Block<'a> {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The value under a key, which is then known; a key without a value counts as absent.
    pub(super) fn take(&mut self, key: &'static str) -> Option<Node<'a>> {
        self.known.push(key);
        let value = self.left.remove(key)?;
        (*value != Value::Null).then(|| Node {
            value,
            path: self.path.key(key),
            problems: self.problems,
        })
    }

    /// The same under another system's word for the key.
    pub(super) fn take_either(
        &mut self,
        key: &'static str,
        alias: &'static str,
    ) -> Option<Node<'a>> {
        let (first, second) = (self.take(key), self.take(alias));
        if let (Some(_), Some(second)) = (&first, &second) {
            second.wrong(format!(
                "{alias} means the same as {key}: give one of the two"
            ));
        }
        first.or(second)
    }

    /// A place for problems of one key.
    pub(super) fn key(&self, key: &str) -> Place<'a> {
        Place {
            path: self.path.key(key),
            problems: self.problems,
        }
    }

    /// Says what is wrong with the block as a whole.
    pub(super) fn wrong(&self, given: &dyn Display, cause: impl Into<String>) {
        self.problems.add(&self.path, given, cause);
    }

    /// Everything was asked for; what is left is unknown.
    pub(super) fn end(self) {
        for key in self.left.keys() {
            let cause = format!("is not a known key: {}", hint(key, &self.known));
            self.problems.add(&self.path.key(key), &key, cause);
        }
    }
}

/// The nearest of the known words, or all of them.
pub(super) fn hint(given: &str, known: &[&str]) -> String {
    const NEAR: f64 = 0.75;
    let plain = given.to_ascii_lowercase();
    let near = known
        .iter()
        .map(|word| (strsim::jaro_winkler(&plain, word), word))
        .filter(|(likeness, _)| *likeness >= NEAR)
        .max_by(|(one, _), (other, _)| one.total_cmp(other));
    match near {
        Some((_, word)) => format!("did you mean {word}?"),
        None if known.is_empty() => "there are none".to_owned(),
        None => format!("known are {}", known.join(", ")),
    }
}
