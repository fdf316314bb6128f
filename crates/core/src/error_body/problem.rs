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
    let mut tokens = tokens(bytes.get(..MAX_BYTES).unwrap_or(bytes));
    if tokens.next() != Some(b"{") {
        return false;
    }
    let mut are_as_wanted = [None; 2];
    // The last string, and the key whose value comes next.
    let (mut string, mut key) = (None, None);
    let mut depth = 1_u32;
    for token in tokens {
        match token {
            _ if depth > 1 => {}
            b":" => key = string.take(),
            b"," => (key, string) = (None, None),
            value => {
                if value.starts_with(b"\"") {
                    string = Some(value);
                }
                // Anything but the value that matters, also beside it, is the other one.
                let at = MEMBERS.iter().position(|(name, _)| key == Some(*name));
                let member = at.and_then(|at| are_as_wanted.get_mut(at).zip(MEMBERS.get(at)));
                if let Some((is_as_wanted, (_, wanted))) = member {
                    *is_as_wanted = Some(*is_as_wanted != Some(false) && value == *wanted);
                }
                key = None;
            }
        }
        depth = match token {
            b"{" | b"[" => depth.saturating_add(1),
            b"}" | b"]" => depth.saturating_sub(1),
            _ => depth,
        };
        if depth == 0 {
            break;
        }
    }
    are_as_wanted == [Some(true); 2]
}

/// The members of the outermost object that count, with their values.
const MEMBERS: [(&[u8], &[u8]); 2] = [
    (b"\"retryable\"", b"false"),
    (b"\"cloudflare_error\"", b"true"),
];

/// Returns the tokens of a text: punctuation, strings with their quotes and escapes, and words, which are numbers or
/// names. A string that is cut off ends them.
fn tokens(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let text = rest.trim_ascii_start();
        let (first, after) = text.split_first()?;
        let length = match first {
            b'{' | b'[' | b'}' | b']' | b':' | b',' => 1,
            b'"' => end_of_string(after)?.checked_add(2)?,
            _ => {
                let ends = |byte: &u8| b"{}[]:,\"".contains(byte) || byte.is_ascii_whitespace();
                text.iter().position(ends).unwrap_or(text.len())
            }
        };
        let (token, after) = text.split_at_checked(length)?;
        rest = after;
        Some(token)
    })
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
