//! The results of a command: a report, or a failure.

use std::path::Path;

/// The exit code if the document has problems, or the service does not recover under it.
pub(crate) const PROBLEM: u8 = 1;
/// The exit code if the arguments or the input cannot be used.
pub(crate) const UNUSABLE: u8 = 2;

/// The text of a command.
#[derive(Debug)]
pub(crate) struct Report {
    /// For stdout.
    pub(crate) text: String,
    /// A line for stderr; with it the exit code is [`PROBLEM`].
    pub(crate) problem: Option<String>,
}

impl Report {
    pub(crate) fn good(text: String) -> Self {
        Self {
            text,
            problem: None,
        }
    }

    /// A report of this JSON.
    pub(crate) fn json(value: &serde_json::Value) -> Self {
        Self::good(format!("{value:#}\n"))
    }

    pub(crate) fn with_problem(self, problem: Option<String>) -> Self {
        Self { problem, ..self }
    }
}

/// A command that could not do its work.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    /// One line for stderr.
    pub(crate) line: String,
}

impl Failure {
    /// The input cannot be used: its name, and the cause.
    pub(crate) fn of_input(name: &str, cause: impl std::fmt::Display) -> Self {
        let cause = cause.to_string();
        let words: Vec<&str> = cause.split_whitespace().collect();
        Self {
            code: UNUSABLE,
            line: format!("{name}: {}", words.join(" ")),
        }
    }

    /// A document has problems, this one and so many more.
    pub(crate) fn of_document(file: &Path, first: &str, more: usize) -> Self {
        let file = file.display();
        let more = match more {
            0 => String::new(),
            more => format!(" (and {more} more: http-retry check {file})"),
        };
        Self {
            code: PROBLEM,
            line: format!("{file}: {first}{more}"),
        }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        let words = format!("{error:#}");
        let words: Vec<&str> = words.split_whitespace().collect();
        Self {
            code: UNUSABLE,
            line: words.join(" "),
        }
    }
}
