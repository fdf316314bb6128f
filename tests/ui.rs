//! What rustc says of a newcomer's mistakes: each program of `tests/ui/cases` makes one, and names the words that its first
//! error must have near the top.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test says what went wrong by panicking"
)]

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// The lines of an error that a newcomer reads.
const TOP: usize = 16;

/// The program without a mistake: what a newcomer does about each error.
const MENDED: &str = "mended";

#[test]
fn each_mistake_is_named_near_the_top_of_its_error() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (errors, log) = first_errors(root);
    let mut wrong = Vec::new();
    let mut mistakes = 0;
    for entry in fs::read_dir(root.join("tests/ui/cases")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let phrases = text.lines().map_while(|line| line.strip_prefix("//~ "));
        match (errors.get(name), phrases.collect::<Vec<_>>()) {
            (None, phrases) if phrases.is_empty() => assert_eq!(name, MENDED),
            (Some(error), phrases) if !phrases.is_empty() => {
                mistakes += 1;
                let top: Vec<&str> = error.lines().take(TOP).collect();
                let top = top.join("\n");
                let missing = phrases.iter().filter(|phrase| !top.contains(**phrase));
                wrong.extend(missing.map(|phrase| format!("{name}: no \"{phrase}\" in\n{top}\n")));
            }
            (found, phrases) => wrong.push(format!("{name}: {phrases:?}, but {found:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}\n{log}", wrong.join("\n"));
    assert_eq!(mistakes, errors.len());
    assert!(mistakes >= 10, "{log}");
}

/// Builds all programs once, and returns the first error of each by its name, and the log.
fn first_errors(root: &Path) -> (BTreeMap<String, String>, String) {
    let cargo = env::var("CARGO").expect("cargo runs this test");
    let output = Command::new(cargo)
        .args([
            "check",
            "--offline",
            "--package",
            "ui",
            "--features",
            "mistakes",
            "--bins",
        ])
        .args(["--keep-going", "--message-format", "json"])
        .current_dir(root)
        .output()
        .unwrap();
    let mut errors = BTreeMap::new();
    let mut has_mended = false;
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let name = line["target"]["name"].as_str().unwrap_or_default();
        has_mended |= line["reason"] == "compiler-artifact" && name == MENDED;
        if line["message"]["level"] == "error" && line["message"]["code"] != Value::Null {
            let text = line["message"]["rendered"].as_str().unwrap();
            errors
                .entry(name.to_owned())
                .or_insert_with(|| text.to_owned());
        }
    }
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(has_mended, "{errors:?}\n{log}");
    (errors, log)
}
