//! `check`: the problems of documents, and what is odd in good ones.

mod warnings;

use crate::arguments::Form;
use crate::document::{self, Reading, Source, Syntactic, Unread};
use crate::effective;
use crate::report::{Failure, Report, Style, Table, counted, one_line};
use clap::Args;
use http_retry::config::{ConfigErrors, RetryConfig};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// List every problem of documents, each with its path, line and column
///
/// The problems go to stdout, one per line, and one line about them to stderr. A good document is shown as a table: the
/// most attempts and the longest time of one request, and the budget, of every service and route; below are warnings of
/// what is likely not meant: a budget or policy that nobody uses, a service that no request meets, and a failover to the
/// server that was just given up.
#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// The documents; - is stdin
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Warnings are problems, and every service is put into a storm, as the command of that name does by default: a
    /// warning says under which the attempts double, or the service does not recover
    #[arg(long)]
    strict: bool,

    /// The form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Form,

    #[command(flatten)]
    reading: Reading,
}

/// The state of one document.
struct Checked {
    name: String,
    result: Result<Good, Problems>,
}

/// A document without problems.
struct Good {
    config: RetryConfig,
    warnings: Vec<Problem>,
}

/// The problems of a document that has some.
struct Problems {
    listed: Vec<Problem>,
    /// The number of those and of those that are not listed.
    count: usize,
}

/// A problem, or a warning.
struct Problem {
    path: String,
    words: String,
    place: Option<(usize, usize)>,
}

pub(crate) fn run(arguments: &CheckArguments) -> Result<Report, Failure> {
    document::check_stdin(&arguments.files)?;
    let files = arguments.files.iter();
    let checked = files.map(|file| Checked::read(file, arguments));
    let checked = checked.collect::<Result<Vec<Checked>, Failure>>()?;
    let report = match (arguments.format, &checked[..]) {
        (Form::Text, [one]) => match one.result.as_ref().err().and_then(Problems::of_syntax) {
            // Its one line on stderr says everything.
            Some(Problem { words, place, .. }) => {
                return Err(Failure::of_document(&one.name, *place, words, 0));
            }
            None => one.text(""),
        },
        (Form::Text, several) => {
            let texts = several
                .iter()
                .map(|one| one.text(&format!("{}: ", one.name)));
            texts.fold(Report::default(), Report::and)
        }
        (Form::Json, [one]) => Report::json(&one.json()),
        (Form::Json, several) => {
            let documents: Vec<Value> = several.iter().map(Checked::json).collect();
            Report::json(&json!({"documents": documents}))
        }
    };
    Ok(report.with_problem(problem(&checked, arguments.strict)))
}

/// The line on the documents that have problems, or warnings if they count.
fn problem(checked: &[Checked], is_strict: bool) -> Option<String> {
    let bad = checked.iter().filter_map(|one| {
        let what = match &one.result {
            Err(problems) => counted(problems.count, "problem"),
            Ok(good) if is_strict && !good.warnings.is_empty() => {
                counted(good.warnings.len(), "warning")
            }
            Ok(_) => return None,
        };
        Some(format!("{}: {what}", one.name))
    });
    let bad: Vec<String> = bad.collect();
    (!bad.is_empty()).then(|| bad.join(", "))
}

impl Checked {
    fn read(file: &Path, arguments: &CheckArguments) -> Result<Self, Failure> {
        let name = document::name(file);
        let reading = &arguments.reading;
        let result = match Source::read(file, reading) {
            Ok(source) => match source.check(reading) {
                Ok(config) => {
                    let mut warnings = warnings::of_text(&source);
                    if arguments.strict {
                        warnings.extend(warnings::of_storms(&source, reading)?);
                    }
                    Ok(Good { config, warnings })
                }
                Err(problems) => Err(Problems::of(&source.locate(problems))),
            },
            Err(Unread::NoDocument(syntactic)) => Err(Problems::from(syntactic)),
            Err(Unread::Unusable(failure)) => return Err(failure),
        };
        Ok(Self { name, result })
    }

