//! The functions of the family, and their files, that one call runs through.
//!
//! ```text
//! cargo test --all-features --bench functions
//! ```
//!
//! With `-- --list` it names them. A test build, since its functions are not inlined. It runs itself under valgrind's callgrind, and is skipped if that is not
//! installed. The making of the client does not count, nor do the functions that drop a value.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints, and says what went wrong by panicking"
)]

use futures_util::FutureExt;
use http_retry::RetryPolicy;
use http_retry::reqwest::RetryMiddleware;
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::process::Command;
use tower::{Layer, ServiceExt};

const CASE: &str = "--case";
const URL: &str = "http://api.example/a";

/// A function and its file.
type Function = (String, String);

fn main() {
    let mut args = env::args().skip_while(|arg| arg != CASE).skip(1);
    if let Some((stack, statuses)) = args.next().zip(args.next()) {
        return call(&stack, &statuses);
    }
    // Of an optimized build most functions are gone.
    if env::args().any(|arg| arg == "--bench") {
        return;
    }
    let valgrind = Command::new("valgrind").arg("--version").output();
    if !valgrind.is_ok_and(|version| version.status.success()) {
        return println!("functions of one call: skipped, valgrind is not installed");
    }
    println!("functions of one call, and their files");
    for stack in ["tower", "reqwest"] {
        let setup = functions(stack, "");
        for statuses in ["200", "503,200"] {
            let found: BTreeSet<Function> = &functions(stack, statuses) - &setup;
            let files: BTreeSet<&str> = found.iter().map(|(file, _)| &**file).collect();
            let (functions, files) = (found.len(), files.len());
            let closures = found
                .iter()
                .filter(|(_, name)| name.contains("{{closure}}"));
            let closures = closures.count();
            println!(
                "{stack} {statuses}: {functions} functions, of which {closures} are closures, in {files} files"
            );
            if env::args().any(|arg| arg == "--list") {
                for (file, name) in &found {
                    println!("  {file} {name}");
                }
            }
        }
    }
}

/// Makes a client, and sends one request if there are statuses to answer it with.
fn call(stack: &str, statuses: &str) {
    let statuses = statuses.split(',').filter_map(|status| status.parse().ok());
    let statuses: Vec<u16> = statuses.collect();
    let script = statuses
        .iter()
        .fold(Script::new(), |script, status| script.status(*status));
    let status = match stack {
        "tower" => {
            let layer = RetryLayer::new(RetryPolicy::background()).runtime(ManualRuntime::new());
            let service = layer.layer(script);
            if statuses.is_empty() {
                return;
            }
            let request = http::Request::get(URL).body(String::new()).unwrap();
            let response = service.oneshot(request).now_or_never().unwrap();
            response.unwrap().status()
        }
        _ => {
            let retries = RetryMiddleware::new(RetryPolicy::background());
            let retries = retries.runtime(ManualRuntime::new()).redirects_off();
            let client = reqwest_middleware::ClientBuilder::new(reqwest::Client::new());
            let client = client.with(retries).with(script).build();
            if statuses.is_empty() {
                return;
            }
            let response = client.get(URL).send().now_or_never().unwrap();
            response.unwrap().status()
        }
    };
    assert_eq!(status, 200);
}

/// The functions of the family that a process of this program runs through.
fn functions(stack: &str, statuses: &str) -> BTreeSet<Function> {
    let told = env::temp_dir().join(format!("functions.{}", std::process::id()));
    let run = Command::new("valgrind")
        .args([
            "--tool=callgrind",
            "--compress-strings=no",
            "--compress-pos=no",
        ])
        .arg(format!("--callgrind-out-file={}", told.display()))
        .arg(env::current_exe().unwrap())
        .args([CASE, stack, statuses])
        .output()
        .unwrap();
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    let text = fs::read_to_string(&told).unwrap();
    let _ = fs::remove_file(&told);
    let mut file = "";
    let mut found = BTreeSet::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("fl=") {
            file = name;
        } else if let Some(name) = line.strip_prefix("fn=") {
            if is_of_the_family(file) && !name.contains("drop_in_place") {
                found.insert((file.to_owned(), without_hash(name).to_owned()));
            }
        }
    }
    found
}

fn is_of_the_family(file: &str) -> bool {
    let root = env!("CARGO_MANIFEST_DIR");
    let path = file.strip_prefix(root).unwrap_or(file);
    let in_a_crate =
        path.starts_with("/src/") || path.starts_with("/crates/") || path.starts_with("src/");
    in_a_crate && !path.contains("/testing/")
}

/// A name without the hash that the compiler puts at its end.
fn without_hash(name: &str) -> &str {
    match name.rsplit_once("::h") {
        Some((name, hash)) if hash.len() == 16 => name,
        _ => name,
    }
}
