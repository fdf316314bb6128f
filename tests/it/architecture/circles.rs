//! Which file names which other, and the circles that they form.
//!
//! A path counts for the file that holds what it names, however it gets there: `super::Verdict` leads through the
//! re-exports of `policy/mod.rs` to `policy/verdict.rs`. A file and those in the folder of its name are one module in
//! several files, and may name each other: `policy/session.rs` and `policy/session/plan.rs`.

use super::paths::Source;
use super::reachable;
use std::collections::{BTreeMap, BTreeSet};

/// The files of the crate, by their modules.
pub(super) struct Files(BTreeMap<String, Source>);

/// As many re-exports are followed from one to the next.
const LONGEST_WAY: usize = 12;

impl Files {
    pub(super) fn read(sources: &BTreeMap<String, String>) -> Self {
        let read =
            |(module, text): (&String, &String)| (module.clone(), Source::read(module, text));
        Self(sources.iter().map(read).collect())
    }

    /// The groups of files of which each names itself by way of the others.
    pub(super) fn circles(&self) -> Vec<BTreeSet<String>> {
        let named = self.named();
        let of = |from: &str| named[from].iter().map(String::as_str).collect();
        let reached = named.keys().map(|from| (*from, reachable(from, of)));
        let reached: BTreeMap<&str, BTreeSet<&str>> = reached.collect();
        let circle = |(from, to): (&&str, &BTreeSet<&str>)| -> BTreeSet<String> {
            let together = to.iter().filter(|to| reached[**to].contains(*from));
            together.map(|to| (*to).to_owned()).collect()
        };
        let circles: BTreeSet<_> = reached.iter().map(circle).collect();
        let circles = circles.into_iter();
        circles.filter(|circle| !circle.is_empty()).collect()
    }

    /// The files that each file names, without those of its own module.
    fn named(&self) -> BTreeMap<&str, BTreeSet<String>> {
        let files = self.0.iter();
        files
            .map(|(module, source)| (module.as_str(), self.named_by(module, source)))
            .collect()
    }

    fn named_by(&self, module: &str, source: &Source) -> BTreeSet<String> {
        let paths = source.paths.iter();
        let held = paths.filter_map(|path| self.leads(&path.inside, &path.words, LONGEST_WAY));
        held.filter(|to| !to.is_empty() && !are_one_module(module, to))
            .collect()
    }

    /// The file of what is named in a module, if it is one of the crate.
    fn leads(&self, inside: &[String], words: &[String], left: usize) -> Option<String> {
        let up = words.iter().take_while(|word| *word == "super").count();
        let own = self.0.get(&inside.join("::"));
        match words.first().map(String::as_str)? {
            "crate" => self.holder(&[], &words[1..], left),
            "self" => self.leads(inside, &words[1..], left),
            "super" => self.holder(&inside[..inside.len().checked_sub(up)?], &words[up..], left),
            name => {
                own.filter(|own| own.imports.contains_key(name) || own.declares(name))?;
                self.holder(inside, words, left)
            }
        }
    }

    /// The file of what these words name, seen from a module.
    fn holder(&self, module: &[String], words: &[String], left: usize) -> Option<String> {
        let place = module.join("::");
        let Some(source) = self.0.get(&place) else {
            // A module within a file.
            let (_, around) = module.split_last()?;
            return self.holder(around, &[], left);
        };
        let Some((name, rest)) = words.split_first() else {
            return Some(place);
        };
        if source.declares(name) {
            return self.holder(&[module, std::slice::from_ref(name)].concat(), rest, left);
        }
        match (source.imports.get(name), left.checked_sub(1)) {
            (Some(path), Some(left)) if path != words => {
                self.leads(module, &[path, rest].concat(), left)
            }
            _ => Some(place),
        }
    }
}

fn are_one_module(one: &str, other: &str) -> bool {
    let holds = |outer: &str, inner: &str| {
        let rest = inner.strip_prefix(outer);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    holds(one, other) || holds(other, one)
}

mod tests {
    use super::*;

    fn circles(files: &[(&str, &str)]) -> Vec<Vec<String>> {
        let files = files
            .iter()
            .map(|(module, text)| ((*module).to_owned(), (*text).to_owned()));
        let circles = Files::read(&files.collect()).circles();
        circles
            .into_iter()
            .map(|circle| circle.into_iter().collect())
            .collect()
    }

    #[test]
    fn a_circle_of_files_is_seen() {
        let root = ("", "mod a; mod b; mod c; mod d;");
        let d = ("d", "use crate::a::A;");
        let found = circles(&[
            root,
            ("a", "use crate::b::B;"),
            ("b", "use super::c::C;"),
            ("c", "fn f(_: crate::a::A) {}"),
            d,
        ]);
        assert_eq!(found, [["a", "b", "c"]]);
        let found = circles(&[
            root,
            ("a", "use crate::b::B;"),
            ("b", "use super::c::C;"),
            ("c", "use http::A;"),
            d,
        ]);
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn a_re_export_leads_to_the_file_behind_it() {
        let root = ("", "mod p;");
        let p = ("p", "mod a; mod b; use a::A; pub(crate) use b::B as C;");
        let found = circles(&[
            root,
            p,
            ("p::a", "use super::C;"),
            ("p::b", "fn f() { super::A::new(); }"),
        ]);
        assert_eq!(found, [["p::a", "p::b"]]);
    }

    #[test]
    fn a_file_and_those_in_its_folder_are_one_module() {
        let p = ("p", "mod a; use a::A; pub struct B;");
        let found = circles(&[
            ("", "mod p;"),
            p,
            ("p::a", "use super::B; pub struct A(B);"),
        ]);
        assert!(found.is_empty(), "{found:?}");
    }
}
