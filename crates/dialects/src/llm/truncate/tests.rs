mod place;
mod properties;
mod protected;
mod share;
mod sizes;

use super::*;
use serde_json::{Value, json};

fn cut_of(body: &str) -> Option<Rewritten> {
    cut(body.as_bytes(), Keep::Head, Fraction::default())
}

/// Returns the place of the cut, and the number of characters there before and after.
fn place(body: &str) -> Option<(String, usize, usize)> {
    let cut = cut_of(body)?;
    let pointer = place::pointer(body.as_bytes(), &cut);
    Some((pointer, cut.before, cut.after))
}

fn place_in(body: &Value) -> Option<String> {
    place(&body.to_string()).map(|(pointer, ..)| pointer)
}

fn a_user_says(raw: &str) -> String {
    format!(r#"{{"messages":[{{"role":"user","content":"{raw}"}}]}}"#)
}

/// Returns the rest of a user's text, as it stands in the body.
fn left(raw: &str, keep: Keep) -> Option<String> {
    let shorter = cut(a_user_says(raw).as_bytes(), keep, Fraction::default())?.body;
    let shorter = String::from_utf8(shorter).ok()?;
    let rest = shorter.strip_prefix(r#"{"messages":[{"role":"user","content":""#)?;
    rest.strip_suffix(r#""}]}"#).map(str::to_owned)
}

fn messages(text: &str) -> Vec<(Value, &'static str)> {
    vec![
        (
            json!({"messages": [{"role": "user", "content": text}]}),
            "/messages/0/content",
        ),
        (
            json!({"messages": [{"role": "user", "content": [{"type": "text", "text": text}]}]}),
            "/messages/0/content/0/text",
        ),
        (
            json!({"messages": [{"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": text}]}]}),
            "/messages/0/content/0/text",
        ),
        (
            json!({"messages": [{"role": "function", "name": "f", "content": text}]}),
            "/messages/0/content",
        ),
        (
            json!({"messages": [{"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t", "content": text}]}]}),
            "/messages/0/content/0/content",
        ),
        (
            json!({"messages": [{"role": "user", "content": [
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}}]}]}),
            "/messages/0/content/0/source/data",
        ),
        (
            json!({"messages": [{"role": "user", "content": [{"document": {"name": "n", "source": {"text": text}}}]}]}),
            "/messages/0/content/0/document/source/text",
        ),
    ]
}

