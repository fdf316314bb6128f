//! The problems of a document: all of them are collected before it is rejected, and the first ones are reported.

use super::locate::PathProbe;
use super::shown::{self, is_short};
use http_retry_core::ConfigError;
use std::cell::RefCell;
use std::collections::HashSet;
use std::error::Error;
use std::fmt::{self, Display};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// The most problems that are reported; the others are counted.
const MAX_REPORTED: usize = 20;
/// The most known names that an unknown one is compared with.
const MAX_COMPARED: usize = 1_000;
/// The bytes of an ordinary path.
const PATH_BYTES: usize = 64;
/// The most bytes of known names that are listed.
const MAX_LISTED: usize = 512;

/// All problems of a document: the first 20 in the order in which they were found, and the number of the others.
///
/// `Display` prints one problem per line, after its path: `services.orders.retry.base: 2000 has no unit: write 2000ms
/// or 2000s`. It has at most 100 KiB, and contains no user info, query, header value or body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors {
    problems: Vec<ConfigError>,
    more: usize,
}

impl ConfigErrors {
    /// Creates an error with one problem.
    pub(super) fn one(path: &'static str, cause: &'static str) -> Self {
        Self {
            problems: vec![ConfigError::sentence(path, "", cause)],
            more: 0,
        }
    }

    /// Returns the first problems, 1 to 20; [`ConfigError::field`] is the path.
    pub fn iter(&self) -> impl Iterator<Item = &ConfigError> {
        self.problems.iter()
    }

    /// Adds the line and column of each problem, which `find` takes from the error of the document's format.
    ///
    /// `find` reads the document's text by the probe that it gets, and returns the place of the error. serde_yaml_ng,
    /// toml and serde_json have one in their errors.
    ///
    /// ```
    /// use http_retry::config::{Document, RetryConfig};
    /// use serde::de::DeserializeSeed;
    ///
    /// let text = "version: 1\nretry:\n  base: 2000\n";
    /// let document: Document = serde_yaml_ng::from_str(text)?;
    /// let errors = RetryConfig::load(&document).unwrap_err().locate(|probe| {
    ///     let yaml = serde_yaml_ng::Deserializer::from_str(text);
    ///     let place = probe.deserialize(yaml).err()?.location()?;
    ///     Some((place.line(), place.column()))
    /// });
    /// let wanted = "retry.base: 2000 has no unit: write 2000ms or 2000s (line 3, column 3)";
    /// assert_eq!(errors.to_string(), wanted);
    /// # Ok::<(), serde_yaml_ng::Error>(())
    /// ```
    #[must_use]
    pub fn locate(self, mut find: impl FnMut(PathProbe<'_>) -> Option<(usize, usize)>) -> Self {
        let problems = self.problems.into_iter().map(|mut problem| {
            let place = PathProbe::place_of(&problem.field, &mut find);
            problem.place = place.or(problem.place);
            problem
        });
        Self {
            problems: problems.collect(),
            more: self.more,
        }
    }

    /// Returns the number of problems beyond those listed.
    #[must_use]
    pub fn more(&self) -> usize {
        self.more
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

impl Error for ConfigErrors {}

/// The path of a value: `services.openai.retry.base`, `rules[2].when.status`.
///
/// Every value that is read has one and few are shown, so the text is made only then.
#[derive(Debug, Clone, Default)]
pub(super) struct Path<'a>(Option<Arc<Step<'a>>>);

/// The end of a path, below the document.
#[derive(Debug)]
enum Step<'a> {
    Key(Path<'a>, &'a str),
    Item(Path<'a>, usize),
    /// A whole path, as it is shown.
    Shown(Arc<str>),
}

impl<'a> Path<'a> {
    pub(super) fn key<'b>(&self, key: &'b str) -> Path<'b>
    where
        'a: 'b,
    {
        Path(Some(Arc::new(Step::Key(self.clone(), key))))
    }

    pub(super) fn item(&self, index: usize) -> Self {
        Self(Some(Arc::new(Step::Item(self.clone(), index))))
    }

    fn text(&self) -> String {
        match self.0.as_deref() {
            None => String::with_capacity(PATH_BYTES),
            Some(Step::Key(parent, key)) => {
                let mut text = parent.text();
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(&shown::name(key));
                text
            }
            Some(Step::Item(parent, index)) => {
                let mut text = parent.text();
                text.push('[');
                text.push_str(&index.to_string());
                text.push(']');
                text
            }
            Some(Step::Shown(path)) => {
                let mut text = Self::default().text();
                text.push_str(path);
                text
            }
        }
    }
}

/// Prints the path as an error shows it.
impl Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str("the document"),
            Some(_) => f.write_str(&self.text()),
        }
    }
}

impl From<Path<'_>> for String {
    fn from(path: Path<'_>) -> Self {
        path.text()
    }
}

