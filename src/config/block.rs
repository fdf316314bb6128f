//! Reading the maps of a document: every key is asked for by name, and what nobody asked for is an error.

mod path;

pub(super) use path::Path;

use super::problems::{Problems, Unknown, nearest};
use super::shown;
use super::value::Value;
use super::words::{OFF, ON, Words};
use std::collections::BTreeMap;
use std::fmt::Display;

/// An upper bound from here on is no news to anybody.
const MANY: u32 = u32::MAX - 1;

/// The keys of RETRY, which people write beside it.
pub(super) const OF_RETRY: [&str; 25] = [
    "use",
    "max_retries",
    "max_attempts",
    "max_refused",
    "backoff",
    "base",
    "factor",
    "first_step",
    "max_delay",
    "jitter",
    "cap",
    "retry_on",
    "stop_on",
    "retry_after",
    "methods",
    "deadline",
    "attempt_timeout",
    "whole_answers",
    "counter",
    "budget",
    "classify_error",
    "truncate",
    "hold_streams",
    "on_exhausted",
    "credentials",
];

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
    /// Those of them that have a value.
    said: Vec<&'static str>,
    /// Those of them that stand there without one.
    empty: Vec<&'static str>,
    path: Path,
    problems: &'a Problems,
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

    pub(super) fn block(&self) -> Option<Block<'a>> {
        if !matches!(self.value, Value::Map(_)) {
            self.not("a map");
        }
        self.map()
    }

    /// The same where somebody else says what is wrong.
    pub(super) fn map(&self) -> Option<Block<'a>> {
        let Value::Map(map) = self.value else {
            return None;
        };
        Some(Block {
            left: map
                .iter()
                .map(|(key, value)| (key.as_str(), value))
                .collect(),
            known: Vec::new(),
            said: Vec::new(),
            empty: Vec::new(),
            path: self.path.clone(),
            problems: self.problems,
        })
    }

    /// Says what is wrong where the value may be a secret.
    pub(super) fn wrong_unseen(&self, cause: impl Into<String>) {
        self.problems.add(&self.path, &"", cause);
    }

    /// The named entries of a map.
    pub(super) fn entries(&self) -> Vec<(&'a str, Node<'a>)> {
        let Value::Map(map) = self.value else {
            self.not("a map");
            return Vec::new();
        };
        let entry = |(key, value): (&'a String, &'a Value)| {
            let path = self.path.key(key);
            (
                key.as_str(),
                Node {
                    value,
                    path,
                    ..*self
                },
            )
        };
        map.iter().map(entry).collect()
    }

    /// The items of a list that must not be empty.
    pub(super) fn items(&self) -> Vec<Node<'a>> {
        let Value::List(list) = self.value else {
            self.not("a list");
            return Vec::new();
        };
        if list.is_empty() {
            self.wrong("is an empty list: give at least one item, or leave the key out");
        }
        let item = |(index, value): (usize, &'a Value)| {
            let path = self.path.item(index);
            Node {
                value,
                path,
                ..*self
            }
        };
        list.iter().enumerate().map(item).collect()
    }

    /// The items of a list, or the one value that stands for a list of itself.
    pub(super) fn one_or_more(&self) -> Vec<Node<'a>> {
        match self.value {
            Value::List(_) => self.items(),
            _ => vec![self.clone()],
        }
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
            self.wrong_unseen(cause);
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

    /// A word out of a set. Some stand for others' words, and some say more than themselves: the problem says what to
    /// write instead.
    pub(super) fn word<T: Words>(&self) -> Option<T> {
        let known: Vec<&str> = T::WORDS.iter().map(|(word, _)| *word).collect();
        let forms = T::FORMS.iter().map(|(_, form)| *form);
        let all: Vec<&str> = known.iter().copied().chain(forms).collect();
        let text = match self.value {
            Value::Text(text) => text.as_str(),
            // YAML 1.1 writes on and off as truth values.
            Value::Bool(true) if known.contains(&ON) => ON,
            Value::Bool(false) if known.contains(&OFF) => OFF,
            _ => {
                self.not(&format!("one of {}", all.join(", ")));
                return None;
            }
        };
        if let Some((_, value)) = T::WORDS.iter().find(|(word, _)| *word == text) {
            return Some(value.clone());
        }
        let among = |pairs: &[(&str, &'static str)]| {
            let found = pairs.iter().find(|(word, _)| *word == text);
            found.map(|(_, write)| *write)
        };
        match (among(T::MEANT), among(T::FORMS)) {
            (Some(word), _) => self.wrong(format!("{} is not known: write {word}", self.value)),
            (_, Some(form)) => {
                self.wrong(format!("{} does not stand alone: write {form}", self.value));
            }
            _ if nearest(text, &known).is_some() => self.unknown(text, &known),
            _ => self.unknown(text, &all),
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
    /// The keys that were asked for so far.
    pub(super) fn keys(&self) -> &[&'static str] {
        &self.known
    }

    /// Whether a key that was asked for has a value.
    pub(super) fn has(&self, key: &str) -> bool {
        self.said.contains(&key)
    }

    /// Returns `true` if a key that was asked for stands there without a value.
    pub(super) fn is_empty_at(&self, key: &str) -> bool {
        self.empty.contains(&key)
    }

    /// The key of these that has a value. Two of them mean the same.
    pub(super) fn either(&self, key: &'static str, alias: &'static str) -> Option<&'static str> {
        if self.has(key) && self.has(alias) {
            let cause = format!("{alias} means the same as {key}: give one of the two");
            self.wrong_at(alias, &"", cause);
        }
        [key, alias].into_iter().find(|key| self.has(key))
    }

    /// The value under a key, which is then known; a key without a value counts as absent.
    pub(super) fn take(&mut self, key: &'static str) -> Option<Node<'a>> {
        self.known.push(key);
        let value = self.left.remove(key)?;
        if *value == Value::Null {
            self.empty.push(key);
            return None;
        }
        self.said.push(key);
        Some(Node {
            value,
            path: self.path.key(key),
            problems: self.problems,
        })
    }

    /// Passes over a key that is for others to read.
    pub(super) fn skip(&mut self, key: &str) {
        self.left.remove(key);
    }

    /// Says what is wrong at a key, whatever stands there.
    pub(super) fn wrong_at(&self, key: &str, given: &dyn Display, cause: impl Into<String>) {
        self.problems.add(&self.path.key(key), given, cause);
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
            if self.known.contains(&"retry") && OF_RETRY.contains(key) {
                let cause = format!("is a key of retry: write retry: {{{key}: ..}}");
                self.problems.add(&self.path.key(key), &shown, cause);
                continue;
            }
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
