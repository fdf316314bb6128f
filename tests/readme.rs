//! The blocks of code of the README, each built in a package that has exactly the dependencies that the README lists.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test says what went wrong by panicking"
)]

use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::{env, fs};
use toml::{Table, Value};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const README: &str = include_str!("../README.md");

#[test]
fn each_block_builds_with_the_dependencies_that_are_listed() {
    let lists = blocks("toml");
    let programs = blocks("rust");
    assert!(lists.len() >= 2 && programs.len() >= 3, "{README}");
    let results: Vec<_> = lists
        .iter()
        .enumerate()
        .map(|(number, list)| build(number, list, &programs))
        .collect();
    for (list, (errors, _)) in lists.iter().zip(&results) {
        assert!(
            errors.len() < programs.len(),
            "no block builds with\n{list}{errors:#?}"
        );
    }
    for (number, program) in programs.iter().enumerate() {
        let name = format!("block{number}");
        let builds = results
            .iter()
            .any(|(errors, _)| !errors.contains_key(&name));
        assert!(builds, "{program}\nneeds more than is listed: {results:#?}");
    }
}

/// The blocks of this language, whatever else stands behind its name.
fn blocks(language: &str) -> Vec<&'static str> {
    let fenced = README.split("\n```").skip(1).step_by(2);
    let blocks = fenced.filter_map(|block| block.split_once('\n'));
    let is_wanted = |info: &str| info.split(',').next() == Some(language);
    let wanted = blocks.filter(|(info, _)| is_wanted(info));
    wanted.map(|(_, code)| code).collect()
}

/// Builds each block as a program of one package, and returns the first error of each that does not build, and the log.
fn build(number: usize, list: &str, programs: &[&str]) -> (BTreeMap<String, String>, String) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("readme{number}"));
    fs::create_dir_all(folder.join("src/bin")).unwrap();
    for (number, program) in programs.iter().enumerate() {
        let end = if program.contains("fn main") {
            ""
        } else {
            "\nfn main() {}\n"
        };
        let text = format!("#![allow(dead_code)]\n{program}{end}");
        fs::write(folder.join(format!("src/bin/block{number}.rs")), text).unwrap();
    }
    fs::write(folder.join("Cargo.toml"), manifest(list)).unwrap();
    // The versions that this workspace is tested with, which are there without a network.
    fs::copy(
        Path::new(ROOT).join("Cargo.lock"),
        folder.join("Cargo.lock"),
    )
    .unwrap();
    check(&folder)
}

/// A package outside of the workspace, with this list, and with http-retry as it is here.
fn manifest(list: &str) -> String {
    let mut manifest: Table = list.parse().unwrap();
    let dependencies = manifest["dependencies"].as_table_mut().unwrap();
    let listed = dependencies.remove("http-retry").unwrap();
    let mut own = match listed {
        Value::Table(own) => own,
        version => Table::from_iter([("version".to_owned(), version)]),
    };
    own.insert("path".to_owned(), ROOT.into());
    dependencies.insert("http-retry".to_owned(), own.into());
    let package = [
        ("name", "readme"),
        ("version", "0.0.0"),
        ("edition", "2024"),
    ];
    let package = package.map(|(key, value)| (key.to_owned(), value.into()));
    manifest.insert("package".to_owned(), Table::from_iter(package).into());
    manifest.insert("workspace".to_owned(), Table::new().into());
    let workspace: Table = fs::read_to_string(Path::new(ROOT).join("Cargo.toml"))
        .unwrap()
        .parse()
        .unwrap();
    // With the same profile, what the workspace has built need not be built again.
    manifest.insert("profile".to_owned(), workspace["profile"].clone());
    manifest.to_string()
}

fn check(folder: &Path) -> (BTreeMap<String, String>, String) {
    let output = Command::new(env::var("CARGO").expect("cargo runs this test"))
        .args([
            "check",
            "--offline",
            "--bins",
            "--keep-going",
            "--message-format",
            "json",
        ])
        .env(
            "CARGO_TARGET_DIR",
            Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap(),
        )
        .current_dir(folder)
        .output()
        .unwrap();
    let log = String::from_utf8(output.stderr).unwrap();
    let mut errors = BTreeMap::new();
    let mut built = Vec::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let line: Json = serde_json::from_str(line).unwrap();
        let name = line["target"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        if !name.starts_with("block") {
            continue;
        }
        if line["reason"] == "compiler-artifact" {
            built.push(name);
        } else if line["message"]["level"] == "error" {
            let text = line["message"]["rendered"].as_str().unwrap();
            errors.entry(name).or_insert_with(|| text.to_owned());
        }
    }
    assert_eq!(built.len() + errors.len(), blocks("rust").len(), "{log}");
    (errors, log)
}
