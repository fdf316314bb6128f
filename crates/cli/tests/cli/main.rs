//! The built program, as an operator calls it.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test says what went wrong by panicking"
)]

mod check;
mod diff;
mod explain;
mod hostile;
mod input;
mod misuse;
mod page;
mod readme;
mod replay;
mod shell;
mod storm;
mod terminal;

use serde_json::Value;
use std::io::Write;
use std::process::{Command, Stdio};

/// The documents that the repository shows.
const SHOWN: [&str; 5] = [
    "job_store",
    "rule_engine",
    "task_runner",
    "three_apis",
    "workflow_engine",
];
/// The options for the names that the programs around them bring.
const BROUGHT: [&str; 4] = ["--dead-letter", "failed", "--dead-letter", "payment_failed"];

/// The end of a run of the program.
struct Outcome {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Outcome {
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap()
    }
}

fn run(arguments: &[&str]) -> Outcome {
    run_with(arguments, "")
}

fn run_with(arguments: &[&str], stdin: &str) -> Outcome {
    let mut child = Command::new(env!("CARGO_BIN_EXE_http-retry"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that fails early does not read.
    let _ = child.stdin.take().unwrap().write_all(stdin.as_bytes());
    let output = child.wait_with_output().unwrap();
    Outcome {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A document of the repository.
fn shown(name: &str) -> String {
    format!(
        "{}/../../examples/config/{name}.yaml",
        env!("CARGO_MANIFEST_DIR")
    )
}

/// A document of these tests.
fn document(name: &str) -> String {
    format!("{}/tests/cli/documents/{name}", env!("CARGO_MANIFEST_DIR"))
}
