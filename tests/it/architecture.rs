//! The layers of the crate: who may name whom. A new edge is a new line in a table here, and that line is the review.

mod circles;
mod edges;
mod names;
mod paths;
mod sources;
mod tables;
mod tokens;

use circles::Files;
use edges::{Crate, Edge};
use paths::Source;
use sources::{every_file, folder, sources};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use tables::{INSIDE, LAYERS, OUTSIDE};
use tokens::{code, words};

/// The one module that may ask for the time and for random numbers.
const WORLD: &str = "runtime";
const MOST_LINES: usize = 600;
const LONGEST_NAME: usize = 60;
const NONE: [&str; 0] = [];

#[test]
fn no_module_names_another_unless_the_table_says_so() {
    let known = table();
    let new: Vec<Edge> = found().difference(&known).cloned().collect();
    assert!(new.is_empty(), "not in the table: {new:?}");
}

#[test]
fn the_table_says_nothing_that_is_not_so() {
    let found = found();
    let old: Vec<Edge> = table().difference(&found).cloned().collect();
    assert!(old.is_empty(), "in the table, but not in the code: {old:?}");
}

#[test]
fn no_layer_names_a_higher_one() {
    for (from, to) in INSIDE {
        assert!(
            layer(from) >= layer(to),
            "{from} names {to}, which is higher"
        );
    }
}

#[test]
fn no_module_names_itself_by_way_of_others() {
    // The rooms of what decides are one: a budget pays for what the policy plans.
    for (from, _) in LAYERS.iter().filter(|(_, ring)| *ring > 1) {
        let reached = reachable(from, |from| named(from, INSIDE));
        assert!(
            !reached.contains(from),
            "{from} is part of a cycle of {reached:?}"
        );
    }
}

#[test]
fn no_file_names_itself_by_way_of_others() {
    let circles = Files::read(&sources()).circles();
    assert!(circles.is_empty(), "{circles:#?}");
}

#[test]
fn every_module_has_a_layer() {
    let root = fs::read_to_string(folder("src").join("lib.rs")).unwrap();
    let declared: BTreeSet<String> = Source::read("", &root).children.into_iter().collect();
    let layered: BTreeSet<String> = LAYERS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(declared, layered);
}

#[test]
fn what_decides_names_only_http_and_its_dates() {
    for (module, name) in OUTSIDE {
        let allowed: &[&str] = match layer(module) {
            0 => &[],
            // Reading JSON is arithmetic too.
            1 if *module == "error_body" => &["serde", "serde_json"],
            1 => &["http", "httpdate"],
            _ => continue,
        };
        assert!(allowed.contains(name), "{module} names {name}");
    }
}

/// What language models need is said in `llm` and in the dialects; the policy calls it by a trait.
#[test]
fn the_policy_names_nothing_of_language_models() {
    let of_models = |word: &str| {
        let word = word.to_lowercase();
        OF_MODELS.iter().any(|part| word.contains(part))
    };
    let wrong = sources().into_iter().flat_map(|(module, text)| {
        let known = |word: &str| POLICY_WORDS.contains(&(module.as_str(), word));
        let found = words(code(&text)).into_iter();
        found
            .filter(|word| module.starts_with("policy") && of_models(word) && !known(word))
            .map(|word| format!("{module}: {word}"))
            .collect::<Vec<_>>()
    });
    assert_eq!(wrong.collect::<Vec<_>>(), NONE);
}

/// What has one body with a feature and another without it decides otherwise as soon as another crate turns the feature on.
#[test]
fn no_public_item_has_another_body_without_a_feature() {
    let wrong = sources().into_iter().flat_map(|(module, text)| {
        let found = without_a_feature(&text).into_iter();
        found
            .map(|item| format!("{module}: {item}"))
            .collect::<Vec<_>>()
    });
    assert_eq!(wrong.collect::<Vec<_>>(), NONE);
}

/// The public items of a file that are only there without a feature.
fn without_a_feature(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let hidden = lines.iter().enumerate().filter_map(|(place, line)| {
        let is_without = line.starts_with("#[cfg(not(") && line.contains("feature");
        let mut after = lines.iter().skip(place + 1);
        is_without.then(|| after.find(|line| !line.starts_with(['#', '/'])))?
    });
    hidden
        .copied()
        .filter(|item| item.starts_with("pub "))
        .collect()
}

#[test]
fn an_item_that_a_feature_takes_away_would_be_seen() {
    let public = "#[cfg(not(feature = \"a\"))]\n/// Doc.\n#[must_use]\npub fn b() {}";
    assert_eq!(without_a_feature(public), ["pub fn b() {}"]);
    for other in ["pub(crate) fn b() {}", "fn b() {}", "mod b;"] {
        let private = format!("#[cfg(not(feature = \"a\"))]\n{other}\npub fn c() {{}}");
        assert_eq!(without_a_feature(&private), NONE, "{other}");
    }
}

#[test]
fn no_file_is_longer_than_can_be_read_at_once() {
    let long = every_file().into_iter().filter_map(|(path, text)| {
        let lines = text.lines().count();
        (lines > MOST_LINES).then(|| format!("{}: {lines} lines", path.display()))
    });
    assert_eq!(long.collect::<Vec<_>>(), NONE);
}

