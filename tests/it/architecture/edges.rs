//! Which top-level module names which other, and which crates it names.

use super::paths::{Named, Source};
use std::collections::{BTreeMap, BTreeSet};

/// What one module names: another of the crate, or a crate.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Edge {
    Inside(String, String),
    Outside(String, String),
}

/// What must be known of the crate as a whole to see where a path leads.
pub(super) struct Crate {
    /// The crates that it depends on.
    pub(super) dependencies: BTreeSet<String>,
    /// What the root re-exports, and from which module.
    pub(super) exports: BTreeMap<String, String>,
}

impl Crate {
    pub(super) fn new(manifest: &str, root: &str) -> Self {
        let exports = Source::read("", root).paths.into_iter();
        let exports = exports.filter_map(|path| match path.words.as_slice() {
            [module, .., name] => Some((name.clone(), module.clone())),
            _ => None,
        });
        Self {
            dependencies: dependencies(manifest).collect(),
            exports: exports.collect(),
        }
    }

    pub(super) fn edges(&self, module: &str, text: &str) -> BTreeSet<Edge> {
        let source = Source::read(module, text);
        let own = source.module.first().cloned().unwrap_or_default();
        let edges = source.paths.iter().filter_map(|path| {
            let edge = match self.target(path, &source.children)? {
                Target::Inside(name) if name == own => return None,
                Target::Inside(name) => Edge::Inside(own.clone(), name),
                Target::Outside(name) => Edge::Outside(own.clone(), name),
            };
            Some(edge)
        });
        edges.collect()
    }

    fn target(&self, path: &Named, children: &[String]) -> Option<Target> {
        let words: Vec<&str> = path.words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["crate", name, ..] => Some(self.at_the_root(name)),
            ["super", ..] => self.above(&path.inside, &words),
            ["self", rest @ ..] if rest.first() == Some(&"super") => self.above(&path.inside, rest),
            ["", name, ..] => self.outside(name),
            [name, ..] if children.iter().any(|child| child == name) => None,
            [name, ..] => self.outside(name),
            [] => None,
        }
    }

    fn at_the_root(&self, name: &str) -> Target {
        let module = self.exports.get(name).map_or(name, String::as_str);
        Target::Inside(module.to_owned())
    }

    /// Where `super` leads: to the root's names from a top-level module, else to a place within it.
    fn above(&self, inside: &[String], words: &[&str]) -> Option<Target> {
        let up = words.iter().take_while(|word| **word == "super").count();
        let name = words.get(up)?;
        match inside.len().checked_sub(up)? {
            0 => Some(self.at_the_root(name)),
            _ => None,
        }
    }

    fn outside(&self, name: &str) -> Option<Target> {
        let known = self.dependencies.contains(name);
        known.then(|| Target::Outside(name.to_owned()))
    }
}

enum Target {
    Inside(String),
    Outside(String),
}

/// The names of what a manifest depends on outside of tests, as code names them.
fn dependencies(manifest: &str) -> impl Iterator<Item = String> {
    let mut counts = false;
    manifest.lines().filter_map(move |line| {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            counts = section == "dependencies" || section.ends_with(".dependencies");
            return None;
        }
        let (name, _) = line.split_once(['=', '.'])?;
        counts.then(|| name.trim().trim_matches('"').replace('-', "_"))
    })
}

mod tests {
    use super::*;

    const NONE: [&str; 0] = [];
    const MANIFEST: &str = "[dependencies]\nhttp = \"1\"\ntower-layer = { version = \"1\" }\nreqwest.version = \"1\"\n\
        [target.'cfg(x)'.dependencies]\nloom = \"1\"\n[dev-dependencies]\nclap = \"4\"\n[lints]\nmetrics = 1\n";
    const ROOT: &str = "mod policy; pub use budget::{RetryBudget, ServiceBudgets as S}; pub use error::ConfigError;";

    fn edges(module: &str, text: &str) -> Vec<String> {
        let edges = Crate::new(MANIFEST, ROOT).edges(module, text);
        let named = edges.into_iter().map(|edge| match edge {
            Edge::Inside(from, to) => format!("{from} > {to}"),
            Edge::Outside(from, to) => format!("{from} > crate {to}"),
        });
        named.collect()
    }

    #[test]
    fn every_way_to_name_another_module_is_seen() {
        for text in [
            "use crate::tower::Retry;",
            "use crate::{error::ConfigError, tower};",
            "pub(crate) use crate::tower as other;",
            "fn f() { crate::tower::call(); }",
            "fn f(x: &'static crate::tower::Retry) {}",
            "impl crate::tower::T for X {}",
            "macro_rules! m { () => { $crate::tower::call!() } }",
            "fn f() { mod inner { use super::super::super::tower::Retry; } }",
            "use super::super::tower::Retry;",
            "use self::super::super::tower::Retry;",
            "#[cfg(feature = \"x\")] use crate::tower::Retry;",
        ] {
            let edges = edges("policy::session", text);
            assert!(
                edges.contains(&"policy > tower".to_owned()),
                "{text}: {edges:?}"
            );
        }
    }

    #[test]
    fn a_name_that_the_root_re_exports_leads_to_its_module() {
        assert_eq!(
            edges("policy", "use crate::RetryBudget;"),
            ["policy > budget"]
        );
        assert_eq!(
            edges("policy", "use super::ConfigError;"),
            ["policy > error"]
        );
    }

    #[test]
    fn everything_of_the_root_at_once_is_an_edge_too() {
        assert_eq!(edges("policy", "use crate::*;"), ["policy > *"]);
        assert_eq!(edges("policy", "use super::*;"), ["policy > *"]);
    }

    #[test]
    fn what_is_the_modules_own_is_no_edge() {
        for text in [
            "use crate::policy::Moment; use super::moment::Moment; use self::a::B;",
            "mod inner { use super::super::*; }",
            "/// [`Retry`](crate::tower::Retry)\nfn f() {} // crate::tower",
            "const TEXT: &str = \"crate::tower\";",
            "#[cfg(test)] mod tests { use crate::tower::Retry; use http::Method; }",
        ] {
            assert_eq!(edges("policy::session", text), NONE, "{text}");
        }
    }

    #[test]
    fn crates_are_seen_and_a_module_of_the_same_name_is_none() {
        assert_eq!(
            edges(
                "tower",
                "use http::Method; use ::reqwest::Url; fn f() -> tower_layer::Stack { loom::x() }"
            ),
            [
                "tower > crate http",
                "tower > crate loom",
                "tower > crate reqwest",
                "tower > crate tower_layer"
            ]
        );
        assert_eq!(edges("observe", "mod http; use http::Method;"), NONE);
        assert_eq!(edges("observe", "use clap::Parser; use std::fmt;"), NONE);
    }
}
