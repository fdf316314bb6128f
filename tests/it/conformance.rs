//! Facts gathered from standards and from other retry systems, held against this crate; see the README beside this file.

mod backoff;
mod budget;
mod classify;
mod fields;
mod llm;
mod presets;
mod rules;
mod server_delay;
mod services;
mod tally;

use serde_json::Value;
use std::env;
use std::path::{Path, PathBuf};
use tally::Tally;

/// What must hold for one case; else, what was wanted and got.
type Check = fn(&Value) -> Result<(), String>;

/// The files of cases, by their names without `.json`.
const FILES: [(&str, Check); 16] = [
    ("backoff", backoff::check),
    ("server_delay", server_delay::check),
    ("classify", classify::check),
    ("budget", budget::check),
    ("presets", presets::check),
    ("rules", rules::check),
    ("services", services::check),
    ("services_2026", services::check),
    ("llm_responses", llm::check),
    ("llm_durations", llm::delays::duration),
    ("llm_message_delays", llm::delays::message),
    ("llm_truncation", llm::truncation::request),
    ("llm_truncation_context_counts", llm::truncation::counts),
    ("llm_truncation_raw_cases", llm::truncation::raw),
    (
        "llm_truncation_side_conditions",
        llm::truncation::side_condition,
    ),
    ("llm_streams", llm::streams::check),
];

const FOLDER: &str = "HTTP_RETRY_CASES";

#[test]
fn every_case_of_every_file_holds() {
    let tallies = run(&folder());
    show(&tallies);
    let failed = tallies.iter().filter(|tally| !tally.holds()).count();
    assert_eq!(failed, 0, "{failed} files of cases do not hold, see above");
}

fn folder() -> PathBuf {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/conformance/cases");
    env::var_os(FOLDER).map_or_else(own, PathBuf::from)
}

fn run(folder: &Path) -> Vec<Tally> {
    let run = FILES
        .iter()
        .map(|(name, check)| Tally::of_file(folder, name, *check));
    run.collect()
}

#[expect(clippy::print_stdout, reason = "the counts are asked for")]
fn show(tallies: &[Tally]) {
    let lines: Vec<String> = tallies.iter().map(ToString::to_string).collect();
    // In one go and on lines of its own, whatever other tests print at the same time.
    println!("\n{}", lines.join("\n"));
}

#[test]
fn a_missing_file_fails_by_its_name() {
    let tallies = run(Path::new("no such folder"));
    assert!(tallies.iter().all(|tally| !tally.holds()));
    let first = tallies[0].to_string();
    assert!(first.starts_with("backoff 0/0"), "{first}");
    assert!(first.contains("backoff.json"), "{first}");
}
