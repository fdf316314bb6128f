//! The storms that the README tells of, held against the program.

use super::run;
use std::fs;

const README: &str = include_str!("../../../../README.md");

/// Returns what the program prints about a storm with the README's document, without the line about the request.
fn storm(arguments: &[&str]) -> Vec<String> {
    let file = format!(
        "{}/readme{}.yaml",
        env!("CARGO_TARGET_TMPDIR"),
        arguments.len()
    );
    fs::write(&file, "{version: 1, retry: background}").unwrap();
    let outcome = run(&[&["storm", &file], arguments].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    lines(&outcome.stdout).split_off(2)
}

fn lines(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| line.trim_end().to_owned());
    lines.collect()
}

#[test]
fn the_readme_shows_the_limit_as_the_program_prints_it() {
    let (_, shown) = README.split_once("\n```text\n").unwrap();
    let (shown, _) = shown.split_once("```\n").unwrap();
    assert_eq!(lines(shown), storm(&["--limit", "500/10s"]));
}

#[test]
fn a_stall_is_as_the_readme_says() {
    let printed = storm(&["--rate", "800/s", "--stall"]);
    let row = |label: &str| {
        let mut rows = printed.iter().filter_map(|line| line.strip_prefix(label));
        rows.next().unwrap().trim().to_owned()
    };
    let attempts = row("attempts per call in the outage");
    let attempts: Vec<&str> = attempts.split_whitespace().collect();
    assert_eq!(attempts, ["1.00", "1.01", "3.41"]);
    assert!(row("well again after").ends_with("not in 1m 20s"));
}
