//! Documents in files, with stand-ins for the names that a program would bring.

use crate::report::Failure;
use anyhow::{Context, anyhow, bail};
use clap::Args;
use http_retry::config::{ConfigErrors, Document, PathProbe, RetryConfig, RetryConfigBuilder};
use http_retry::fleet::Fleet;
use http_retry::report::DeadLetter;
use http_retry::testing::MemoryStore;
use http_retry::{ConfigError, RetryBudget};
use serde::de::DeserializeSeed;
use serde_json::Value;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

/// The most bytes of a document.
const MAX_BYTES: u64 = 1 << 20;
/// The name under which a store in memory takes the place of a document's fleet.
const STAND_IN: &str = "stand-in";

/// Names that a document uses and that the program around it brings.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Names {
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
    format: Format,
    text: String,
    document: Document,
    /// The same as a tree, for what no policy shows; null if JSON has no such tree, as with keys that are numbers.
    pub(crate) tree: Value,
}

impl Source {
    /// Reads a document: YAML, TOML or JSON by the end of its name.
    pub(crate) fn read(file: &Path) -> anyhow::Result<Self> {
        let name = || file.display().to_string();
        let end = file.extension().and_then(|end| end.to_str());
        let Some(format) = end.and_then(Format::named) else {
            bail!(
                "{}: the name must end in .yaml, .yml, .toml or .json",
                name()
            );
        };
        let text = text_of(file).with_context(name)?;
        let document = format.document(&text).with_context(name)?;
        let tree = format.tree(&text);
        Ok(Self {
            format,
            text,
            document,
            tree,
        })
    }

    /// Puts the document into force as its program would, with its own fleet.
    pub(crate) fn check(&self, names: &Names) -> Result<RetryConfig, ConfigErrors> {
        names.builder(&MemoryStore::new()).load(&self.document)
    }

    /// The same problems, each with its line and column.
    pub(crate) fn locate(&self, problems: ConfigErrors) -> ConfigErrors {
        problems.locate(|probe| self.format.place(&self.text, probe))
    }

    /// Puts the document into force, with a fleet on this store in the place of its own.
    pub(crate) fn load(
        &self,
        names: &Names,
        store: &MemoryStore,
    ) -> Result<RetryConfig, ConfigErrors> {
        let builder = names.builder(store);
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
pub(crate) fn load(file: &Path, names: &Names) -> Result<(Source, RetryConfig), Failure> {
    let source = Source::read(file)?;
    // Its own check comes first, since it also looks at the fleet.
    let config = source.check(names);
    let config = config.and_then(|_| source.load(names, &MemoryStore::new()));
    let config = config.map_err(|problems| {
        let first = problems.iter().next().map(ToString::to_string);
        let more = problems.iter().count().saturating_sub(1);
        let more = more.saturating_add(problems.more());
        let located = source.locate(problems);
        let place = located.iter().next().and_then(ConfigError::place);
        Failure::of_document(file, place, &first.unwrap_or_default(), more)
    })?;
    Ok((source, config))
}

impl Names {
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
#[derive(Debug, Clone, Copy)]
enum Format {
    Yaml,
    Toml,
    Json,
}

impl Format {
    fn named(end: &str) -> Option<Self> {
        match end {
            "yaml" | "yml" => Some(Self::Yaml),
            "toml" => Some(Self::Toml),
            "json" => Some(Self::Json),
            _ => None,
        }
    }

    fn document(self, text: &str) -> anyhow::Result<Document> {
        match self {
            Self::Yaml => Ok(Document::from_text(text, |text| {
                serde_yaml_ng::from_str(text)
            })?),
            Self::Json => Ok(Document::from_text(text, |text| {
                serde_json::from_str(text)
            })?),
            // The error's text is several lines, of which one is the document's own.
            Self::Toml => Document::from_text(text, toml::from_str).map_err(|error| {
                let words = error.message();
                match place_in_toml(text, &error) {
                    Some((line, column)) => anyhow!("{words} at line {line} column {column}"),
                    None => anyhow!("{words}"),
                }
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

/// The line and column of an error, counted from 1.
fn place_in_toml(text: &str, error: &toml::de::Error) -> Option<(usize, usize)> {
    let before = text.get(..error.span()?.start)?;
    let line = before.matches('\n').count().saturating_add(1);
    let start = before.rfind('\n').map_or(0, |end| end.saturating_add(1));
    let column = before.get(start..)?.chars().count().saturating_add(1);
    Some((line, column))
}

/// The text of a file, without a byte order mark.
fn text_of(file: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    let most = MAX_BYTES.saturating_add(1);
    File::open(file)?.take(most).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_BYTES {
        bail!("it has more than {MAX_BYTES} bytes");
    }
    Ok(text
        .strip_prefix('\u{feff}')
        .map(str::to_owned)
        .unwrap_or(text))
}
