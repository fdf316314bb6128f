//! The problems of a document: all of them are collected before it is rejected, and the first ones are reported.

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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Path(Arc<str>);

impl Path {
    pub(super) fn key(&self, key: &str) -> Self {
        let key = shown::name(key);
        if self.0.is_empty() {
            Self(key.into())
        } else {
            Self([&*self.0, &*key].join(".").into())
        }
    }

    pub(super) fn item(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0).into())
    }

    /// Returns the path as an error shows it.
    pub(super) fn as_str(&self) -> &str {
        if self.0.is_empty() {
            "the document"
        } else {
            &self.0
        }
    }
}

impl From<Path> for String {
    fn from(Path(path): Path) -> Self {
        path.as_ref().to_owned()
    }
}

impl From<&Arc<str>> for Path {
    fn from(path: &Arc<str>) -> Self {
        Self(Arc::clone(path))
    }
}

#[derive(Debug, Default)]
pub(super) struct Diagnostics(RefCell<ProblemList>);

#[derive(Debug, Default)]
struct ProblemList {
    reported: Vec<ConfigError>,
    /// Hashes of path and cause, since the same problem may occur at every service.
    seen: HashSet<u64>,
}

/// An unknown name, and the known ones.
pub(super) struct Unknown<'a, K> {
    pub(super) name: &'a str,
    /// The problem, as a phrase.
    pub(super) what: String,
    pub(super) known: K,
}

impl Diagnostics {
    pub(super) fn add(&self, path: &Path, given: &dyn Display, cause: impl Into<String>) {
        self.at(path.as_str(), given, cause);
    }

    pub(super) fn at(&self, path: &str, given: &dyn Display, cause: impl Into<String>) {
        self.report(path, given, cause.into(), |cause| cause);
    }

    /// Reports an unknown name, with the nearest known one, or with all of them.
    pub(super) fn unknown<'k, K: IntoIterator<Item = &'k str>>(
        &self,
        path: &str,
        given: &dyn Display,
        unknown: Unknown<'_, K>,
    ) {
        let Unknown { name, what, known } = unknown;
        self.report(path, given, what, |what| {
            let known: Vec<&str> = known.into_iter().collect();
            format!("{what}: {}", hint(name, &known))
        });
    }

    /// Returns `true` if there are no problems so far.
    pub(super) fn is_empty(&self) -> bool {
        self.0.borrow().reported.is_empty()
    }

    /// Returns `true` if there is, or may be, a problem below a path. Once the most problems are reported, it is always
    /// `true`.
    pub(super) fn are_within(&self, path: &str) -> bool {
        let list = self.0.borrow();
        // Later problems are only counted, so the path may have one.
        list.reported.len() >= MAX_REPORTED
            || list.reported.iter().any(|problem| {
                let rest = problem.field().strip_prefix(path);
                rest.is_some_and(|rest| rest.starts_with(['.', '[']))
            })
    }

    /// Returns `true` if there is, or may be, a problem at a path or below it.
    pub(super) fn contains(&self, path: &str) -> bool {
        let is_at = |problem: &ConfigError| problem.field() == path;
        let is_at = self.0.borrow().reported.iter().any(is_at);
        is_at || self.are_within(path)
    }

    /// Returns the problems as an error if there are any.
    pub(super) fn into_errors(self) -> Result<(), ConfigErrors> {
        let ProblemList { reported, seen } = self.0.into_inner();
        if reported.is_empty() {
            return Ok(());
        }
        let more = seen.len().saturating_sub(reported.len());
        let problems = reported;
        Err(ConfigErrors { problems, more })
    }

    fn report(
        &self,
        path: &str,
        given: &dyn Display,
        cause: String,
        whole: impl FnOnce(String) -> String,
    ) {
        let mut list = self.0.borrow_mut();
        let is_new = list.seen.insert(hash(path, &cause));
        if is_new && list.reported.len() < MAX_REPORTED {
            // The hint is made only now: comparing with every known name is the expensive part of a problem.
            let problem = ConfigError::sentence(path.to_owned(), given, whole(cause));
            list.reported.push(problem);
        }
    }
}

fn hash(path: &str, cause: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (path, cause).hash(&mut hasher);
    hasher.finish()
}

/// Returns the nearest of the known words, or a list of all.
pub(super) fn hint(given: &str, known: &[&str]) -> String {
    match nearest(given, known) {
        Some(word) => format!("did you mean {word}?"),
        None if known.is_empty() => "there are none".to_owned(),
        None => format!("known are {}", listed(known)),
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
