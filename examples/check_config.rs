//! Says what a document means, or what is wrong with it.
//!
//! `cargo run --all-features --example check_config -- retries.yaml`

#[path = "check_config/table.rs"]
mod table;
#[path = "check_config/words.rs"]
mod words;

use anyhow::{Context, bail};
use clap::Parser;
use http_retry::config::{ConfigErrors, Document, RetryConfig};
use http_retry::fleet::Fleet;
use http_retry::report::DeadLetter;
use http_retry::services::RouteSummary;
use std::fmt;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use table::Table;
use words::{attempts, budget, place, rule, schedule, time};

/// Says what a document means: the effective policy of each service and route. Or what is wrong with it: each problem
/// with its place, on stderr.
///
/// The exit code is 0 if the document is good, 1 if it is not, and 2 if it cannot be read.
#[derive(Parser)]
#[command(name = "check_config", after_help = HELP)]
struct Arguments {
    /// Explain each policy in full: its schedule, its worst case, and where each field came from
    #[arg(long)]
    explain: bool,

    /// An observer that the program brings, for `on_exhausted: {dead_letter: NAME}`; may be repeated
    #[arg(long, value_name = "NAME")]
    dead_letter: Vec<String>,

    /// A schedule that the program brings, for `backoff: {custom: NAME}`; may be repeated. Its delays are not known here,
    /// and count as long as max_delay lets them be
    #[arg(long, value_name = "NAME")]
    backoff: Vec<String>,

    /// A fleet that the program brings, for `fleet: {use: NAME}`; may be repeated
    #[arg(long, value_name = "NAME")]
    fleet: Vec<String>,

    /// The document, by the ending of its name YAML (.yaml, .yml), TOML (.toml) or JSON (.json)
    file: PathBuf,
}

const HELP: &str = "\
The columns:
  attempts    how often one request reaches a server at most: the worst-case amplification, rules and failovers included
  schedule    the longest wait before each retry, and the jitter
  worst case  how long one request takes at most, and how long where servers ask for waits
  budget      its name; the tokens it starts with, of how many it holds
  rules       each rule with its verdict";

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let document = match read(&arguments.file) {
        Ok(document) => document,
        Err(error) => {
            tell(format_args!("check_config: {error:#}"));
            return ExitCode::from(2);
        }
    };
    match load(&arguments, &document) {
        Ok(config) => show(&arguments, &config),
        Err(problems) => {
            for problem in problems.iter() {
                tell(format_args!("{problem}"));
            }
            ExitCode::FAILURE
        }
    }
}

fn read(file: &Path) -> anyhow::Result<Document> {
    let name = file.display();
    let ending = file.extension().and_then(|ending| ending.to_str());
    let parse: fn(&str) -> anyhow::Result<Document> = match ending {
        Some("yaml" | "yml") => |text| Ok(Document::from_text(text, serde_yaml_ng::from_str)?),
        Some("toml") => |text| Ok(Document::from_text(text, toml::from_str)?),
        Some("json") => |text| Ok(Document::from_text(text, serde_json::from_str)?),
        _ => bail!("{name}: its name must end in .yaml, .yml, .toml or .json"),
    };
    let text = fs::read_to_string(file).with_context(|| name.to_string())?;
    parse(&text).with_context(|| name.to_string())
}

/// Loads the document with stand-ins for what the program brings.
fn load(arguments: &Arguments, document: &Document) -> Result<RetryConfig, ConfigErrors> {
    let mut builder = RetryConfig::builder();
    for name in &arguments.dead_letter {
        builder = builder.dead_letters(name.as_str(), |_: &DeadLetter<'_>| {});
    }
    for name in &arguments.backoff {
        let unknown = |_: serde_json::Value| |_: u32| Duration::MAX;
        builder = builder.backoff(name.as_str(), unknown);
    }
    for name in &arguments.fleet {
        if let Ok(fleet) = Fleet::redis("redis://of.the.program") {
            builder = builder.fleet(name.as_str(), &fleet);
        }
    }
    builder.load(document)
}

fn show(arguments: &Arguments, config: &RetryConfig) -> ExitCode {
    let routes = config.routes();
    let routes = if arguments.explain {
        routes.iter().map(explained).collect::<Vec<_>>().join("\n")
    } else {
        summary(&routes).to_string()
    };
    let text = format!("{}{routes}", fleet(config));
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            tell(format_args!(
                "check_config: cannot write to stdout: {error}"
            ));
            ExitCode::from(2)
        }
        _ => ExitCode::SUCCESS,
    }
}

fn summary(routes: &[RouteSummary]) -> Table {
    let mut table = Table::new([
        ("service/route", 22),
        ("attempts", 10),
        ("schedule", 20),
        ("worst case", 20),
        ("budget", 14),
        ("rules", 24),
    ]);
    for route in routes {
        let rules: Vec<String> = route.rules.iter().map(rule).collect();
        table.row([
            place(route),
            attempts(route),
            schedule(&route.policy),
            time(route),
            budget(route),
            rules.join("\n"),
        ]);
    }
    table
}

/// What is shared with other processes, and where.
fn fleet(config: &RetryConfig) -> String {
    let fleet = config.fleet();
    fleet.map_or_else(String::new, |fleet| format!("fleet: {fleet}\n\n"))
}

fn explained(route: &RouteSummary) -> String {
    format!("{}\n{}", place(route), route.policy.explain())
}

/// One line on stderr; nothing if nobody can read it.
fn tell(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{line}");
}
