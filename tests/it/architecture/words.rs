//! Words: openings of doc comments, and names that two types of a crate share.

use super::sources::sources;
use std::collections::BTreeMap;

const OPENINGS: [&str; 7] = ["What", "Who", "Whether", "How", "Where", "When", "Why"];

/// A stand-in has the names of the module that it stands in for.
const STAND_INS: &str = "::no_";

/// Each of these seals the traits of its own module.
const SEAL: &str = "Sealed";

#[test]
fn at_most_one_doc_line_in_a_hundred_opens_with_a_question_word() {
    let all = sources();
    let lines = all.iter().flat_map(|(module, text)| {
        let docs = text.lines().filter_map(|line| {
            let line = line.trim_start();
            line.strip_prefix("///")
                .or_else(|| line.strip_prefix("//!"))
        });
        docs.map(move |line| (module, line.trim_start()))
    });
    let lines: Vec<_> = lines.collect();
    let is_opening = |line: &str| OPENINGS.contains(&line.split_whitespace().next().unwrap_or(""));
    let found: Vec<_> = lines.iter().filter(|(_, line)| is_opening(line)).collect();
    assert!(lines.len() > 5_000, "{} doc lines were read", lines.len());
    assert!(
        found.len() * 100 <= lines.len(),
        "{} of {}: {found:#?}",
        found.len(),
        lines.len()
    );
}

#[test]
fn no_two_types_of_a_crate_share_a_name() {
    let mut places: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for (module, text) in sources() {
        if module.contains(STAND_INS) {
            continue;
        }
        let room = module.split("::").next().unwrap_or_default().to_owned();
        let code = text.split("\nmod tests {").next().unwrap_or_default();
        for name in code.lines().filter_map(type_name) {
            let key = (room.clone(), name.to_owned());
            places.entry(key).or_default().push(module.clone());
        }
    }
    assert!(places.len() > 400, "{} types were found", places.len());
    let is_shared = |((_, name), modules): &(&(String, String), &Vec<String>)| {
        modules.len() > 1 && name != SEAL
    };
    let shared: Vec<_> = places.iter().filter(is_shared).collect();
    assert!(shared.is_empty(), "{shared:#?}");
}

/// The name that a line defines, if it defines a type of its own: an alias is none, nor is the name that a macro is given.
fn type_name(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.trim_start(),
        None => line,
    };
    let (keyword, rest) = line.split_once(' ')?;
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let name = rest.split(|c| !is_name(c)).next()?;
    let is_type = ["struct", "enum", "trait"].contains(&keyword);
    (is_type && !name.is_empty()).then_some(name)
}
