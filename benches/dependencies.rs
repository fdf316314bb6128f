//! The crates that a program builds for this one.

use crate::table;
use crate::table::Target::AtMost;
use anyhow::{Result, ensure};
use std::collections::BTreeSet;
use std::process::Command;

/// A `--package` of its own takes the place of the family's root.
const CORE: &[&str] = &["--package", "http-retry-core"];

pub(crate) fn count() -> Result<()> {
    table::head("crates to build, this one included (cargo tree -e normal)");
    let sets = [
        ("the core alone", CORE, 6.0),
        ("no feature", &["--no-default-features"], 20.0),
        ("default", &[], 47.0),
    ];
    for (what, features, most) in sets {
        let all = names(&tree(features)?);
        table::alone(what, all.len() as f64, AtMost(most));
    }
    let of = |features: &str| -> Result<_> { Ok(names(&tree(&["--features", features])?)) };
    let (without, with) = (of("reqwest")?, of("reqwest,redis")?);
    let what = "redis, beyond the default features and reqwest";
    table::alone(what, with.difference(&without).count() as f64, AtMost(12.0));
    let tree = tree(&["--no-default-features", "--features", "reqwest"])?;
    let (all, brought) = (names(&tree), names(&below(&tree, "reqwest-middleware")));
    let own = all.difference(&brought).count() - 1;
    let what = "reqwest, beyond what reqwest-middleware brings";
    table::alone(what, own as f64, AtMost(9.0));
    Ok(())
}

/// The depth and the name of every line.
type Tree = Vec<(usize, String)>;

fn tree(features: &[&str]) -> Result<Tree> {
    let run = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--edges",
            "normal",
            "--prefix",
            "depth",
            "--no-dedupe",
        ])
        .args([
            "--manifest-path",
            concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
        ])
        .args(match features {
            CORE => &[],
            _ => &["--package", "http-retry"] as &[&str],
        })
        .args(features)
        .output()?;
    ensure!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    let text = String::from_utf8(run.stdout)?;
    Ok(text.lines().filter_map(node).collect())
}

/// `3itoa v1.0.18` is `itoa v1.0.18` at depth 3.
fn node(line: &str) -> Option<(usize, String)> {
    let name = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let depth = line.strip_suffix(name)?.parse().ok()?;
    let words: Vec<&str> = name.split(' ').take(2).collect();
    Some((depth, words.join(" ")))
}

fn names(tree: &Tree) -> BTreeSet<String> {
    tree.iter().map(|(_, name)| name.clone()).collect()
}

/// A crate and all that it brings.
fn below(tree: &Tree, name: &str) -> Tree {
    let mut from = tree
        .iter()
        .skip_while(|(_, at)| !at.starts_with(&format!("{name} ")));
    let Some(top) = from.next() else {
        return Tree::new();
    };
    let rest = from.take_while(|(depth, _)| *depth > top.0);
    std::iter::once(top).chain(rest).cloned().collect()
}
