//! Documents in files, with stand-ins for the names that a program would bring.

use crate::report::Failure;
use anyhow::bail;
use clap::{Args, ValueEnum};
use http_retry::RetryBudget;
use http_retry::config::{ConfigErrors, Document, PathProbe, RetryConfig, RetryConfigBuilder};
use http_retry::fleet::Fleet;
use http_retry::report::DeadLetter;
use http_retry::testing::MemoryStore;
use serde::de::DeserializeSeed;
use serde_json::Value;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The most bytes of a document.
const MAX_BYTES: u64 = 1 << 20;
/// The name under which a store in memory takes the place of a document's fleet.
const STAND_IN: &str = "stand-in";

/// The way in which documents are read: their syntax, and the names in them that the program around them brings.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Reading {
    /// The syntax of the documents [default: by the end of the name, and YAML, of which JSON is a part, on stdin]
    #[arg(long, value_enum)]
    syntax: Option<Syntax>,

    /// An observer that the program brings, for `on_exhausted: {dead_letter: NAME}`; may be repeated
    #[arg(long, value_name = "NAME")]
    dead_letter: Vec<String>,

    /// A schedule that the program brings, for `backoff: {custom: NAME}`; may be repeated. Its delays are not known
    /// here, and count as max_delay
    #[arg(long, value_name = "NAME")]
    backoff: Vec<String>,

    /// A budget that the program brings, for `budget: NAME`; may be repeated. Its numbers are not known here, and count
    /// as the default
    #[arg(long, value_name = "NAME")]
    budget: Vec<String>,

    /// A fleet that the program brings, for `fleet: {use: NAME}`; may be repeated
    #[arg(long, value_name = "NAME")]
    fleet: Vec<String>,
}

/// A document that was read, and not checked.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    syntax: Syntax,
    text: String,
    document: Document,
    /// The same as a tree, for what no policy shows; null if JSON has no such tree, as with keys that are numbers.
    pub(crate) tree: Value,
}

impl Source {
    /// Reads the document in a file, or on stdin if that is named `-`.
    pub(crate) fn read(file: &Path, reading: &Reading) -> Result<Self, Unread> {
        let unusable =
            |cause: &dyn Display| Unread::Unusable(Failure::of_input(&name(file), cause));
        let end = file.extension().and_then(|end| end.to_str());
        let by_name = end.and_then(Syntax::of_end);
        let by_name = by_name.or_else(|| is_stdin(file).then_some(Syntax::Yaml));
        let Some(syntax) = reading.syntax.or(by_name) else {
            let cause =
                "the name must end in .yaml, .yml, .toml or .json, or --syntax name the syntax";
            return Err(unusable(&cause));
        };
        let text = text_of(file).map_err(|error| unusable(&format_args!("{error:#}")))?;
        let document = syntax.document(&text).map_err(Unread::NoDocument)?;
        let tree = syntax.tree(&text);
        Ok(Self {
            syntax,
            text,
            document,
            tree,
        })
    }

    /// Puts the document into force as its program would, with its own fleet.
    pub(crate) fn check(&self, reading: &Reading) -> Result<RetryConfig, ConfigErrors> {
        reading.builder(&MemoryStore::new()).load(&self.document)
    }

    /// The same problems, each with its line and column.
    pub(crate) fn locate(&self, problems: ConfigErrors) -> ConfigErrors {
        problems.locate(|probe| self.syntax.place(&self.text, probe))
    }

    /// The line and column of a path, or of the longest part of it that is there.
    pub(crate) fn place(&self, path: &str) -> Option<(usize, usize)> {
        PathProbe::place_of(path, |probe| self.syntax.place(&self.text, probe))
    }

    /// The document as YAML, without what may be a secret, and without its comments.
    pub(crate) fn shown(&self) -> String {
        let mut tree = self.tree.clone();
        hide(&mut tree, false);
        serde_yaml_ng::to_string(&tree).unwrap_or_default()
    }

