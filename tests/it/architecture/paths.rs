//! The paths that a source file names, each with the module in which it stands.

use super::tokens::tokens;

/// A path of at least two words, such as `crate::policy::Moment`.
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
}

impl Source {
    /// `module` is the file's own, such as `policy::session`; empty for the crate's root.
    pub(super) fn read(module: &str, text: &str) -> Self {
        let module: Vec<String> = match module {
            "" => Vec::new(),
            module => module.split("::").map(str::to_owned).collect(),
        };
        let tokens = tokens(text);
        let mut reader = Reader {
            tokens: &tokens,
            at: 0,
            depth: 0,
            inner: Vec::new(),
            source: Self {
                module,
                paths: Vec::new(),
                children: Vec::new(),
            },
        };
        while reader.at < tokens.len() {
            reader.step();
        }
        reader.source
    }
}

struct Reader<'a> {
    tokens: &'a [&'a str],
    at: usize,
    depth: usize,
    /// The modules in braces around this place, each with its depth.
    inner: Vec<(usize, String)>,
    source: Source,
}

impl<'a> Reader<'a> {
    fn token(&self, ahead: usize) -> &'a str {
        self.tokens.get(self.at + ahead).copied().unwrap_or("")
    }

    fn step(&mut self) {
        match self.token(0) {
            "{" => self.depth += 1,
            "}" => self.close(),
            "mod" if is_name(self.token(1)) => self.open_module(),
            "use" if self.token(1) != "<" => return self.import(),
            "." => self.at += usize::from(is_name(self.token(1))),
            ">" if self.token(1) == "::" => self.at += 1 + usize::from(is_name(self.token(2))),
            token if token == "::" || is_name(token) => return self.path(),
            _ => {}
        }
        self.at += 1;
    }

    fn close(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.inner.retain(|(depth, _)| *depth <= self.depth);
    }

    fn open_module(&mut self) {
        let name = self.token(1).to_owned();
        self.source.children.push(name.clone());
        if self.token(2) == "{" {
            self.depth += 1;
            self.inner.push((self.depth, name));
        }
        self.at += 2;
    }

    fn import(&mut self) {
        self.at += 1;
        self.tree(&[]);
    }

    /// One branch of what is imported, with the words that lead to it.
    fn tree(&mut self, before: &[String]) {
        let mut words = before.to_vec();
        loop {
            match self.token(0) {
                "{" => return self.group(&words),
                "::" if words.is_empty() => words.push(String::new()),
                "::" => {}
                "as" => self.at += 1,
                "," | "}" | ";" | "" => break,
                word => words.push(word.to_owned()),
            }
            self.at += 1;
        }
        self.name(words);
    }

    fn group(&mut self, before: &[String]) {
        self.at += 1;
        while !matches!(self.token(0), "}" | "") {
            match self.token(0) {
                "," => self.at += 1,
                _ => self.tree(before),
            }
        }
        self.at += 1;
    }

    /// A path in an expression or a type.
    fn path(&mut self) {
        let mut words = match self.token(0) {
            "::" => vec![String::new()],
            _ => Vec::new(),
        };
        self.at += usize::from(!words.is_empty());
        while is_name(self.token(0)) || self.token(0) == "*" {
            words.push(self.token(0).to_owned());
            self.at += 1;
            if self.token(0) != "::" {
                break;
            }
            self.at += 1;
        }
        if words.len() > 1 {
            self.name(words);
        }
    }

    fn name(&mut self, words: Vec<String>) {
        let inner = self.inner.iter().map(|(_, name)| name);
        let inside = self.source.module.iter().chain(inner).cloned().collect();
        self.source.paths.push(Named { inside, words });
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
    fn the_inner_modules_around_a_path_are_known() {
        assert_eq!(
            named("mod a { mod b { c::d(); } e::f(); } mod g; fn h() { i::j(); }"),
            ["own::a::b: c::d", "own::a: e::f", "own: i::j"]
        );
    }
}
