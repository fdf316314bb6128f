//! `explain`: the policy that a request meets.

use crate::arguments::{Form, Subject, Target};
use crate::document::{self, Reading};
use crate::effective::{self, Wait};
use crate::report::{Failure, Report, Style};
use crate::units::short;
use clap::Args;
use http_retry::config::RetryConfig;
use http_retry::services::RouteSummary;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Explain the policy that a request meets: its rules, the wait before each attempt, and the worst case
///
/// Without --url and --service, every service and route of the document is explained.
#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    /// The document; - is stdin
    file: PathBuf,

    #[command(flatten)]
    target: Target,

    /// The form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Form,

    #[command(flatten)]
    reading: Reading,
}

pub(crate) fn run(arguments: &ExplainArguments) -> Result<Report, Failure> {
    let (source, config) = document::load(&arguments.file, &arguments.reading)?;
    let entries = config.routes();
    if !arguments.target.is_given() {
        return Ok(match arguments.format {
            Form::Text => {
                let mut report = Report::default();
                for (index, entry) in entries.iter().enumerate() {
                    let gap = if index > 0 { "\n" } else { "" };
                    report = report.with(Style::Plain, gap).and(text(entry));
                }
                report
            }
            Form::Json => {
                let entries: Vec<Value> = entries.iter().map(effective::json).collect();
                Report::json(&json!({"entries": entries}))
            }
        });
    }
    let subject = arguments.target.subject(&config, &source.tree)?;
    let entry = entry_of(&subject, &config);
    Ok(match arguments.format {
        Form::Text => {
            let text = entry.as_ref().map(text).unwrap_or_default();
            Report::text(format!("{}\n\n", subject.words())).and(text)
        }
        Form::Json => {
            let entry = entry.as_ref().map(effective::json);
            Report::json(&json!({"request": subject.json(), "entry": entry}))
        }
    })
}

/// The entry whose policy the request meets.
pub(crate) fn entry_of(subject: &Subject, config: &RetryConfig) -> Option<RouteSummary> {
    let route = subject.route(config);
    let name = route.service.as_deref();
    let explained = route.policy().explain();
    let mut entries = config.routes().into_iter();
    entries.find(|entry| entry.service.as_deref() == name && entry.policy.explain() == explained)
}

fn text(entry: &RouteSummary) -> Report {
    let policy = without_schedule(&entry.policy.explain());
    let waits = effective::schedule(&entry.policy);
    let waits: Vec<String> = waits.iter().map(line).collect();
    let waits = if waits.is_empty() {
        "  none: there are no retries".to_owned()
    } else {
        waits.join("\n")
    };
    let worst = &entry.worst_case;
    let name = format!("{}\n", effective::name(entry));
    let costs = format!(
        "budget: {}\nworst case, failovers included: {} attempts, {}\nown waits:\n{waits}\npolicy {policy}",
        effective::budget(entry),
        effective::attempts(worst),
        effective::time(worst),
    );
    Report::default()
        .with(Style::Title, name)
        .with(Style::Plain, costs)
}

/// The explanation of a policy without the longest waits, which stand above with the shortest ones.
fn without_schedule(policy: &str) -> String {
    let is_wait = |line: &&str| {
        let after_name = line.strip_prefix("  retry ");
        let is_listed = after_name.is_some_and(|rest| rest.contains(": after at most "));
        is_listed || line.starts_with("  and so on")
    };
    let lines = policy.lines().filter(|line| !is_wait(line));
    lines.map(|line| format!("{line}\n")).collect()
}

fn line(wait: &Wait) -> String {
    let attempt = wait.retry.saturating_add(1);
    let (least, most) = (short(wait.least), short(wait.most));
    if least == most {
        format!("  before attempt {attempt}: {most}")
    } else {
        format!("  before attempt {attempt}: {least} to {most}")
    }
}