#[test]
fn every_test_has_a_name_that_can_be_scanned() {
    let names = every_file()
        .into_iter()
        .flat_map(|(_, text)| names::of_tests(&text));
    let long = names.filter(|name| name.len() > LONGEST_NAME);
    assert_eq!(long.collect::<Vec<_>>(), NONE);
}

#[test]
fn nothing_outside_of_tests_panics_by_its_own_word() {
    let wrong = sources().into_iter().flat_map(|(module, text)| {
        let tokens = words(code(&text));
        let found = FORBIDDEN.iter().filter(|words| holds(&tokens, words));
        found
            .map(|words| format!("{module}: {}", words.concat()))
            .collect::<Vec<_>>()
    });
    assert_eq!(wrong.collect::<Vec<_>>(), NONE);
}

#[test]
fn only_the_runtime_asks_for_the_time_and_for_random_numbers() {
    let sources = sources();
    let asks = |text: &str| {
        let tokens = words(code(text));
        let found = OF_THE_WORLD.iter().filter(|words| holds(&tokens, words));
        found.map(|words| words.concat()).collect::<Vec<_>>()
    };
    for (module, text) in &sources {
        let asked = asks(text);
        assert!(module == WORLD || asked.is_empty(), "{module}: {asked:?}");
    }
    assert!(
        sources
            .iter()
            .any(|(module, text)| module == WORLD && !asks(text).is_empty())
    );
}

const FORBIDDEN: [&[&str]; 7] = [
    &[".", "unwrap", "("],
    &[".", "expect", "("],
    &["panic", "!"],
    &["todo", "!"],
    &["unimplemented", "!"],
    &["dbg", "!"],
    &["unreachable", "!"],
];

const OF_MODELS: [&str; 5] = ["llm", "model", "prompt", "trunc", "textcut"];

/// The preset, which has a name as every preset has.
const POLICY_WORDS: [(&str, &str); 2] = [("policy::presets", "LLM"), ("policy::presets", "llm")];

const OF_THE_WORLD: [&[&str]; 5] = [
    &["Instant", "::", "now"],
    &["SystemTime", "::", "now"],
    &["UNIX_EPOCH", ".", "elapsed"],
    &["thread_rng"],
    &["rand", "::"],
];

fn holds(tokens: &[String], words: &[&str]) -> bool {
    tokens.windows(words.len()).any(|window| window == words)
}

fn table() -> BTreeSet<Edge> {
    let owned = |(from, to): &(&str, &str)| ((*from).to_owned(), (*to).to_owned());
    let inside = INSIDE
        .iter()
        .map(owned)
        .map(|(from, to)| Edge::Inside(from, to));
    let outside = OUTSIDE
        .iter()
        .map(owned)
        .map(|(from, to)| Edge::Outside(from, to));
    inside.chain(outside).collect()
}

/// The edges that the code has; the root names what it likes.
fn found() -> BTreeSet<Edge> {
    let top = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = fs::read_to_string(top.join("Cargo.toml")).unwrap();
    let root = fs::read_to_string(top.join("src/lib.rs")).unwrap();
    let whole = Crate::new(&manifest, &root);
    let modules = sources()
        .into_iter()
        .filter(|(module, _)| !module.is_empty());
    modules
        .flat_map(|(module, text)| whole.edges(&module, &text))
        .collect()
}

fn layer(module: &str) -> u8 {
    let found = LAYERS.iter().find(|(name, _)| *name == module);
    found.unwrap_or_else(|| panic!("{module} has no layer")).1
}

/// All that a module names, and all that those name, and so on.
fn reachable<'a>(from: &str, named: impl Fn(&str) -> Vec<&'a str>) -> BTreeSet<&'a str> {
    let (mut reached, mut left) = (BTreeSet::new(), named(from));
    while let Some(next) = left.pop() {
        if reached.insert(next) {
            left.extend(named(next));
        }
    }
    reached
}

fn named<'a>(from: &str, edges: &[(&str, &'a str)]) -> Vec<&'a str> {
    let own = edges.iter().filter(|(own, _)| *own == from);
    own.map(|(_, to)| *to).collect()
}

#[test]
fn a_cycle_would_be_seen() {
    let edges = [("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")];
    let reached = |from| reachable(from, |from| named(from, &edges));
    assert!(reached("a").contains("a"));
    assert!(!reached("d").contains("d"));
}

#[test]
fn a_forbidden_word_would_be_seen_but_not_in_a_comment() {
    let seen = |text: &str| {
        FORBIDDEN
            .iter()
            .any(|forbidden| holds(&words(code(text)), forbidden))
    };
    for text in [
        "x.unwrap();",
        "x\n.expect(\"y\");",
        "panic!(\"x\")",
        "std::todo!()",
    ] {
        assert!(seen(text), "{text}");
    }
    for text in [
        "// x.unwrap()",
        "#[cfg(test)] mod t { fn f() { x.unwrap(); } }",
        "x.unwrap_or(y)",
        "#[expect(y)]",
    ] {
        assert!(!seen(text), "{text}");
    }
}

#[test]
fn a_look_at_the_clock_would_be_seen() {
    let seen = |text: &str| {
        OF_THE_WORLD
            .iter()
            .any(|forbidden| holds(&words(code(text)), forbidden))
    };
    for text in [
        "tokio::time::Instant::now()",
        "SystemTime::now()",
        "use rand::Rng;",
        "thread_rng()",
    ] {
        assert!(seen(text), "{text}");
    }
    assert!(!seen("\"Instant::now\" // rand::random()"));
}
