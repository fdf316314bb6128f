use super::*;
use proptest::prelude::*;

const KEEPS: [Keep; 3] = [Keep::Head, Keep::Tail, Keep::Ends];

/// A string as it may stand in a body: every character plain or escaped, as the numbers say.
fn written(text: &str, styles: &[u8]) -> String {
    let mut units = [0_u16; 2];
    let mut raw = String::from("\"");
    for (char, style) in text.chars().zip(styles.iter().cycle()) {
        if style % 3 == 0 {
            for unit in char.encode_utf16(&mut units) {
                raw.push_str(&format!("\\u{unit:04X}"));
            }
        } else {
            let quoted = Value::from(char.to_string()).to_string();
            raw.push_str(&quoted[1..quoted.len() - 1]);
        }
    }
    raw.push('"');
    raw
}

fn a_string() -> impl Strategy<Value = String> {
    let texts = prop_oneof![
        "\\PC{0,12}",
        "[a\\\\\"/\n\t\u{1}é漢😀🙂]{0,20}",
        Just("data:image/png;base64,AAAA".to_owned()),
    ];
    (texts, prop::collection::vec(any::<u8>(), 1..4))
        .prop_map(|(text, styles)| written(&text, &styles))
}

fn a_block() -> impl Strategy<Value = String> {
    let kind = prop::sample::select(vec![
        "text",
        "input_text",
        "thinking",
        "image",
        "output_text",
    ]);
    prop_oneof![
        (kind, a_string())
            .prop_map(|(kind, text)| format!(r#"{{"text" :{text},"type":"{kind}"}}"#)),
        a_string().prop_map(|text| format!(r#"{{"text":{text}}}"#)),
        a_string().prop_map(|text| format!(r#"{{"type":"tool_result","content":{text}}}"#)),
        a_string()
            .prop_map(|text| format!(r#"{{"toolResult":{{"content":[{{"text":{text}}}]}}}}"#)),
        a_string().prop_map(|text| format!(r#"{{"type":"tool_use","input":{{"text":{text}}}}}"#)),
    ]
}

fn a_turn() -> impl Strategy<Value = String> {
    let role = prop::sample::select(vec![
        "user",
        "assistant",
        "system",
        "tool",
        "developer",
        "model",
    ]);
    let content = prop_oneof![
        a_string(),
        prop::collection::vec(a_block(), 0..4)
            .prop_map(|blocks| format!("[{}]", blocks.join(" , "))),
        Just("null".to_owned()),
    ];
    (
        role,
        content,
        any::<bool>(),
        prop::sample::select(vec!["content", "parts", "output"]),
    )
        .prop_map(|(role, content, role_first, name)| {
            if role_first {
                format!(r#"{{"role":"{role}","{name}":{content}}}"#)
            } else {
                format!("{{\"{name}\": {content},\n\"role\": \"{role}\"}}")
            }
        })
}

fn a_request() -> impl Strategy<Value = String> {
    let place = prop::sample::select(vec!["messages", "input", "contents"]);
    let turns = prop::collection::vec(a_turn(), 0..6);
    (place, turns, a_string(), a_string()).prop_map(|(place, turns, prompt, system)| {
        let turns = turns.join(",");
        format!(r#"{{"system":{system}, "{place}":[{turns}], "prompt" : {prompt},"n":1.50}}"#)
    })
}

fn as_text<'a>(body: &'a Value, pointer: &str) -> &'a str {
    body.pointer(pointer).and_then(Value::as_str).unwrap()
}

fn parse(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap()
}

/// Returns `true` if `new` is `old` without one run of characters, at the place that the mode says.
fn is_kept(keep: Keep, old: &str, new: &str) -> bool {
    let chars: Vec<char> = old.chars().collect();
    let kept = new.chars().count();
    let head = match keep {
        Keep::Head => kept,
        Keep::Tail => 0,
        Keep::Ends => kept / 2,
    };
    let (front, back) = (&chars[..head], &chars[chars.len() - (kept - head)..]);
    front.iter().chain(back).collect::<String>() == new
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn one_text_is_shorter_and_nothing_else_differs(request in a_request(), mode in 0_usize..3, share in 1_u32..999_999) {
        let keep = KEEPS[mode];
        if let Some(cut) = cut(request.as_bytes(), keep, Fraction::millionths(share)) {
            let (mut old, new) = (parse(request.as_bytes()), parse(&cut.body));
            let pointer = place::pointer(request.as_bytes(), &cut);
            let (before, after) = (as_text(&old, &pointer), as_text(&new, &pointer));
            prop_assert_eq!(before.chars().count(), cut.before);
            prop_assert_eq!(after.chars().count(), cut.after);
            prop_assert!(0 < cut.after && cut.after < cut.before);
            prop_assert!(is_kept(keep, before, after));
            *old.pointer_mut(&pointer).unwrap() = after.into();
            prop_assert_eq!(old, new);
            let gone = request.len() - cut.body.len();
            let start = request.bytes().zip(&cut.body).take_while(|(a, b)| a == *b).count();
            prop_assert!((0..=start).any(|at| request.as_bytes()[at + gone..] == cut.body[at..]));
        }
    }

    #[test]
    fn repeated_cuts_end_and_leave_one_character(request in a_request(), mode in 0_usize..3) {
        let mut body = request.into_bytes();
        let most = body.len();
        let mut cuts = 0;
        while let Some(next) = cut(&body, KEEPS[mode], Fraction::fitting(9, 10)) {
            body = next.body;
            cuts += 1;
            prop_assert!(cuts <= most);
        }
    }

    #[test]
    fn the_longest_text_of_simple_turns_is_cut(texts in prop::collection::vec("\\PC{0,9}", 1..6), styles: [u8; 4]) {
        let turns: Vec<String> = texts
            .iter()
            .map(|text| format!(r#"{{"role":"user","content":{}}}"#, written(text, &styles)))
            .collect();
        let body = format!(r#"{{"messages":[{}]}}"#, turns.join(","));
        let chars = |text: &String| text.chars().count();
        let most = texts.iter().map(chars).max().unwrap_or(0);
        let wanted = texts
            .iter()
            .position(|text| chars(text) == most && most > 1)
            .map(|oldest| (format!("/messages/{oldest}/content"), most));
        let found = place(&body).map(|(pointer, before, _)| (pointer, before));
        prop_assert_eq!(found, wanted);
    }

    #[test]
    fn no_bytes_make_it_panic(request in a_request(), at: prop::sample::Index, byte: u8, end: prop::sample::Index) {
        let mut body = request.into_bytes();
        let at = at.index(body.len());
        body[at] = byte;
        if let Some(cut) = cut(&body, Keep::Ends, Fraction::default()) {
            prop_assert!(serde_json::from_slice::<serde::de::IgnoredAny>(&cut.body).is_ok());
        }
        body.truncate(end.index(body.len()));
        prop_assert!(cut(&body, Keep::Tail, Fraction::default()).is_none());
    }
}
