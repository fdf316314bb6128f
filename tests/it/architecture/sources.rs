//! The source files of the crate.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

pub(super) fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

pub(super) fn every_file() -> Vec<(PathBuf, String)> {
    let folders = ["src", "tests", "examples", "benches", "fuzz"].map(folder);
    let paths = folders.iter().flat_map(|folder| files(folder));
    let read = paths.map(|path| (path.clone(), fs::read_to_string(&path).unwrap()));
    read.collect()
}

/// Every file of the crate that is not for tests alone, by its module.
pub(super) fn sources() -> BTreeMap<String, String> {
    let src = folder("src");
    let modules = files(&src).into_iter().map(|path| {
        let module = module(path.strip_prefix(&src).unwrap());
        (module, fs::read_to_string(&path).unwrap())
    });
    modules
        .filter(|(module, _)| !module.split("::").any(|word| word == "tests"))
        .collect()
}

/// `policy/session.rs` is `policy::session`, `policy/mod.rs` is `policy`, and `lib.rs` is the root.
fn module(path: &Path) -> String {
    let path = path.with_extension("");
    let words: Vec<&str> = path.iter().map(|word| word.to_str().unwrap()).collect();
    match words.as_slice() {
        ["lib"] => String::new(),
        [folders @ .., "mod"] => folders.join("::"),
        words => words.join("::"),
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let entries = entries.map(|entry| entry.unwrap().path());
    // What a build leaves behind has no say.
    let entries = entries.filter(|path| !path.ends_with("target"));
    let files = entries.flat_map(|path| match path.is_dir() {
        true => files(&path),
        false => vec![path],
    });
    files
        .filter(|path| path.extension().is_some_and(|end| end == "rs"))
        .collect()
}
