//! Bodies that are large, deep or nothing but one text.

use super::*;

#[test]
fn depth_costs_neither_stack_nor_squared_time() {
    let deep = "[".repeat(200_000);
    let closed = "]".repeat(200_000);
    let body = format!(r#"{{"tools":{deep}{closed},"prompt":"abcd"}}"#);
    assert_eq!(place(&body), Some(("/prompt".to_owned(), 4, 3)));
    let results = r#"{"type":"tool_result","content":["#.repeat(20_000);
    let ends = "]}".repeat(20_000);
    let body = format!(r#"{{"messages":[{{"role":"user","content":[{results}{ends}]}}]}}"#);
    assert!(cut_of(&body).is_none());
}

#[test]
fn a_large_body_takes_time_by_its_size_alone() {
    let turn = r#"{"role":"user","content":[{"type":"text","text":"\u00e9 and so on"}]},"#;
    let turns = turn.repeat(60_000);
    let body = format!(
        r#"{{"messages":[{turns}{{"role":"user","content":"the longest of all of them"}}]}}"#
    );
    assert_eq!(
        place(&body),
        Some(("/messages/60000/content".to_owned(), 26, 19))
    );
    let growing: Vec<String> = (1..2_000)
        .map(|n| format!("\"{}\"", "x".repeat(n)))
        .collect();
    let body = format!(r#"{{"prompt":[{}]}}"#, growing.join(","));
    assert_eq!(
        place(&body),
        Some(("/prompt/1998".to_owned(), 1_999, 1_499))
    );
}

#[test]
fn the_largest_body_is_64_mib() {
    let mut body = br#"{"prompt":"abcd"}"#.to_vec();
    body.resize(MAX_BODY_BYTES, b' ');
    assert!(cut(&body, Keep::Head, Fraction::default()).is_some());
    body.push(b' ');
    assert!(cut(&body, Keep::Head, Fraction::default()).is_none());
}

#[test]
fn one_long_text_is_cut() {
    let text = "xé\\u0041😀".repeat(100_000);
    let cut = cut_of(&a_user_says(&text)).map(|cut| (cut.before, cut.after));
    assert_eq!(cut, Some((400_000, 300_000)));
}
