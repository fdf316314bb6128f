//! The paths that a source file names, each with the module in which it stands.

use super::tokens::{code, words};
use std::collections::BTreeMap;
use syn::visit::{self, Visit};
use syn::{Ident, ItemMod, ItemUse, Macro, QSelf, UseTree};

/// A path of at least two words, such as `crate::policy::Moment`, or what is imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    /// The module in which the path stands, from the crate's root.
    pub(super) inside: Vec<String>,
    /// The words of the path; a leading `::` is an empty word.
    pub(super) words: Vec<String>,
}

/// A file of the crate, read.
pub(super) struct Source {
    pub(super) module: Vec<String>,
    pub(super) paths: Vec<Named>,
    /// The modules that the file declares.
    pub(super) children: Vec<String>,
    /// What the file imports or re-exports, by the name that it has there.
    pub(super) imports: BTreeMap<String, Vec<String>>,
    /// The module around the place that is read.
    inside: Vec<String>,
    /// The next path begins at a type: `<a::B>::c`.
    of_type: bool,
}

impl Source {
    /// `module` is the file's own, such as `policy::session`; empty for the crate's root.
    pub(super) fn read(module: &str, text: &str) -> Self {
        let words = module.split("::").filter(|word| !word.is_empty());
        let module: Vec<String> = words.map(str::to_owned).collect();
        let mut source = Self {
            inside: module.clone(),
            module,
            paths: Vec::new(),
            children: Vec::new(),
            imports: BTreeMap::new(),
            of_type: false,
        };
        source.visit_file(&syn::parse2(code(text)).unwrap());
        source
    }

    fn name(&mut self, words: Vec<String>) {
        let inside = self.inside.clone();
        self.paths.push(Named { inside, words });
    }

    /// One branch of what is imported, with the words that lead to it.
    fn tree(&mut self, before: &[String], tree: &UseTree) {
        let with = |name: &Ident| [before, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.tree(&with(&path.ident), &path.tree),
            UseTree::Name(name) => self.import(&name.ident, with(&name.ident)),
            UseTree::Rename(rename) => self.import(&rename.rename, with(&rename.ident)),
            UseTree::Glob(_) => self.name([before, &["*".to_owned()]].concat()),
            UseTree::Group(group) => group.items.iter().for_each(|item| self.tree(before, item)),
        }
    }

    /// What a module within the file imports is no name of the file.
    fn import(&mut self, name: &Ident, words: Vec<String>) {
        if self.inside == self.module {
            self.imports.insert(name.to_string(), words.clone());
        }
        self.name(words);
    }

    /// Whether a module of this name is declared.
    pub(super) fn declares(&self, name: &str) -> bool {
        self.children.iter().any(|child| child == name)
    }

    /// A path among the words of a macro, which need not be Rust; gives the place after it.
    fn scan(&mut self, words: &[String], mut at: usize, before: &[String]) -> usize {
        let word = |at: usize| words.get(at).map_or("", String::as_str);
        let mut path = before.to_vec();
        while is_name(word(at)) || word(at) == "*" {
            path.push(word(at).to_owned());
            at += 1;
            if word(at) != "::" {
                break;
            }
            at += 1;
            if word(at) == "{" {
                while !matches!(word(at), "}" | "") {
                    at = self.scan(words, at + 1, &path);
                }
                return at + 1;
            }
        }
        if path.len() > 1 {
            self.name(path);
        }
        at
    }
}

impl<'ast> Visit<'ast> for Source {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        let name = item.ident.to_string();
        self.children.push(name.clone());
        self.inside.push(name);
        visit::visit_item_mod(self, item);
        self.inside.pop();
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let before = Vec::from_iter(item.leading_colon.as_ref().map(|_| String::new()));
        self.tree(&before, &item.tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let mut words = Vec::from_iter(path.leading_colon.as_ref().map(|_| String::new()));
        words.extend(
            path.segments
                .iter()
                .map(|segment| segment.ident.to_string()),
        );
        if words.len() > 1 && !std::mem::take(&mut self.of_type) {
            self.name(words);
        }
        visit::visit_path(self, path);
    }

    fn visit_qself(&mut self, qualified: &'ast QSelf) {
        visit::visit_qself(self, qualified);
        self.of_type = qualified.position == 0;
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        visit::visit_macro(self, call);
        let words = words(call.tokens.clone());
        let mut at = 0;
        while at < words.len() {
            at = self.scan(&words, at, &[]).max(at + 1);
        }
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|sign: char| sign.is_alphabetic() || sign == '_')
}

mod tests {
    use super::*;

    fn named(text: &str) -> Vec<String> {
        let source = Source::read("own", text);
        let paths = source.paths.iter();
        paths
            .map(|path| format!("{}: {}", path.inside.join("::"), path.words.join("::")))
            .collect()
    }

    #[test]
    fn imports_are_taken_apart() {
        assert_eq!(
            named("use crate::{a::{B, c::D as E}, f, g::*}; pub(crate) use ::h::I; use super::j;"),
            [
                "own: crate::a::B",
                "own: crate::a::c::D",
                "own: crate::f",
                "own: crate::g::*",
                "own: ::h::I",
                "own: super::j"
            ]
        );
    }

    #[test]
    fn paths_in_code_are_seen_in_every_place() {
        assert_eq!(
            named(
                "fn a(b: &crate::c::D) -> impl e::F + use<'_> { g!(); h::i!(j.k::<l::M>()); <n::O>::p::<q::R>() }"
            ),
            [
                "own: crate::c::D",
                "own: e::F",
                "own: h::i",
                "own: l::M",
                "own: n::O",
                "own: q::R"
            ]
        );
    }

    #[test]
    fn a_macro_is_searched_too() {
        assert_eq!(
            named("m! { use $crate::{a::B, c::*}; d * e::f; g: h }"),
            ["own: crate::a::B", "own: crate::c::*", "own: e::f"]
        );
    }

    #[test]
    fn the_inner_modules_around_a_path_are_known() {
        assert_eq!(
            named("mod a { mod b { type C = c::d; } type E = e::f; } mod g; fn h() { i::j(); }"),
            ["own::a::b: c::d", "own::a: e::f", "own: i::j"]
        );
    }
}
