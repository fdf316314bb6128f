//! Reloads a document when its file changes.

fn main() {}
