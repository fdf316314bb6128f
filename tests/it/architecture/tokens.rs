//! Source text as tokens: what a compiler would see of it outside of tests.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// The code of a source text, without what only tests see.
pub(super) fn code(source: &str) -> TokenStream {
    without_tests(source.parse().unwrap())
}

/// All words and signs, without texts and lifetimes. `::` is one sign.
pub(super) fn words(code: TokenStream) -> Vec<String> {
    let mut words = Vec::new();
    let mut trees = code.into_iter().peekable();
    while let Some(tree) = trees.next() {
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = brackets(group.delimiter());
                words.push(open.to_owned());
                words.extend(self::words(group.stream()));
                words.push(close.to_owned());
            }
            TokenTree::Ident(word) => words.push(word.to_string()),
            TokenTree::Punct(sign) if sign.as_char() == '\'' => drop(trees.next()),
            TokenTree::Punct(sign) => {
                let double = sign.as_char() == ':' && trees.next_if(|next| is(next, ':')).is_some();
                words.push(if double {
                    "::".to_owned()
                } else {
                    sign.to_string()
                });
            }
            TokenTree::Literal(_) => {}
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn brackets(delimiter: Delimiter) -> (&'static str, &'static str) {
    match delimiter {
        Delimiter::Parenthesis => ("(", ")"),
        Delimiter::Brace => ("{", "}"),
        Delimiter::Bracket => ("[", "]"),
        Delimiter::None => ("", ""),
    }
}

/// The code without every item under `#[cfg(test)]` or `#[cfg(all(test, ..))]`.
fn without_tests(code: TokenStream) -> TokenStream {
    let mut kept = Vec::new();
    let mut trees = code.into_iter().peekable();
    while let Some(tree) = trees.next() {
        let attribute = is(&tree, '#') && trees.peek().is_some_and(is_for_tests);
        match tree {
            _ if attribute => {
                let last = trees.by_ref().find(|tree| is(tree, ';') || is_braces(tree));
                if last.as_ref().is_some_and(is_braces) {
                    trees.next_if(|next| is(next, ';'));
                }
            }
            TokenTree::Group(group) => {
                let inside = without_tests(group.stream());
                kept.push(Group::new(group.delimiter(), inside).into());
            }
            other => kept.push(other),
        }
    }
    kept.into_iter().collect()
}

fn is(tree: &TokenTree, wanted: char) -> bool {
    matches!(tree, TokenTree::Punct(sign) if sign.as_char() == wanted)
}

fn is_braces(tree: &TokenTree) -> bool {
    matches!(tree, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

fn is_for_tests(attribute: &TokenTree) -> bool {
    let words = words(attribute.clone().into()).concat();
    words.starts_with("[cfg(test)") || words.starts_with("[cfg(all(test,")
}

mod tests {
    use super::*;

    fn seen(source: &str) -> String {
        words(code(source)).join(" ")
    }

    #[test]
    fn comments_texts_and_lifetimes_say_nothing() {
        let source = r##"
            // crate::a
            /* crate::c /* crate::d */ crate::e */
            let f: &'static str = "crate::g \" crate::h";
            let i = r#"crate::j " crate::k"#; let l = b"crate::m"; let n = ('"', '\'', b'"', '{');
            /// crate::b
            o"##;
        let wanted = "let f : & str = ; let i = ; let l = ; let n = ( , , , ) ; # [ doc = ] o";
        assert_eq!(seen(source), wanted);
    }

    #[test]
    fn what_only_tests_see_is_left_out() {
        let source = "
            a(); #[cfg(test)] mod tests; b();
            #[cfg(test)] #[allow(x)] fn c() -> [u8; 2] { if d { e } } f();
            #[cfg(all(test, not(loom)))] mod tests { mod g { } use h::{i, j}; }
            #[cfg(test)] use m::{n, o};
            #[cfg(not(test))] k();
            #[cfg(feature = \"x\")] l();";
        let wanted = "a ( ) ; b ( ) ; f ( ) ; # [ cfg ( not ( test ) ) ] k ( ) ; # [ cfg ( feature = ) ] l ( ) ;";
        assert_eq!(seen(source), wanted);
    }
}
