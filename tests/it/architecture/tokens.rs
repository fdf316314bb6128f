//! Source text as tokens: what a compiler would see of it outside of tests.

/// The words and signs of a source text, without comments, texts, lifetimes and what only tests see.
pub(super) fn tokens(source: &str) -> Vec<&str> {
    without_tests(&lexed(source))
}

/// All words and signs, without comments, texts and lifetimes. `::` is one sign.
fn lexed(source: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = source.trim_start();
    while let Some(first) = rest.chars().next() {
        let (length, counts) = match silent(rest) {
            Some(length) => (length, false),
            None if is_word(first) => (word(rest), true),
            None if rest.starts_with("::") => (2, true),
            None => (first.len_utf8(), true),
        };
        let (token, after) = rest.split_at(length);
        tokens.extend(counts.then_some(token));
        rest = after.trim_start();
    }
    tokens
}

fn is_word(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}

fn word(text: &str) -> usize {
    text.find(|sign| !is_word(sign)).unwrap_or(text.len())
}

/// How long the comment, text, character or lifetime is that begins here.
fn silent(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        return Some(block_comment(text));
    }
    if let Some(quoted) = raw_text(text) {
        return Some(quoted);
    }
    match text.as_bytes() {
        [b'"', ..] => Some(quoted(text, '"')),
        [b'b' | b'c', b'"', ..] => Some(1 + quoted(&text[1..], '"')),
        [b'b', b'\'', ..] => Some(1 + quoted(&text[1..], '\'')),
        [b'\'', ..] => Some(character_or_lifetime(text)),
        _ => None,
    }
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, _) in text.char_indices() {
        if text[at..].starts_with("/*") {
            depth += 1;
        } else if text[..at].ends_with("*/") && at > 3 {
            depth -= 1;
            if depth == 0 {
                return at;
            }
        }
    }
    text.len()
}

/// `r"..."`, `r#"..."#` and so on, also as bytes.
fn raw_text(text: &str) -> Option<usize> {
    let after = text.trim_start_matches(['b', 'c']).strip_prefix('r')?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let body = after[hashes..].strip_prefix('"')?;
    let prefix = text.len() - body.len();
    if prefix > hashes + 3 {
        return None;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    let length = body.find(&end).map_or(body.len(), |at| at + end.len());
    Some(prefix + length)
}

fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, sign) in text.char_indices().skip(1) {
        match sign {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            sign if sign == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn character_or_lifetime(text: &str) -> usize {
    let mut signs = text.char_indices().skip(1);
    let (first, second) = (signs.next(), signs.next());
    match (first, second) {
        (Some((_, '\\')), _) | (_, Some((_, '\''))) => quoted(text, '\''),
        _ => 1 + word(&text[1..]),
    }
}

/// The tokens without every item under `#[cfg(test)]` or `#[cfg(all(test, ..))]`.
fn without_tests<'a>(tokens: &[&'a str]) -> Vec<&'a str> {
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match is_for_tests(&tokens[at..]) {
            true => at += item(&tokens[at..]),
            false => {
                kept.push(tokens[at]);
                at += 1;
            }
        }
    }
    kept
}

fn is_for_tests(tokens: &[&str]) -> bool {
    tokens.starts_with(&["#", "[", "cfg", "(", "test"])
        || tokens.starts_with(&["#", "[", "cfg", "(", "all", "(", "test"])
}

/// How long the item that begins here is, its attributes included.
fn item(tokens: &[&str]) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "{" | "(" | "[" => depth += 1,
            ")" | "]" => depth -= 1,
            "}" if depth == 1 => return at + 1,
            "}" => depth -= 1,
            ";" if depth == 0 => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}

mod tests {
    use super::*;

    #[test]
    fn comments_texts_and_lifetimes_say_nothing() {
        let source = r##"
            // crate::a
            /// crate::b
            /* crate::c /* crate::d */ crate::e */
            let f: &'static str = "crate::g \" crate::h";
            let i = r#"crate::j " crate::k"#; let l = b"crate::m"; let n = ('"', '\'', b'"', '{');
            o"##;
        let wanted = "let f : & str = ; let i = ; let l = ; let n = ( , , , ) ; o";
        assert_eq!(tokens(source).join(" "), wanted);
    }

    #[test]
    fn what_only_tests_see_is_left_out() {
        let source = "
            a(); #[cfg(test)] mod tests; b();
            #[cfg(test)] #[allow(x)] fn c() -> [u8; 2] { if d { e } } f();
            #[cfg(all(test, not(loom)))] mod tests { mod g { } use h::{i, j}; }
            #[cfg(not(test))] k();
            #[cfg(feature = \"x\")] l();";
        let wanted = "a ( ) ; b ( ) ; f ( ) ; # [ cfg ( not ( test ) ) ] k ( ) ; # [ cfg ( feature = ) ] l ( ) ;";
        assert_eq!(tokens(source).join(" "), wanted);
    }

    #[test]
    fn an_unfinished_text_ends_with_its_source() {
        for source in [
            "\"a",
            "/* a",
            "r#\"a",
            "'",
            "'\\",
            "// a",
            "#[cfg(test)] mod a {",
        ] {
            assert_eq!(tokens(source).join(" ").trim_matches('\''), "", "{source}");
        }
    }
}
