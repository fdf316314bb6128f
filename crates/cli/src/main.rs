//! `http-retry`: a program for those who operate services that retry by a document of http-retry.

mod arguments;
mod check;
mod diff;
mod document;
mod effective;
mod explain;
mod replay;
mod report;
mod shell;
mod storm;
mod units;

use arguments::{Arguments, Command};
use clap::Parser;
use clap::error::ErrorKind;
use http_retry::config::RetryConfig;
use report::{Failure, Report, Style};
use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return unusable(&error),
    };
    let result = match &arguments.command {
        // A page that runs the program has neither, and loads less without what uses them.
        Command::Diff(_) | Command::Replay(_) | Command::Completions(_) | Command::Man(_)
            if cfg!(target_family = "wasm") =>
        {
            let cause =
                "there are no files and no shell here: name check, explain, storm or schema";
            Err(Failure::of_input("command", cause))
        }
        Command::Check(arguments) => check::run(arguments),
        Command::Explain(arguments) => explain::run(arguments),
        Command::Diff(arguments) => diff::run(arguments),
        Command::Replay(arguments) => replay::run(arguments),
        Command::Storm(arguments) => storm::run(arguments),
        Command::Schema => Ok(Report::own(RetryConfig::json_schema() + "\n")),
        Command::Completions(arguments) => Ok(shell::completions(arguments)),
        Command::Man(arguments) => shell::man(arguments),
    };
    match result {
        Ok(report) => print(&report),
        Err(Failure { code, line }) => {
            tell(Style::Problem, &line);
            ExitCode::from(code)
        }
    }
}

/// Prints a report, in colour on a terminal unless `NO_COLOR` is set. A reader that has gone, such as `head`, is no
/// failure.
fn print(report: &Report) -> ExitCode {
    match report.write(&mut anstream::stdout().lock()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            tell(Style::Problem, &format!("stdout: {error}"));
            return ExitCode::from(report::UNUSABLE);
        }
        _ => {}
    }
    for note in &report.notes {
        tell(Style::Title, note);
    }
    match &report.problem {
        Some(problem) => {
            tell(Style::Problem, problem);
            ExitCode::from(report::PROBLEM)
        }
        None => ExitCode::SUCCESS,
    }
}

/// Prints the help that was asked for, or one line on what is wrong with the arguments.
fn unusable(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        // A reader that has gone is no failure.
        let _ = write!(anstream::stdout(), "{}", error.render().ansi());
        return ExitCode::SUCCESS;
    }
    let line = if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        "name a command: check, explain, diff, replay, storm, schema, completions or man".to_owned()
    } else {
        misuse(&error.to_string())
    };
    tell(Style::Problem, &line);
    ExitCode::from(report::UNUSABLE)
}

/// The mistake in the arguments, and the tips for it, on one line.
fn misuse(text: &str) -> String {
    // The lines below are a usage, which --help has too.
    let is_usage = |line: &&str| {
        ["Usage:", "For more"]
            .iter()
            .any(|start| line.starts_with(start))
    };
    let lines = text
        .lines()
        .map(str::trim)
        .take_while(|line| !is_usage(line));
    let (tips, words): (Vec<&str>, Vec<&str>) = lines
        .filter(|line| !line.is_empty())
        .partition(|line| line.starts_with("tip:"));
    let line = words.join(" ");
    let line = line.strip_prefix("error: ").unwrap_or(&line);
    let tips = tips.iter().map(|tip| format!(" ({tip})"));
    tips.fold(line.to_owned(), |line, tip| line + &tip)
}

/// Prints a line on stderr, if anybody can read it.
fn tell(style: Style, line: &str) {
    let mut stderr = anstream::stderr().lock();
    let _ = style.write(&mut stderr, "http-retry:");
    let _ = writeln!(stderr, " {}", report::one_line(line));
}