    /// Puts the document into force, with a fleet on this store in the place of its own.
    pub(crate) fn load(
        &self,
        reading: &Reading,
        store: &MemoryStore,
    ) -> Result<RetryConfig, ConfigErrors> {
        let builder = reading.builder(store);
        let mut tree = self.tree.clone();
        let Some(fleet) = tree.get_mut("fleet") else {
            return builder.load(&self.document);
        };
        *fleet = serde_json::json!({"use": STAND_IN});
        match serde_json::from_value(tree) {
            Ok(document) => builder.load(&document),
            Err(_) => builder.load(&self.document),
        }
    }
}

/// Reads a document and puts it into force, with a store in memory in the place of its fleet's.
pub(crate) fn load(file: &Path, reading: &Reading) -> Result<(Source, RetryConfig), Failure> {
    let source = Source::read(file, reading).map_err(|unread| unread.failure(file))?;
    // Its own check comes first, since it also looks at the fleet.
    let config = source.check(reading);
    let config = config.and_then(|_| source.load(reading, &MemoryStore::new()));
    let config = config.map_err(|problems| {
        let first = problems.iter().next().map(ToString::to_string);
        let more = problems.iter().count().saturating_sub(1);
        let more = more.saturating_add(problems.more());
        let located = source.locate(problems);
        let place = located.iter().next().and_then(|problem| problem.place);
        Failure::of_document(&name(file), place, &first.unwrap_or_default(), more)
    })?;
    Ok((source, config))
}

/// Returns `true` if this name stands for stdin.
pub(crate) fn is_stdin(file: &Path) -> bool {
    file == Path::new("-")
}

/// Checks that stdin is to be read once.
pub(crate) fn check_stdin(files: &[PathBuf]) -> Result<(), Failure> {
    let from_stdin = files.iter().filter(|file| is_stdin(file));
    if from_stdin.count() > 1 {
        return Err(Failure::of_input("-", "stdin can be read only once"));
    }
    Ok(())
}

/// The name of a document in the output.
pub(crate) fn name(file: &Path) -> String {
    if is_stdin(file) {
        "stdin".to_owned()
    } else {
        file.display().to_string()
    }
}

/// The cause for which there is no document.
#[derive(Debug)]
pub(crate) enum Unread {
    /// The file cannot be used.
    Unusable(Failure),
    /// The text cannot be parsed.
    NoDocument(Syntactic),
}

/// The problem of a text that cannot be parsed.
#[derive(Debug)]
pub(crate) struct Syntactic {
    pub(crate) problem: String,
    /// The line and column, counted from 1, if the parser names them.
    pub(crate) place: Option<(usize, usize)>,
}

impl Unread {
    fn failure(self, file: &Path) -> Failure {
        match self {
            Self::Unusable(failure) => failure,
            Self::NoDocument(Syntactic { problem, place }) => {
                Failure::of_document(&name(file), place, &problem, 0)
            }
        }
    }
}

impl Reading {
    fn builder(&self, store: &MemoryStore) -> RetryConfigBuilder {
        let mut builder = RetryConfig::builder();
        for name in &self.dead_letter {
            builder = builder.dead_letters(name.as_str(), |_: &DeadLetter<'_>| {});
        }
        for name in &self.backoff {
            let unknown = |_: Value| |_: u32| Duration::MAX;
            builder = builder.backoff(name.as_str(), unknown);
        }
        for name in &self.budget {
            builder = builder.budget(name.as_str(), RetryBudget::default());
        }
        let stand_in = Fleet::in_memory(store);
        let fleets = self.fleet.iter().map(String::as_str);
        for name in fleets.chain([STAND_IN]) {
            builder = builder.fleet(name, &stand_in);
        }
        builder
    }
}

/// The syntax of a document.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Syntax {
    Yaml,
    Toml,
    Json,
}

impl Syntax {
    fn of_end(end: &str) -> Option<Self> {
        match end {
            "yaml" | "yml" => Some(Self::Yaml),
            "toml" => Some(Self::Toml),
            "json" => Some(Self::Json),
            _ => None,
        }
    }

