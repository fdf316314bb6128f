//! Reading the maps of a document: every key is asked for by name, and what nobody asked for is an error.

use super::problems::{Problems, Unknown, nearest};
use super::shown;
use super::value::Value;
use std::collections::BTreeMap;
use std::fmt::{self, Display};

/// An upper bound from here on is no news to anybody.
const MANY: u32 = u32::MAX - 1;

/// Where a value stands: `services.openai.retry.base`, `rules[2].when.status`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Path(String);

impl Path {
    pub(super) fn key(&self, key: &str) -> Self {
        let key = shown::name(key);
        match self.0.is_empty() {
            true => Self(key.into_owned()),
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
        if !matches!(self.value, Value::Map(_)) {
            self.not("a map");
        }
        self.map()
    }

    /// The same where somebody else says what is wrong.
    pub(super) fn map(self) -> Option<Block<'a>> {
        let Value::Map(map) = self.value else {
            return None;
        };
        Some(Block {
            left: map
                .iter()
                .map(|(key, value)| (key.as_str(), value))
                .collect(),
            known: Vec::new(),
            path: self.path,
            problems: self.problems,
        })
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

    /// A text that names something.
    pub(super) fn name(&self) -> Option<&'a str> {
        let name = self.text()?;
        let why_not = shown::not_a_name(name);
        if let Some(cause) = why_not {
            self.problems.add(&self.path, &"", cause);
        }
        why_not.is_none().then_some(name)
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
        self.word_or(words, &[])
    }

    /// The same, where others call it by words of their own: the problem says which word is meant.
    pub(super) fn word_meant<T: Clone>(
        &self,
        words: &[(&'static str, T)],
        meant: &[(&str, &str)],
    ) -> Option<T> {
        let given = match self.value {
            Value::Text(text) => meant.iter().find(|(word, _)| word == text),
            _ => None,
        };
        match given {
            Some((_, word)) => {
                self.wrong(format!("{} is not known: write {word}", self.value));
                None
            }
            None => self.word(words),
        }
    }

    /// A word out of a list of them. Other words say more than themselves: where one of those stands alone, the problem
    /// says how it is written.
    pub(super) fn word_or<T: Clone>(
        &self,
        words: &[(&'static str, T)],
        others: &[(&str, &str)],
    ) -> Option<T> {
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let forms = others.iter().map(|(_, form)| *form);
        let all: Vec<&str> = known.iter().copied().chain(forms).collect();
        let Value::Text(text) = self.value else {
            self.not(&format!("one of {}", all.join(", ")));
            return None;
        };
        if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
            return Some(value.clone());
        }
        let form = others.iter().find(|(word, _)| *word == text);
        match form {
            Some((_, form)) => {
                self.wrong(format!("{} does not stand alone: write {form}", self.value));
            }
            None if nearest(text, &known).is_some() => self.unknown(text, &known),
            None => self.unknown(text, &all),
        }
        None
    }

    fn unknown(&self, word: &str, known: &[&str]) {
        let unknown = Unknown {
            name: word,
            what: format!("{} is not known", self.value),
            known: known.iter().copied(),
        };
        self.problems
            .unknown(self.path.as_str(), self.value, unknown);
    }

    pub(super) fn count(&self, least: u32, most: u32) -> Option<u32> {
        let bounds = || match (least, most, self.value) {
            (0, 1, _) => "must be 0 or 1".to_owned(),
            (.., Value::Integer(number)) if *number > most.into() => {
                format!("must be at most {most}")
            }
            (_, MANY.., _) => format!("must be a whole number of at least {least}"),
            _ => format!("must be a whole number from {least} to {most}"),
        };
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

    /// The keys that were asked for so far.
    pub(super) fn keys(&self) -> &[&'static str] {
        &self.known
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

    /// Passes over a key that is for others to read.
    pub(super) fn skip(&mut self, key: &str) {
        self.left.remove(key);
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

    /// Everything was asked for. Says what is wrong with the block as a whole, unless something in it is.
    pub(super) fn end_or(self, cause: Option<&str>) {
        let (path, problems) = (self.path.clone(), self.problems);
        self.end();
        if let Some(cause) = cause.filter(|_| !problems.are_within(path.as_str())) {
            problems.add(&path, &"", cause);
        }
    }

    /// Everything was asked for; what is left is unknown.
    pub(super) fn end(self) {
        for key in self.left.keys() {
            let shown = shown::key(key);
            let unknown = Unknown {
                name: key,
                what: "is not a known key".to_owned(),
                known: self.known.iter().copied(),
            };
            let path = self.path.key(&shown);
            self.problems.unknown(path.as_str(), &shown, unknown);
        }
    }
}
