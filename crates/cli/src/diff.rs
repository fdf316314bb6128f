//! `diff`: what a new document changes, and for whom. The parts that no effective policy shows are compared by path.

use crate::arguments::Form;
use crate::document::{self, Reading};
use crate::effective;
use crate::report::{Failure, Report, Style, counted, one_line};
use clap::Args;
use http_retry::config::RetryConfig;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;

/// Show what a new document changes, per service and field
///
/// The effective values are compared, not the texts: a change to a shared policy appears at every service that uses it,
/// and a change that has no effect appears nowhere. Matches, conditions and the numbers of budgets, which no policy
/// shows, are compared as they are written.
#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    /// The document in force; - is stdin
    old: PathBuf,

    /// The document that would replace it; - is stdin
    new: PathBuf,

    /// Exit with 1 if anything changes
    #[arg(long)]
    exit_code: bool,

    /// The form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Form,

    #[command(flatten)]
    reading: Reading,
}

/// A change of one field; `None` where it is not set. A value that may be a secret is not shown.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    place: String,
    field: String,
    old: Option<String>,
    new: Option<String>,
}

type Fields = BTreeMap<String, String>;

pub(crate) fn run(arguments: &DiffArguments) -> Result<Report, Failure> {
    document::check_stdin(&[arguments.old.clone(), arguments.new.clone()])?;
    let (old_source, old) = document::load(&arguments.old, &arguments.reading)?;
    let (new_source, new) = document::load(&arguments.new, &arguments.reading)?;
    let (old, new) = (entries(&old), entries(&new));
    let names =
        |entries: &BTreeMap<String, Fields>| entries.keys().cloned().collect::<BTreeSet<_>>();
    let added: Vec<String> = names(&new).difference(&names(&old)).cloned().collect();
    let removed: Vec<String> = names(&old).difference(&names(&new)).cloned().collect();
    let mut changes = Vec::new();
    for (place, old) in &old {
        if let Some(new) = new.get(place) {
            changes.extend(changes_of(place, old, new));
        }
    }
    let definitions_of = |tree| {
        let all = definitions(tree).into_iter();
        all.collect::<Fields>()
    };
    let (old, new) = (
        definitions_of(&old_source.tree),
        definitions_of(&new_source.tree),
    );
    changes.extend(changes_of("", &old, &new));
    let count = added.len() + removed.len() + changes.len();
    let report = match arguments.format {
        Form::Text => text(&added, &removed, &changes),
        Form::Json => {
            let changes: Vec<Value> = changes.iter().map(Change::json).collect();
            Report::json(&json!({"added": added, "removed": removed, "changes": changes}))
        }
    };
    let problem = (arguments.exit_code && count > 0).then(|| {
        let new = document::name(&arguments.new);
        format!("{new}: {}", counted(count, "change"))
    });
    Ok(report.with_problem(problem))
}

fn entries(config: &RetryConfig) -> BTreeMap<String, Fields> {
    let entries = config.routes().into_iter();
    let entries = entries.map(|entry| (effective::name(&entry), effective::fields(&entry)));
    entries.collect()
}

fn changes_of(place: &str, old: &Fields, new: &Fields) -> Vec<Change> {
    let fields: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let changed = fields
        .into_iter()
        .filter(|field| old.get(*field) != new.get(*field));
    let changes = changed.map(|field| Change {
        place: place.to_owned(),
        field: field.clone(),
        old: old.get(field).cloned(),
        new: new.get(field).cloned(),
    });
    changes.collect()
}

