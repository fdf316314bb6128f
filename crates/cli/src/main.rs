//! `http-retry`: a program for those who operate services that retry by a document of http-retry.

mod arguments;
mod check;
mod diff;
mod document;
mod effective;
mod explain;
mod replay;
mod report;
mod storm;
mod units;

use arguments::{Arguments, Command};
use clap::Parser;
use clap::error::ErrorKind;
use report::{Failure, Report};
use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return unusable(&error),
    };
    let result = match &arguments.command {
        Command::Check(arguments) => check::run(arguments),
        Command::Explain(arguments) => explain::run(arguments),
        Command::Diff(arguments) => diff::run(arguments),
        Command::Replay(arguments) => replay::run(arguments),
        Command::Storm(arguments) => storm::run(arguments),
    };
    match result {
        Ok(report) => print(&report),
        Err(Failure { code, line }) => {
            tell(format_args!("http-retry: {line}"));
            ExitCode::from(code)
        }
    }
}

/// Prints a report. A reader that has gone, such as `head`, is no failure.
fn print(report: &Report) -> ExitCode {
    match io::stdout().write_all(report.text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            tell(format_args!("http-retry: stdout: {error}"));
            return ExitCode::from(report::UNUSABLE);
        }
        _ => {}
    }
    match &report.problem {
        Some(problem) => {
            tell(format_args!("http-retry: {problem}"));
            ExitCode::from(report::PROBLEM)
        }
        None => ExitCode::SUCCESS,
    }
}

/// Prints the help that was asked for, or one line on what is wrong with the arguments.
fn unusable(error: &clap::Error) -> ExitCode {
    let text = error.to_string();
    if !error.use_stderr() {
        // A reader that has gone is no failure.
        let _ = io::stdout().write_all(text.as_bytes());
        return ExitCode::SUCCESS;
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        tell(format_args!(
            "http-retry: name a command: check, explain, diff, replay or storm"
        ));
        return ExitCode::from(report::UNUSABLE);
    }
    // The lines below are a usage and hints, which --help has too.
    let is_hint = |line: &&str| {
        ["Usage:", "tip:", "For more"]
            .iter()
            .any(|hint| line.starts_with(hint))
    };
    let lines = text
        .lines()
        .map(str::trim)
        .take_while(|line| !is_hint(line));
    let words: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    let line = words.join(" ");
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    tell(format_args!("http-retry: {line}"));
    ExitCode::from(report::UNUSABLE)
}

/// Prints a line on stderr, if anybody can read it.
fn tell(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{}", report::one_line(&line.to_string()));
}
