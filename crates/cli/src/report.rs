//! The results of a command: a report, and the columns of text in it, or a failure.

use anstyle::AnsiColor;
use std::fmt;
use std::io;

/// The exit code if the document has problems, or the service does not recover under it.
pub(crate) const PROBLEM: u8 = 1;
/// The exit code if the arguments or the input cannot be used.
pub(crate) const UNUSABLE: u8 = 2;

/// The text of a command.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// For stdout, in order, without a character that a terminal would obey.
    parts: Vec<(Style, String)>,
    /// Lines for stderr that are no problem.
    pub(crate) notes: Vec<String>,
    /// A line for stderr; with it the exit code is [`PROBLEM`].
    pub(crate) problem: Option<String>,
}

/// The look of a text on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Title,
    Added,
    Warning,
    Problem,
}

impl Report {
    /// A report of this text.
    pub(crate) fn text(text: String) -> Self {
        Self::default().with(Style::Plain, text)
    }

    /// A report of this JSON.
    pub(crate) fn json(value: &serde_json::Value) -> Self {
        // JSON may hold some of these as they are, which a terminal obeys nevertheless.
        let text = escaped(
            format!("{value:#}\n"),
            |c| c != '\n' && is_control(c),
            |c| format!("\\u{:04x}", u32::from(c)),
        );
        Self::text(text)
    }

    /// A report of a text that no document is part of, as it is.
    pub(crate) fn own(text: String) -> Self {
        Self {
            parts: vec![(Style::Plain, text)],
            ..Self::default()
        }
    }

    /// Adds a text.
    pub(crate) fn with(mut self, style: Style, text: impl Into<String>) -> Self {
        self.parts.push((style, visible(&text.into())));
        self
    }

    /// Adds a table, with its titles as such.
    pub(crate) fn with_table(self, table: &Table) -> Self {
        let text = table.to_string();
        let end = text
            .find('\n')
            .map_or(text.len(), |end| end.saturating_add(1));
        let (titles, rows) = text.split_at(end);
        self.with(Style::Title, titles).with(Style::Plain, rows)
    }

    /// Adds what another report says.
    pub(crate) fn and(mut self, mut other: Self) -> Self {
        self.parts.append(&mut other.parts);
        self.notes.append(&mut other.notes);
        self.problem = self.problem.or(other.problem);
        self
    }

    pub(crate) fn with_note(mut self, note: Option<String>) -> Self {
        self.notes.extend(note);
        self
    }

    pub(crate) fn with_problem(self, problem: Option<String>) -> Self {
        Self { problem, ..self }
    }

    /// Writes the text, with the codes of its styles.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub(crate) fn write(&self, to: &mut impl io::Write) -> io::Result<()> {
        for (style, text) in &self.parts {
            style.write(to, text)?;
        }
        to.flush()
    }
}

impl Style {
    /// Writes a text in this style. Lines end in none, so that it can be cut between lines.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub(crate) fn write(self, to: &mut impl io::Write, text: &str) -> io::Result<()> {
        let codes = match self {
            Self::Plain => return to.write_all(text.as_bytes()),
            Self::Title => anstyle::Style::new().bold(),
            Self::Added => AnsiColor::Green.on_default(),
            Self::Warning => AnsiColor::Yellow.on_default(),
            Self::Problem => AnsiColor::Red.on_default().bold(),
        };
        for line in text.split_inclusive('\n') {
            let (line, end) = match line.strip_suffix('\n') {
                Some(line) => (line, "\n"),
                None => (line, ""),
            };
            if line.is_empty() {
                to.write_all(end.as_bytes())?;
            } else {
                write!(to, "{codes}{line}{codes:#}{end}")?;
            }
        }
        Ok(())
    }
}

/// A text of a document, without a character that a terminal would obey but the end of a line.
pub(crate) fn visible(text: &str) -> String {
    escaped(
        text.to_owned(),
        |c| c != '\n' && is_control(c),
        |c| c.escape_default().to_string(),
    )
}

/// A text of a document on one line, without a character that a terminal would obey.
pub(crate) fn one_line(text: &str) -> String {
    escaped(text.to_owned(), is_control, |c| {
        c.escape_default().to_string()
    })
}

/// A number of things: `1 problem`, `2 problems`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// A control character, or one that breaks a line, or changes the direction of what follows.
fn is_control(c: char) -> bool {
    let formats = matches!(
        c,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}'
    );
    formats || c.is_control()
}

fn escaped(text: String, wanted: impl Fn(char) -> bool, escape: impl Fn(char) -> String) -> String {
    if !text.contains(&wanted) {
        return text;
    }
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if wanted(c) {
            safe.push_str(&escape(c));
        } else {
            safe.push(c);
        }
    }
    safe
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
    pub(crate) fn of_input(name: &str, cause: impl fmt::Display) -> Self {
        let cause = cause.to_string();
        let words: Vec<&str> = cause.split_whitespace().collect();
        Self {
            code: UNUSABLE,
            line: format!("{name}: {}", words.join(" ")),
        }
    }

    /// A document has problems, this one at this line and column, and so many more.
    pub(crate) fn of_document(
        file: &str,
        place: Option<(usize, usize)>,
        first: &str,
        more: usize,
    ) -> Self {
        let place = place.map(|(line, column)| format!(":{line}:{column}"));
        let place = place.unwrap_or_default();
        let more = match more {
            0 => String::new(),
            more => format!(" (and {more} more: http-retry check {file})"),
        };
        Self {
            code: PROBLEM,
            line: format!("{file}{place}: {first}{more}"),
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

/// Rows of cells below titles. Every column is as wide as its widest cell.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(titles: &[&str]) -> Self {
        let titles = titles.iter().map(|title| (*title).to_owned());
        Self {
            rows: vec![titles.collect()],
        }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells = cells.into_iter().map(|cell| one_line(&cell));
        self.rows.push(cells.collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells
                .map(|cell| cell.chars().count())
                .max()
                .unwrap_or_default()
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.rows {
            let cells = row.iter().zip(&widths);
            let cells: Vec<String> = cells
                .map(|(cell, width)| format!("{cell:width$}"))
                .collect();
            writeln!(f, "{}", cells.join("  ").trim_end())?;
        }
        Ok(())
    }
}
