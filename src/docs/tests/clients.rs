//! The page of clients, held against the programs that CI runs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

const PAGE: &str = include_str!("../clients.md");

/// A workspace of its own, which is not part of the package.
const PROGRAMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/clients/src/bin");

#[test]
fn each_block_of_a_client_is_the_program_that_runs() {
    if !Path::new(PROGRAMS).exists() {
        return;
    }
    let blocks = PAGE.split("\n```rust,ignore\n").skip(1);
    let blocks = blocks.map(|block| block.split_once("```\n").unwrap().0.to_owned());
    let programs = fs::read_dir(PROGRAMS).unwrap();
    let clients = programs.map(|program| program.unwrap().path().join("client.rs"));
    let clients = clients.filter_map(|client| fs::read_to_string(client).ok());
    let (blocks, clients): (BTreeSet<_>, BTreeSet<_>) = (blocks.collect(), clients.collect());
    let differ: Vec<_> = blocks.symmetric_difference(&clients).collect();
    assert!(differ.is_empty(), "page and program differ: {differ:#?}");
    assert!(blocks.len() >= 12);
}