fn inputs(text: &str) -> Vec<(Value, &'static str)> {
    vec![
        (json!({"input": text}), "/input"),
        (json!({"input": ["a", text]}), "/input/1"),
        (
            json!({"input": [{"role": "user", "content": text}]}),
            "/input/0/content",
        ),
        (
            json!({"input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}]}),
            "/input/0/content/0/text",
        ),
        (
            json!({"input": [{"type": "function_call_output", "output": [{"type": "input_text", "text": text}]}]}),
            "/input/0/output/0/text",
        ),
        (
            json!({"input": [{"type": "custom_tool_call_output", "call_id": "c", "output": text}]}),
            "/input/0/output",
        ),
    ]
}

fn contents_and_prompts(text: &str) -> Vec<(Value, &'static str)> {
    vec![
        (
            json!({"contents": [{"parts": [{"text": text}]}]}),
            "/contents/0/parts/0/text",
        ),
        (
            json!({"contents": [{"role": "user", "parts": [
                {"functionResponse": {"name": "f", "response": {"output": text}}}]}]}),
            "/contents/0/parts/0/functionResponse/response/output",
        ),
        (json!({"prompt": text}), "/prompt"),
        (json!({"prompt": ["a", text, "b"]}), "/prompt/1"),
    ]
}

#[test]
fn every_shape_has_its_place() {
    let text = "0123456789";
    let shapes = [messages(text), inputs(text), contents_and_prompts(text)];
    for (body, pointer) in shapes.concat() {
        assert_eq!(place_in(&body).as_deref(), Some(pointer), "{body}");
    }
}

#[test]
fn the_oldest_of_the_longest_gives_way() {
    let turn = |text: &str| json!({"role": "user", "content": text});
    let body = json!({"messages": [turn("abc"), turn("abcd"), turn("漢字漢字"), turn("abcd")]});
    assert_eq!(place_in(&body).as_deref(), Some("/messages/1/content"));
    let twice = r#"{"prompt":"abcd","input":"abcd"}"#;
    assert_eq!(place(twice), Some(("/prompt".to_owned(), 4, 3)));
}

#[test]
fn lengths_are_characters_and_not_bytes() {
    let body =
        r#"{"messages":[{"role":"user","content":"漢字漢字"},{"role":"user","content":"abcde"}]}"#;
    assert_eq!(place(body), Some(("/messages/1/content".to_owned(), 5, 3)));
    let body = r#"{"messages":[{"role":"user","content":"\u0061\u0062\u0063"},{"role":"user","content":"abcd"}]}"#;
    assert_eq!(place(body), Some(("/messages/1/content".to_owned(), 4, 3)));
}

#[test]
fn what_is_kept_is_the_callers_text_and_nothing_else() {
    let text = "0123456789ABCDEFGHIJ";
    let kept = |keep| left(text, keep);
    assert_eq!(kept(Keep::Head).as_deref(), Some("0123456789ABCDE"));
    assert_eq!(kept(Keep::Tail).as_deref(), Some("56789ABCDEFGHIJ"));
    assert_eq!(kept(Keep::Ends).as_deref(), Some("0123456CDEFGHIJ"));
    assert_eq!(left("ab", Keep::Ends).as_deref(), Some("b"));
    assert_eq!(left("abcd", Keep::Ends).as_deref(), Some("acd"));
}

#[test]
fn escapes_are_characters_and_stay_as_they_were_sent() {
    let raw = r#"\n\"\\\/\u00e9\uD83D\uDE00\t\u0041"#;
    assert_eq!(
        left(raw, Keep::Head).as_deref(),
        Some(r#"\n\"\\\/\u00e9\uD83D\uDE00"#)
    );
    assert_eq!(
        left(raw, Keep::Tail).as_deref(),
        Some(r#"\\\/\u00e9\uD83D\uDE00\t\u0041"#)
    );
    assert_eq!(
        left(raw, Keep::Ends).as_deref(),
        Some(r#"\n\"\\\uD83D\uDE00\t\u0041"#)
    );
    let pairs = r"\ud83d\ude00\ud83d\ude01\ud83d\ude02\ud83e\udd23";
    assert_eq!(left(pairs, Keep::Head).as_deref(), Some(&pairs[..36]));
    assert_eq!(left(pairs, Keep::Tail).as_deref(), Some(&pairs[12..]));
}

#[test]
fn half_a_surrogate_pair_is_not_text() {
    for raw in [
        r"abc\ud83d",
        r"\ude00abc",
        r"a\ud83d\ud83dbc",
        r"\ud83d\u0041bc",
        r"\ud83d\n",
    ] {
        assert!(cut_of(&a_user_says(raw)).is_none(), "{raw}");
    }
    let other = r#"{"messages":[{"role":"user","content":"\ud83dabcdef"},{"role":"user","content":"abc"}]}"#;
    assert_eq!(place(other), Some(("/messages/1/content".to_owned(), 3, 2)));
}

#[test]
fn every_other_byte_stays() {
    let body = "\r\n { \"n\" : 1.0e+05 , \"messages\" :\t[ {\"content\" : \"abcd\\u0065\" , \"role\":\"user\"} ]\n, \"x\":[ ] } \n";
    let shorter = cut_of(body).map(|cut| cut.body);
    let wanted = body.replace("abcd\\u0065", "abc");
    assert_eq!(shorter, Some(wanted.into_bytes()));
}

#[test]
fn names_may_be_escaped() {
    let body = r#"{"mess\u0061ges":[{"\u0072ole":"us\u0065r","content":"abcd"}]}"#;
    assert_eq!(place(body), Some(("/messages/0/content".to_owned(), 4, 3)));
    let hidden = r#"{"messages":[{"role":"\u0073ystem","content":"abcd"}]}"#;
    assert!(cut_of(hidden).is_none());
}

#[test]
fn a_member_named_twice_leaves_the_body_alone() {
    for body in [
        r#"{"prompt":"abcd","prompt":"abc"}"#,
        r#"{"prompt":"abcd","pr\u006fmpt":"abc"}"#,
        r#"{"messages":[{"role":"user","role":"system","content":"abcd"}]}"#,
        r#"{"messages":[{"role":"user","content":"abc"},{"role":"user","content":"abcd","content":[]}]}"#,
    ] {
        assert!(cut_of(body).is_none(), "{body}");
    }
    let elsewhere = r#"{"prompt":"abcd","metadata":{"a":1,"a":2},"n":1,"n":1}"#;
    assert_eq!(place(elsewhere), Some(("/prompt".to_owned(), 4, 3)));
}

#[test]
fn what_is_not_json_in_utf8_is_left_alone() {
    for body in [
        &b""[..],
        b" ",
        b"null",
        b"\"abcdef\"",
        b"[\"abcdef\"]",
        b"{\"prompt\":\"abcd\"",
        b"{\"prompt\":\"abcd\"}}",
        b"{\"prompt\":\"abcd\"} {}",
        b"{\"prompt\":\"ab\ncd\"}",
        b"{\"prompt\":\"ab\\xcd\"}",
        b"{\"prompt\":\"ab\xff\xfe\"}",
        b"{\"prompt\":'abcd'}",
        b"\xef\xbb\xbf{\"prompt\":\"abcd\"}",
        b"\x1f\x8b\x08\x00",
        b"a=b&prompt=abcd",
    ] {
        assert!(
            cut(body, Keep::Head, Fraction::default()).is_none(),
            "{body:?}"
        );
    }
}

#[test]
fn members_of_another_type_are_not_read() {
    for body in [
        r#"{"messages":"abcdef"}"#,
        r#"{"messages":{"role":"user","content":"abcd"}}"#,
        r#"{"messages":[null,1,"abcd",["abcd"]]}"#,
        r#"{"messages":[{"role":"user","content":{"text":"abcd"}}]}"#,
        r#"{"messages":[{"role":7,"content":"abcd"}]}"#,
        r#"{"messages":[{"role":"user","content":[1,null,{"type":1,"text":"abcd"}]}]}"#,
        r#"{"prompt":[1,2,3],"input":[[1,2],[3]]}"#,
        r#"{"prompt":{"id":"pmpt_1","variables":{"a":"abcdef"}}}"#,
        r#"{"contents":[{"parts":{"text":"abcd"}}]}"#,
    ] {
        assert!(cut_of(body).is_none(), "{body}");
    }
}
