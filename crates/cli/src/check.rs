//! `check`: the problems of a document.

use crate::arguments::Form;
use crate::document::{Names, Source};
use crate::effective;
use crate::report::{Failure, Report, Table, one_line};
use clap::Args;
use http_retry::config::{ConfigErrors, RetryConfig};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// List every problem of a document, each with its path, line and column
///
/// The problems go to stdout, one per line, and one line about them to stderr. A good document is shown as a table: the
/// most attempts and the longest time of one request, and the budget, of every service and route.
#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// The document
    file: PathBuf,

    /// The form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Form,

    #[command(flatten)]
    names: Names,
}

pub(crate) fn run(arguments: &CheckArguments) -> Result<Report, Failure> {
    let source = Source::read(&arguments.file)?;
    let report = match source.check(&arguments.names) {
        Ok(config) => good(&arguments.file, &config, arguments.format),
        Err(problems) => bad(&arguments.file, &source.locate(problems), arguments.format),
    };
    Ok(report)
}

fn good(file: &Path, config: &RetryConfig, form: Form) -> Report {
    let entries = config.routes();
    let services: BTreeSet<&str> = entries
        .iter()
        .filter_map(|entry| entry.service.as_deref())
        .collect();
    if form == Form::Json {
        let entries: Vec<Value> = entries.iter().map(effective::json).collect();
        return Report::json(&json!({"file": file, "problems": [], "entries": entries}));
    }
    let mut table = Table::new(&["service/route", "attempts", "longest time", "budget"]);
    for entry in &entries {
        table.row([
            effective::name(entry),
            effective::attempts(&entry.worst_case),
            effective::time(&entry.worst_case),
            effective::budget(entry),
        ]);
    }
    let plural = if services.len() == 1 { "" } else { "s" };
    let count = services.len();
    Report::good(format!(
        "{}: good, {count} service{plural}\n\n{table}",
        one_line(&file.display().to_string())
    ))
}

fn bad(file: &Path, problems: &ConfigErrors, form: Form) -> Report {
    let count = problems.iter().count().saturating_add(problems.more());
    let plural = if count == 1 { "" } else { "s" };
    let line = format!("{}: {count} problem{plural}", file.display());
    let report = match form {
        Form::Text => {
            let lines = problems
                .iter()
                .map(|problem| one_line(&problem.to_string()));
            let more = Some(problems.more()).filter(|more| *more > 0);
            let lines = lines.chain(more.map(|more| format!("and {more} more")));
            Report::good(lines.collect::<Vec<_>>().join("\n") + "\n")
        }
        Form::Json => {
            let problems: Vec<Value> = problems
                .iter()
                .map(|problem| {
                    let (line, column) = problem.place().unzip();
                    let words = problem.to_string();
                    json!({"path": problem.field(), "problem": words, "line": line, "column": column})
                })
                .collect();
            Report::json(&json!({"file": file, "problems": problems, "count": count}))
        }
    };
    report.with_problem(Some(line))
}
