//! The source files of the family.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

pub(super) fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

pub(super) fn every_file() -> Vec<(PathBuf, String)> {
    let folders = ["src", "crates", "tests", "examples", "benches", "fuzz"].map(folder);
    let paths = folders.iter().flat_map(|folder| files(folder));
    let read = paths.map(|path| (path.clone(), fs::read_to_string(&path).unwrap()));
    read.collect()
}

/// Every file of the family that is not for tests alone, by its crate and its module.
pub(super) fn sources() -> BTreeMap<String, String> {
    let crates = fs::read_dir(folder("crates")).unwrap().map(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        (format!("http-retry-{name}"), path.join("src"))
    });
    let all = crates.chain([("http-retry".to_owned(), folder("src"))]);
    let modules = all.flat_map(|(name, src)| {
        files(&src).into_iter().map(move |path| {
            let module = module(&name, path.strip_prefix(&src).unwrap());
            (module, fs::read_to_string(&path).unwrap())
        })
    });
    modules
        .filter(|(module, _)| !module.split("::").any(|word| word == "tests"))
        .collect()
}

/// `policy/session.rs` of a crate is `crate::policy::session`.
fn module(name: &str, path: &Path) -> String {
    let path = path.with_extension("");
    let words = path.iter().map(|word| word.to_str().unwrap());
    let words = words.filter(|word| !["lib", "main"].contains(word));
    std::iter::once(name)
        .chain(words)
        .collect::<Vec<_>>()
        .join("::")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let entries = entries.map(|entry| entry.unwrap().path());
    // What a build leaves behind has no say.
    let entries = entries.filter(|path| !path.ends_with("target"));
    let files = entries.flat_map(|path| {
        if path.is_dir() {
            files(&path)
        } else {
            vec![path]
        }
    });
    files
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
        .collect()
}
