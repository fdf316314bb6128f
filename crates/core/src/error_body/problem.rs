//! Cloudflare's own error pages as `application/problem+json`, which state whether a retry can help. Read without a
//! JSON parser, which the core does not have.

/// The most bytes that are scanned: such a page has less than 1,500.
const MAX_BYTES: usize = 4 * 1024;

/// Returns `true` if the start of a body is a JSON object with the members `"retryable": false` and
/// `"cloudflare_error": true`. If one of them occurs twice, it must be so each time.
///
/// # Source
///
/// developers.cloudflare.com, "Structured error responses".
pub(super) fn rules_out_retry(text: &str) -> bool {
    let bytes = text.as_bytes();
    let start = bytes.get(..MAX_BYTES).unwrap_or(bytes);
    let mut page = Page::default();
    let mut tokens = Tokens(start);
    if tokens.next() != Some(Token::Open(b'{')) {
        return false;
    }
    let mut depth = 1_u32;
    for token in tokens {
        if depth == 1 {
            page.add(token);
        }
        depth = match token {
            Token::Open(_) => depth.saturating_add(1),
            Token::Close => depth.saturating_sub(1),
            _ => depth,
        };
        if depth == 0 {
            break;
        }
    }
    page.retryable == Some(false) && page.by_cloudflare == Some(true)
}

/// The members of the outermost object that count.
#[derive(Default)]
struct Page<'a> {
    /// The last string, and the key whose value comes next.
    string: Option<&'a [u8]>,
    key: Option<&'a [u8]>,
    retryable: Option<bool>,
    by_cloudflare: Option<bool>,
}

impl<'a> Page<'a> {
    fn add(&mut self, token: Token<'a>) {
        let value = match token {
            Token::Colon => {
                self.key = self.string.take();
                return;
            }
            Token::Comma => {
                (self.key, self.string) = (None, None);
                return;
            }
            Token::String(text) => {
                self.string = Some(text);
                None
            }
            Token::Word(b"true") => Some(true),
            Token::Word(b"false") => Some(false),
            Token::Word(_) | Token::Open(_) | Token::Close => None,
        };
        // Anything but the value that matters, also beside it, is the other one.
        match self.key.take() {
            Some(b"retryable") => {
                let is_retryable = self.retryable == Some(true) || value != Some(false);
                self.retryable = Some(is_retryable);
            }
            Some(b"cloudflare_error") => {
                let by_cloudflare = self.by_cloudflare != Some(false) && value == Some(true);
                self.by_cloudflare = Some(by_cloudflare);
            }
            _ => {}
        }
    }
}

/// A token of JSON; a word is a number or a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Open(u8),
    Close,
    Colon,
    Comma,
    /// The text between its quotes, with its escapes as they are.
    String(&'a [u8]),
    Word(&'a [u8]),
}

/// The tokens of a text. A string that is cut off ends them.
struct Tokens<'a>(&'a [u8]);

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let text = self.0.trim_ascii_start();
        let (first, rest) = text.split_first()?;
        let (token, rest) = match first {
            b'{' | b'[' => (Token::Open(*first), rest),
            b'}' | b']' => (Token::Close, rest),
            b':' => (Token::Colon, rest),
            b',' => (Token::Comma, rest),
            b'"' => {
                let (string, rest) = rest.split_at_checked(end_of_string(rest)?)?;
                (Token::String(string), rest.get(1..)?)
            }
            _ => {
                let ends = |byte: &u8| b"{}[]:,\"".contains(byte) || byte.is_ascii_whitespace();
                let end = text.iter().position(ends).unwrap_or(text.len());
                let (word, rest) = text.split_at_checked(end)?;
                (Token::Word(word), rest)
            }
        };
        self.0 = rest;
        Some(token)
    }
}

