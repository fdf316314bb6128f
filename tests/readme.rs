//! The blocks of code of the README and of the cookbook, each built in a package that has exactly the dependencies that
//! its page lists.
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

/// A list of dependencies, and the programs that are built with it, by the names of their binaries.
type Package<'a> = (&'a str, BTreeMap<String, String>);

#[test]
fn each_block_of_the_readme_builds_with_a_list_of_its_own() {
    let page = fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap();
    assert_each_block_builds(&[("readme".to_owned(), page)]);
}

#[test]
fn each_recipe_builds_with_the_dependencies_that_it_lists() {
    let folder = Path::new(ROOT).join("src/docs/cookbook");
    let pages = fs::read_dir(folder).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        (name, fs::read_to_string(path).unwrap())
    });
    let pages: Vec<_> = pages.collect();
    assert!(pages.len() >= 16);
    assert_each_block_builds(&pages);
}

/// Builds every block of each page with every list of that page: one list must suffice for a block, and each list must
/// suffice for one.
fn assert_each_block_builds(pages: &[(String, String)]) {
    // Pages with the same list share a package, which is built once.
    let mut packages: BTreeMap<&str, BTreeMap<String, String>> = BTreeMap::new();
    for (page, text) in pages {
        for list in blocks(text, "toml") {
            let programs = packages.entry(list).or_default();
            programs.extend(named(page, text));
        }
    }
    let errors: BTreeMap<&str, BTreeMap<String, String>> = packages
        .into_iter()
        .enumerate()
        .map(|(number, package)| (package.0, build(&pages[0].0, number, package)))
        .collect();
    for (page, text) in pages {
        let (lists, programs) = (blocks(text, "toml"), named(page, text));
        assert!(!lists.is_empty() && !programs.is_empty(), "{page}");
        for list in &lists {
            let built = programs
                .iter()
                .any(|(name, _)| !errors[list].contains_key(name));
            assert!(
                built,
                "no block of {page} builds with\n{list}{:#?}",
                errors[list]
            );
        }
        for (name, program) in &programs {
            let built = lists.iter().any(|list| !errors[list].contains_key(name));
            let errors: Vec<_> = lists.iter().map(|list| errors[list].get(name)).collect();
            assert!(
                built,
                "{program}\nneeds more than {page} lists: {errors:#?}"
            );
        }
    }
}

/// The programs of a page, by the names of their binaries.
fn named(page: &str, text: &str) -> Vec<(String, String)> {
    let programs = blocks(text, "rust").into_iter().enumerate();
    let programs = programs.map(|(number, code)| (format!("{page}{number}"), code.to_owned()));
    programs.collect()
}

/// The blocks of this language, whatever else stands behind its name.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let fenced = page.split("\n```").skip(1).step_by(2);
    let blocks = fenced.filter_map(|block| block.split_once('\n'));
    let is_wanted = |info: &str| info.split(',').next() == Some(language);
    let wanted = blocks.filter(|(info, _)| is_wanted(info));
    wanted.map(|(_, code)| code).collect()
}

/// Builds the programs of a package, and returns the first error of each that does not build.
fn build(page: &str, number: usize, (list, programs): Package<'_>) -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{page}{number}"));
    let _ = fs::remove_dir_all(folder.join("src"));
    fs::create_dir_all(folder.join("src/bin")).unwrap();
    for (name, program) in &programs {
        let end = if program.contains("fn main") {
            ""
        } else {
            "\nfn main() {}\n"
        };
        let text = format!("#![allow(dead_code)]\n{program}{end}");
        fs::write(folder.join(format!("src/bin/{name}.rs")), text).unwrap();
    }
    fs::write(folder.join("Cargo.toml"), manifest(list)).unwrap();
    // The versions that this workspace is tested with, which are there without a network.
    fs::copy(
        Path::new(ROOT).join("Cargo.lock"),
        folder.join("Cargo.lock"),
    )
    .unwrap();
    check(&folder, &programs)
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

fn check(folder: &Path, programs: &BTreeMap<String, String>) -> BTreeMap<String, String> {
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
    let mut built = 0;
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let line: Json = serde_json::from_str(line).unwrap();
        let name = line["target"]["name"].as_str().unwrap_or_default();
        if !programs.contains_key(name) {
            continue;
        }
        if line["reason"] == "compiler-artifact" {
            built += 1;
        } else if line["message"]["level"] == "error" {
            let text = line["message"]["rendered"].as_str().unwrap();
            errors
                .entry(name.to_owned())
                .or_insert_with(|| text.to_owned());
        }
    }
    assert_eq!(built + errors.len(), programs.len(), "{log}");
    errors
}
