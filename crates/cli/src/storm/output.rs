//! The files that a storm writes.

use crate::report::Failure;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// Stands at the beginning of each file, so that it may be written again.
pub(super) const MARK: &str = "<!-- a storm of http-retry -->";
/// The mark is within so many bytes.
const MARKED: u64 = 400;

/// Checks that a file may be written: it is not the document, and if it is there, it is the picture or page of a storm.
pub(super) fn check(option: &str, file: &Path, document: &Path) -> Result<(), Failure> {
    let cause = if is_same_file(file, document) {
        "it is the document itself, which the output would replace"
    } else if file.is_file() && !is_ours(file) {
        "it is there, and no output of a storm: name another file"
    } else {
        return Ok(());
    };
    let name = format!("{option} {}", file.display());
    Err(Failure::of_input(&name, cause))
}

pub(super) fn write(file: &Path, text: &str) -> Result<(), Failure> {
    let written = fs::write(file, text);
    written.map_err(|cause| Failure::of_input(&file.display().to_string(), cause))
}

fn is_ours(file: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(file).map(|file| file.take(MARKED).read_to_end(&mut start));
    read.is_ok() && String::from_utf8_lossy(&start).contains(MARK)
}

/// Returns `true` if two paths lead to one file, by links or by other spellings.
pub(super) fn is_same_file(one: &Path, other: &Path) -> bool {
    if one == other {
        return true;
    }
    let (Ok(one), Ok(other)) = (one.canonicalize(), other.canonicalize()) else {
        // A file that is not there yet is no other one.
        return false;
    };
    one == other || is_hard_link(&one, &other)
}

#[cfg(unix)]
fn is_hard_link(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (Ok(one), Ok(other)) = (one.metadata(), other.metadata()) else {
        return false;
    };
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_hard_link(_: &Path, _: &Path) -> bool {
    false
}