    fn document(self, text: &str) -> Result<Document, Syntactic> {
        match self {
            Self::Yaml => Document::from_text(text, serde_yaml_ng::from_str).map_err(
                |error: serde_yaml_ng::Error| Syntactic {
                    problem: error.to_string(),
                    place: error.location().map(|at| (at.line(), at.column())),
                },
            ),
            Self::Json => Document::from_text(text, serde_json::from_str).map_err(
                |error: serde_json::Error| Syntactic {
                    problem: error.to_string(),
                    place: Some((error.line(), error.column())).filter(|(line, _)| *line > 0),
                },
            ),
            // The error's text is several lines, of which one is the document's own.
            Self::Toml => Document::from_text(text, toml::from_str).map_err(|error| {
                let words = error.message();
                let place = place_in_toml(text, &error);
                let problem = match place {
                    Some((line, column)) => format!("{words} at line {line} column {column}"),
                    None => words.to_owned(),
                };
                Syntactic { problem, place }
            }),
        }
    }

    /// The line and column at which a probe fails.
    fn place(self, text: &str, probe: PathProbe<'_>) -> Option<(usize, usize)> {
        match self {
            Self::Yaml => {
                let yaml = serde_yaml_ng::Deserializer::from_str(text);
                let place = probe.deserialize(yaml).err()?.location()?;
                Some((place.line(), place.column()))
            }
            Self::Toml => {
                let toml = toml::Deserializer::parse(text);
                let error = toml.and_then(|toml| probe.deserialize(toml)).err()?;
                place_in_toml(text, &error)
            }
            Self::Json => {
                let mut json = serde_json::Deserializer::from_str(text);
                let error = probe.deserialize(&mut json).err()?;
                Some((error.line(), error.column())).filter(|(line, _)| *line > 0)
            }
        }
    }

    fn tree(self, text: &str) -> Value {
        let tree = match self {
            Self::Yaml => serde_yaml_ng::from_str(text).ok(),
            Self::Toml => toml::from_str(text).ok(),
            Self::Json => serde_json::from_str(text).ok(),
        };
        tree.unwrap_or_default()
    }
}

/// The text in the place of a value that may be a secret.
const HIDDEN: &str = "..";
/// The keys below which everything may be one: headers and bodies to send, and arguments of functions.
const SECRET: [&str; 3] = ["set", "respond", "args"];
/// The keys with what a rule compares with.
const CONDITIONS: [&str; 4] = ["when", "retry_on", "stop_on", "rows"];
/// The keys in a condition, or in a row, that compare with no header and no part of a body.
const PUBLIC: [&str; 9] = [
    "status",
    "method",
    "outcome",
    "attempt",
    "class",
    "error",
    "as",
    "reach",
    "retryable",
];

/// Hides what may be a secret, in a condition or elsewhere.
fn hide(value: &mut Value, in_condition: bool) {
    match value {
        Value::Object(keys) => {
            for (key, value) in keys {
                let key = key.as_str();
                if SECRET.contains(&key) {
                    *value = HIDDEN.into();
                } else if !(in_condition && PUBLIC.contains(&key)) {
                    hide(value, in_condition || CONDITIONS.contains(&key));
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                hide(item, in_condition);
            }
        }
        Value::String(text) if in_condition && !is_status(text) => HIDDEN.clone_into(text),
        _ => {}
    }
}

/// Returns `true` for a status as a condition writes it: `503`, `5xx`, `500-503`.
fn is_status(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_digit() || "x-".contains(c))
}

/// The line and column of an error, counted from 1.
fn place_in_toml(text: &str, error: &toml::de::Error) -> Option<(usize, usize)> {
    let before = text.get(..error.span()?.start)?;
    let line = before.matches('\n').count().saturating_add(1);
    let start = before.rfind('\n').map_or(0, |end| end.saturating_add(1));
    let column = before.get(start..)?.chars().count().saturating_add(1);
    Some((line, column))
}

/// The text of a file or of stdin, without a byte order mark.
fn text_of(file: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    let most = MAX_BYTES.saturating_add(1);
    if is_stdin(file) {
        io::stdin().lock().take(most).read_to_string(&mut text)?;
    } else {
        File::open(file)?.take(most).read_to_string(&mut text)?;
    }
    if text.len() as u64 > MAX_BYTES {
        bail!("it has more than {MAX_BYTES} bytes");
    }
    Ok(text
        .strip_prefix('\u{feff}')
        .map(str::to_owned)
        .unwrap_or(text))
}