    /// The problems, each behind this start of its line, or the table of a good document with the warnings.
    fn text(&self, start: &str) -> Report {
        match &self.result {
            Ok(good) => self.good(good),
            Err(problems) => problems.text(start),
        }
    }

    fn good(&self, Good { config, warnings }: &Good) -> Report {
        let entries = config.routes();
        let services: BTreeSet<&str> = entries
            .iter()
            .filter_map(|entry| entry.service.as_deref())
            .collect();
        let mut table = Table::new(&["service/route", "attempts", "longest time", "budget"]);
        for entry in &entries {
            table.row([
                effective::name(entry),
                effective::attempts(&entry.worst_case),
                effective::time(&entry.worst_case),
                effective::budget(entry),
            ]);
        }
        let services = counted(services.len(), "service");
        let name = one_line(&self.name);
        let mut report = Report::text(format!("{name}: good, {services}\n\n")).with_table(&table);
        for (index, Problem { path, words, place }) in warnings.iter().enumerate() {
            let gap = if index == 0 { "\n" } else { "" };
            let place = place.map(|(line, column)| format!(" (line {line}, column {column})"));
            let place = place.unwrap_or_default();
            report = report
                .with(Style::Plain, gap)
                .with(Style::Warning, format!("warning: {}", one_line(path)))
                .with(Style::Plain, format!(": {}{place}\n", one_line(words)));
        }
        report
    }

    fn json(&self) -> Value {
        match &self.result {
            Ok(Good { config, warnings }) => {
                let entries: Vec<Value> = config.routes().iter().map(effective::json).collect();
                let warnings: Vec<Value> = warnings.iter().map(Problem::json).collect();
                json!({"file": self.name, "problems": [], "warnings": warnings, "entries": entries})
            }
            Err(problems) => {
                let listed: Vec<Value> = problems.listed.iter().map(Problem::json).collect();
                json!({"file": self.name, "problems": listed, "count": problems.count})
            }
        }
    }
}

impl Problems {
    fn of(problems: &ConfigErrors) -> Self {
        let listed = problems.iter().map(|problem| Problem {
            path: problem.field.to_string(),
            words: problem.to_string(),
            place: problem.place,
        });
        let listed: Vec<Problem> = listed.collect();
        let count = listed.len().saturating_add(problems.more());
        Self { listed, count }
    }

    /// The problem of a text that is no document.
    fn of_syntax(&self) -> Option<&Problem> {
        let first = self.listed.first()?;
        first.path.is_empty().then_some(first)
    }

    fn text(&self, start: &str) -> Report {
        let mut report = Report::default();
        for Problem { path, words, .. } in &self.listed {
            let words = one_line(words);
            let path = one_line(path);
            let (path, rest) = match words.strip_prefix(&path) {
                Some(rest) => (path.as_str(), rest),
                None => ("", words.as_str()),
            };
            report = report
                .with(Style::Plain, one_line(start))
                .with(Style::Problem, path)
                .with(Style::Plain, format!("{rest}\n"));
        }
        match self.count.saturating_sub(self.listed.len()) {
            0 => report,
            more => report.with(
                Style::Plain,
                format!("{}and {more} more\n", one_line(start)),
            ),
        }
    }
}

impl From<Syntactic> for Problems {
    fn from(Syntactic { problem, place }: Syntactic) -> Self {
        let words: Vec<&str> = problem.split_whitespace().collect();
        let problem = Problem {
            path: String::new(),
            words: words.join(" "),
            place,
        };
        Self {
            listed: vec![problem],
            count: 1,
        }
    }
}

impl Problem {
    fn json(&self) -> Value {
        let (line, column) = self.place.unzip();
        json!({"path": self.path, "problem": self.words, "line": line, "column": column})
    }
}
