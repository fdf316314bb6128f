//! A table whose cells wrap, so that it stays within the width of a screen.

use std::fmt;

/// Rows of cells below headings; each column has a width that it does not exceed.
pub(super) struct Table<const N: usize = 6> {
    columns: [(&'static str, usize); N],
    rows: Vec<[Vec<String>; N]>,
}

impl<const N: usize> Table<N> {
    pub(super) fn new(columns: [(&'static str, usize); N]) -> Self {
        Self {
            columns,
            rows: Vec::new(),
        }
    }

    pub(super) fn row(&mut self, cells: [String; N]) {
        let mut widths = self.columns.iter();
        let wrapped = cells.map(|cell| {
            let width = widths.next().map_or(usize::MAX, |(_, width)| *width);
            cell.lines().flat_map(|line| wrap(line, width)).collect()
        });
        self.rows.push(wrapped);
    }

    /// As wide as its longest line, and never wider than it may be.
    fn width(&self, column: usize, title: &str) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        let lines = cells.flatten().map(|line| line.chars().count());
        lines.max().unwrap_or_default().max(title.len())
    }
}

impl<const N: usize> fmt::Display for Table<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let titles = self.columns.iter().enumerate();
        let widths: Vec<usize> = titles.map(|(n, (title, _))| self.width(n, title)).collect();
        let titles = self.columns.map(|(title, _)| vec![title.to_owned()]);
        let rule = widths
            .iter()
            .map(|width| vec!["-".repeat(*width)])
            .collect::<Vec<_>>();
        print(f, &widths, &titles)?;
        for (index, row) in self.rows.iter().enumerate() {
            // Rows of several lines need something between them to be told apart.
            if index == 0 || self.rows.iter().flatten().any(|cell| cell.len() > 1) {
                print(f, &widths, &rule)?;
            }
            print(f, &widths, row)?;
        }
        Ok(())
    }
}

fn print(f: &mut fmt::Formatter<'_>, widths: &[usize], cells: &[Vec<String>]) -> fmt::Result {
    let height = cells.iter().map(Vec::len).max().unwrap_or_default();
    for line in 0..height {
        let parts = cells.iter().zip(widths).map(|(cell, width)| {
            let text = cell.get(line).map_or("", String::as_str);
            format!("{text:width$}")
        });
        let parts: Vec<String> = parts.collect();
        writeln!(f, "{}", parts.join("  ").trim_end())?;
    }
    Ok(())
}

/// Lines of at most this width, broken between words where that is possible; later lines are indented.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split(' ') {
        let mut word = word;
        while !fits(&line, word, width) {
            if line.trim().is_empty() {
                let room = width - line.len();
                let cut = word
                    .char_indices()
                    .nth(room)
                    .map_or(word.len(), |(cut, _)| cut);
                let (start, rest) = word.split_at(cut);
                line.push_str(start);
                word = rest;
            }
            lines.push(std::mem::replace(&mut line, "  ".to_owned()));
        }
        if !line.trim().is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

fn fits(line: &str, word: &str, width: usize) -> bool {
    let space = usize::from(!line.trim().is_empty());
    line.chars().count() + space + word.chars().count() <= width
}
