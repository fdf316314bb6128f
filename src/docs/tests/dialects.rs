//! The table of dialects, held against the dialects.

use super::tables::{table, words};
use crate::dialect::Dialect;

const PAGE: &str = include_str!("../dialects.md");

#[test]
fn the_page_has_a_row_for_each_dialect() {
    let rows = table(PAGE, "## The built-in tables", 0);
    let said: Vec<[String; 4]> = rows
        .iter()
        .map(|row| {
            let name = words(&row[0]).join(" ");
            [name, row[2].clone(), row[3].clone(), row[4].clone()]
        })
        .collect();
    let are: Vec<[String; 4]> = Dialect::all()
        .map(|dialect| {
            let reads = match (dialect.reads_bodies(), dialect.reads_successes()) {
                (_, true) => "failures, some successes",
                (true, false) => "failures",
                (false, false) => "heads",
            };
            let (name, source) = (dialect.name(), dialect.source());
            let rows = dialect.len().to_string();
            [name.into(), rows, reads.into(), source.into()]
        })
        .collect();
    assert_eq!(said, are, "{}", lines(&are));
}

/// As the page has them, so that they can be copied.
fn lines(dialects: &[[String; 4]]) -> String {
    let lines = dialects.iter();
    let lines =
        lines.map(|[name, rows, reads, source]| format!("{name}|{rows}|{reads}|{source}\n"));
    lines.collect()
}