fn text(added: &[String], removed: &[String], changes: &[Change]) -> Report {
    let mut report = Report::default();
    for name in added {
        report = report.with(Style::Added, format!("{}: added\n", one_line(name)));
    }
    for name in removed {
        report = report.with(Style::Problem, format!("{}: removed\n", one_line(name)));
    }
    let mut place = None;
    for change in changes {
        if place != Some(&change.place) {
            let title = if change.place.is_empty() {
                "definitions"
            } else {
                &change.place
            };
            report = report.with(Style::Title, format!("{}\n", one_line(title)));
            place = Some(&change.place);
        }
        let line = format!("  {}: {}\n", one_line(&change.field), change.words());
        report = report.with(Style::Plain, line);
    }
    if added.is_empty() && removed.is_empty() && changes.is_empty() {
        return report.with(Style::Plain, "no change\n");
    }
    report
}

impl Change {
    fn words(&self) -> String {
        let value = |value: &Option<String>| match value {
            Some(value) => shown(value).map_or_else(|| "..".to_owned(), one_line),
            None => "(not set)".to_owned(),
        };
        let (old, new) = (value(&self.old), value(&self.new));
        if old == new {
            "changed".to_owned()
        } else {
            format!("{old} -> {new}")
        }
    }

    fn json(&self) -> Value {
        let value = |value: &Option<String>| value.as_deref().and_then(shown).map(str::to_owned);
        json!({
            "place": (!self.place.is_empty()).then_some(&self.place),
            "field": self.field,
            "old": value(&self.old),
            "new": value(&self.new),
        })
    }
}

/// Marks a value that may be a secret: it is compared, and not shown.
const HIDDEN: char = '\u{0}';

/// The parts of a service or route besides its policy.
const PARTS: [&str; 4] = ["match", "base_url", "dialect", "request_overrides"];

/// Returns the paths and values of all budgets, matches, addresses and conditions.
fn definitions(tree: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    if let Some(budgets) = tree.get("budgets") {
        flatten("budgets".to_owned(), budgets, true, &mut found);
    }
    for part in ["rules", "fleet", "dialects"] {
        if let Some(value) = tree.get(part) {
            parts(part, part, value, &mut found);
        }
    }
    for (name, service) in members(tree.get("services")) {
        let path = format!("services.{name}");
        place(&path, service, &mut found);
        for (index, route) in items(service.get("routes")) {
            place(&format!("{path}.routes.{index}"), route, &mut found);
        }
    }
    found
}

/// Returns the value, unless it may be a secret.
fn shown(value: &str) -> Option<&str> {
    (!value.starts_with(HIDDEN)).then_some(value)
}

fn place(path: &str, place: &Value, found: &mut Vec<(String, String)>) {
    for part in PARTS.into_iter().chain(["rules"]) {
        if let Some(value) = place.get(part) {
            parts(part, &format!("{path}.{part}"), value, found);
        }
    }
}

fn parts(part: &str, path: &str, value: &Value, found: &mut Vec<(String, String)>) {
    if part != "rules" {
        return flatten(path.to_owned(), value, part == "match", found);
    }
    for (name, rule) in items(Some(value)) {
        flatten(format!("{path}.{name}"), rule, false, found);
    }
}

/// Adds the leaves of a value, with those that may be secrets as hashes.
fn flatten(path: String, value: &Value, is_public: bool, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(keys) => {
            for (key, value) in keys {
                // Statuses, methods and classes are words of the document; headers and bodies are not.
                let is_public =
                    is_public || ["status", "method", "outcome", "attempt"].contains(&&**key);
                flatten(format!("{path}.{key}"), value, is_public, found);
            }
        }
        value if is_public => found.push((path, words(value))),
        value => {
            let mut hasher = DefaultHasher::new();
            value.to_string().hash(&mut hasher);
            found.push((path, format!("{HIDDEN}{:x}", hasher.finish())));
        }
    }
}

fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn members(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flatten()
}

/// The items of a list, each by its name or its place.
fn items(value: Option<&Value>) -> impl Iterator<Item = (String, &Value)> {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    items.enumerate().map(|(index, item)| {
        let name = item.get("name").and_then(Value::as_str);
        (
            name.map_or_else(|| format!("[{index}]"), str::to_owned),
            item,
        )
    })
}