/// Returns the position of the quote that ends a string.
fn end_of_string(text: &[u8]) -> Option<usize> {
    let mut escaped = false;
    text.iter().position(|byte| {
        let ends = *byte == b'"' && !escaped;
        escaped = *byte == b'\\' && !escaped;
        ends
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_members_of_the_outermost_object_rule_a_retry_out() {
        for text in [
            r#"{"retryable":false,"cloudflare_error":true}"#,
            r#"{"cloudflare_error":true,"retryable":false}"#,
            "{\n\t\"retryable\" :\r\n false ,\n \"cloudflare_error\" : true\n}\n",
            r#"{"a":{"retryable":true},"retryable":false,"b":[{"cloudflare_error":false}],"cloudflare_error":true}"#,
            r#"{"detail":"\"retryable\": true, {[","retryable":false,"cloudflare_error":true}"#,
            r#"{"detail":"ends in \\","retryable":false,"x":"\\\"","cloudflare_error":true}"#,
            r#"{"detail":"caf\u00e9 é","status":530,"n":null,"retryable":false,"cloudflare_error":true}"#,
            r#"{"retryable":false,"retryable":false,"cloudflare_error":true}"#,
            // Cut off behind both.
            r#"{"retryable":false,"cloudflare_error":true,"detail":"The cert"#,
        ] {
            assert!(rules_out_retry(text), "{text}");
        }
    }

    #[test]
    fn anything_else_rules_nothing_out() {
        for text in [
            "",
            "false",
            "{",
            "{}",
            r#"{"retryable":false}"#,
            r#"{"cloudflare_error":true}"#,
            r#"{"retryable":true,"cloudflare_error":true}"#,
            r#"{"retryable":false,"cloudflare_error":false}"#,
            r#"{"retryable":"false","cloudflare_error":true}"#,
            r#"{"retryable":0,"cloudflare_error":1}"#,
            r#"{"retryable":falsehood,"cloudflare_error":true}"#,
            r#"{"retryable":null,"cloudflare_error":true}"#,
            r#"{"retryable":{},"cloudflare_error":true}"#,
            r#"{"Retryable":false,"Cloudflare_Error":true}"#,
            r#"{"a":{"retryable":false,"cloudflare_error":true}}"#,
            r#"[{"retryable":false,"cloudflare_error":true}]"#,
            r#"["retryable",false,"cloudflare_error",true]"#,
            r#"{"detail":"\"retryable\":false,\"cloudflare_error\":true"}"#,
            r#"{"retryable":false,"retryable":true,"cloudflare_error":true}"#,
            r#"{"retryable":true,"retryable":false,"cloudflare_error":true}"#,
            r#"{"retryable":false,"cloudflare_error":true,"cloudflare_error":false}"#,
            r#"{"retryable":[false],"cloudflare_error":[true]}"#,
            r#"{"x":"retryable","y":false,"cloudflare_error":true}"#,
            r#"{"retryable":fal"#,
            r#"{"retryable":false} {"cloudflare_error":true}"#,
            "data: {\"retryable\":false,\"cloudflare_error\":true}",
        ] {
            assert!(!rules_out_retry(text), "{text}");
        }
    }

    #[test]
    fn only_the_first_4_kib_are_scanned() {
        let after = |blanks: usize| {
            let blanks = " ".repeat(blanks);
            format!(r#"{{"retryable":false,{blanks}"cloudflare_error":true}}"#)
        };
        assert!(rules_out_retry(&after(4_000)));
        assert!(!rules_out_retry(&after(4_096)));
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "[{}\\[\\]:, \"\\\\]{0,4}(\"retryable\"|\"cloudflare_error\"|true|false|é|[{}:,\"\\\\]){0,40}") {
            let _ = rules_out_retry(&text);
        }

        /// The scan agrees with a parser on every object.
        #[test]
        fn it_agrees_with_a_parser(
            members in proptest::collection::vec(("(retryable|cloudflare_error|x|\"|\\\\)", member()), 0..6),
        ) {
            use serde_json::Value;
            let object: serde_json::Map<String, Value> = members.into_iter().collect();
            let wanted = object.get("retryable") == Some(&Value::Bool(false))
                && object.get("cloudflare_error") == Some(&Value::Bool(true));
            let object = Value::Object(object);
            proptest::prop_assert_eq!(rules_out_retry(&object.to_string()), wanted);
            let pretty = serde_json::to_string_pretty(&object).unwrap();
            proptest::prop_assert_eq!(rules_out_retry(&pretty), wanted);
        }
    }

    fn member() -> impl proptest::strategy::Strategy<Value = serde_json::Value> {
        use proptest::prelude::*;
        use serde_json::{Value, json};
        prop_oneof![
            any::<bool>().prop_map(Value::Bool),
            any::<bool>().prop_map(Value::Bool),
            Just(Value::Null),
            any::<i64>().prop_map(|number| json!(number)),
            "[a-z\"\\\\:,{}é]{0,8}".prop_map(Value::String),
            any::<bool>().prop_map(|value| json!({"retryable": value, "cloudflare_error": !value})),
            any::<bool>().prop_map(|value| json!(["retryable", value])),
        ]
    }
}