impl From<&Arc<str>> for Path<'_> {
    fn from(path: &Arc<str>) -> Self {
        Self(Some(Arc::new(Step::Shown(Arc::clone(path)))))
    }
}

/// The problems that are found so far.
#[derive(Debug, Default)]
pub(super) struct Diagnostics {
    reported: RefCell<Vec<ConfigError>>,
    /// Hashes of path and cause, since the same problem may occur at every service.
    seen: RefCell<HashSet<u64>>,
}

impl Diagnostics {
    pub(super) fn add(&self, path: &dyn Display, given: &dyn Display, cause: impl Into<String>) {
        self.report(path, given, cause.into(), |cause| cause);
    }

    /// Reports an unknown name, with a [`hint`] at the known ones.
    pub(super) fn unknown(
        &self,
        path: &dyn Display,
        given: &dyn Display,
        what: impl Into<String>,
        hint: impl FnOnce() -> String,
    ) {
        let whole = |what| format!("{what}: {}", hint());
        self.report(path, given, what.into(), whole);
    }

    /// Returns `true` if there are no problems so far.
    pub(super) fn is_empty(&self) -> bool {
        self.reported.borrow().is_empty()
    }

    /// Returns `true` if there is, or may be, a problem below a path. Once the most problems are reported, it is always
    /// `true`.
    pub(super) fn are_within(&self, path: &dyn Display) -> bool {
        let reported = self.reported.borrow();
        if reported.is_empty() {
            return false;
        }
        let path = path.to_string();
        // Later problems are only counted, so the path may have one.
        reported.len() >= MAX_REPORTED
            || reported.iter().any(|problem| {
                let rest = problem.field.strip_prefix(&*path);
                rest.is_some_and(|rest| rest.starts_with(['.', '[']))
            })
    }

    /// Returns `true` if there is, or may be, a problem at a path or below it.
    pub(super) fn contains(&self, path: &dyn Display) -> bool {
        let field = path.to_string();
        let is_at = |problem: &ConfigError| problem.field == field;
        let is_at = self.reported.borrow().iter().any(is_at);
        is_at || self.are_within(path)
    }

    /// Returns the problems as an error if there are any.
    pub(super) fn into_errors(self) -> Result<(), ConfigErrors> {
        let problems = self.reported.into_inner();
        if problems.is_empty() {
            return Ok(());
        }
        let more = self.seen.into_inner().len().saturating_sub(problems.len());
        Err(ConfigErrors { problems, more })
    }

    fn report(
        &self,
        path: &dyn Display,
        given: &dyn Display,
        cause: String,
        whole: impl FnOnce(String) -> String,
    ) {
        let path = path.to_string();
        let mut reported = self.reported.borrow_mut();
        let is_new = self.seen.borrow_mut().insert(hash(&path, &cause));
        if is_new && reported.len() < MAX_REPORTED {
            // The hint is made only now: comparing with every known name is the expensive part of a problem.
            reported.push(ConfigError::sentence(path, given, whole(cause)));
        }
    }
}

fn hash(path: &str, cause: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (path, cause).hash(&mut hasher);
    hasher.finish()
}

/// Returns the nearest of the known words, or a list of all.
pub(super) fn hint<'k>(given: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(given, &known) {
        Some(word) => format!("did you mean {word}?"),
        None if known.is_empty() => "there are none".to_owned(),
        None => format!("known are {}", listed(&known)),
    }
}

fn listed(known: &[&str]) -> String {
    let mut text = String::new();
    for (index, word) in known.iter().enumerate() {
        if text.len() > MAX_LISTED {
            let more = known.len().saturating_sub(index);
            return format!("{text} and {more} more");
        }
        if index > 0 {
            text.push_str(", ");
        }
        text.push_str(word);
    }
    text
}

/// Returns the known word that ends in the given one, or else the most similar one.
pub(super) fn nearest<'a>(given: &str, known: &[&'a str]) -> Option<&'a str> {
    const MIN_SIMILARITY: f64 = 0.75;
    // The comparison is quadratic in the lengths, and a document can have many names and long keys.
    if !is_short(given) || known.len() > MAX_COMPARED {
        return None;
    }
    let plain = given.to_ascii_lowercase();
    // `delay` for `max_delay`, and so on.
    let ends = |word: &&&str| {
        let start = word.strip_suffix(plain.as_str());
        start.is_some_and(|start| start.ends_with('_'))
    };
    let near = known
        .iter()
        .map(|word| (strsim::jaro_winkler(&plain, word), word))
        .filter(|(similarity, _)| *similarity >= MIN_SIMILARITY)
        .max_by(|(one, _), (other, _)| one.total_cmp(other));
    let ending = known.iter().find(ends);
    ending.or(near.map(|(_, word)| word)).copied()
}
