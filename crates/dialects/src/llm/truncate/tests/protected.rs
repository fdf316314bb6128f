use super::*;

/// The pointer of the cut, where the long text stands in for what must stay.
fn beside(protected: &str) -> Option<String> {
    let long = "x".repeat(50);
    place(&protected.replace("LONG", &long)).map(|(pointer, ..)| pointer)
}

#[test]
fn nobody_but_users_tools_and_earlier_assistants_is_cut() {
    for role in [
        "system",
        "developer",
        "SYSTEM",
        "System",
        "critic",
        "platform",
        "root",
        "",
    ] {
        let body = format!(
            r#"{{"messages":[{{"role":"{role}","content":"LONG"}},{{"role":"user","content":"abcd"}}]}}"#
        );
        assert_eq!(
            beside(&body).as_deref(),
            Some("/messages/1/content"),
            "{role}"
        );
        let body = format!(
            r#"{{"input":[{{"role":"{role}","content":[{{"type":"input_text","text":"LONG"}}]}},{{"role":"user","content":"abcd"}}]}}"#
        );
        assert_eq!(beside(&body).as_deref(), Some("/input/1/content"), "{role}");
    }
    let nobody = r#"{"messages":[{"content":"LONG"},{"role":null,"content":"LONG"}]}"#;
    assert_eq!(beside(nobody), None);
}

#[test]
fn members_beside_the_conversation_stay() {
    for member in [
        r#""system":"LONG""#,
        r#""system":[{"type":"text","text":"LONG"}]"#,
        r#""instructions":"LONG""#,
        r#""systemInstruction":{"parts":[{"text":"LONG"}]}"#,
        r#""system_instruction":{"parts":[{"text":"LONG"}]}"#,
        r#""tools":[{"type":"function","function":{"name":"f","description":"LONG"}}]"#,
        r#""suffix":"LONG""#,
        r#""prediction":{"type":"content","content":"LONG"}"#,
        r#""metadata":{"messages":[{"role":"user","content":"LONG"}]}"#,
        r#""stop":["LONG"]"#,
    ] {
        let body = format!(r#"{{{member},"messages":[{{"role":"user","content":"abcd"}}]}}"#);
        assert_eq!(
            beside(&body).as_deref(),
            Some("/messages/0/content"),
            "{member}"
        );
        let body = format!(r#"{{"contents":[{{"parts":[{{"text":"abcd"}}]}}],{member}}}"#);
        assert_eq!(
            beside(&body).as_deref(),
            Some("/contents/0/parts/0/text"),
            "{member}"
        );
    }
}

#[test]
fn blocks_that_are_no_text_stay() {
    for block in [
        r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"LONG"}}"#,
        r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,LONG"}}"#,
        r#"{"type":"input_image","image_url":"data:LONG"}"#,
        r#"{"type":"input_audio","input_audio":{"data":"LONG","format":"wav"}}"#,
        r#"{"type":"file","file":{"file_data":"LONG"}}"#,
        r#"{"type":"input_file","file_data":"LONG"}"#,
        r#"{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"LONG"}}"#,
        r#"{"type":"document","source":{"type":"url","url":"LONG"},"context":"LONG","title":"LONG"}"#,
        r#"{"type":"thinking","thinking":"LONG","signature":"LONG"}"#,
        r#"{"type":"thinking","text":"LONG"}"#,
        r#"{"type":"redacted_thinking","data":"LONG"}"#,
        r#"{"type":"reasoning","text":"LONG"}"#,
        r#"{"type":"refusal","refusal":"LONG"}"#,
        r#"{"type":"tool_use","id":"t","name":"f","input":{"text":"LONG","content":"LONG"}}"#,
        r#"{"type":"server_tool_use","input":{"query":"LONG"}}"#,
        r#"{"type":"text","text":"data:image/png;base64,LONG"}"#,
        r#"{"type":"text","text":"DATA:image\/png;base64,LONG+\/=="}"#,
        r#"{"toolUse":{"toolUseId":"t","name":"f","input":{"text":"LONG"}}}"#,
        r#"{"reasoningContent":{"reasoningText":{"text":"LONG","signature":"LONG"}}}"#,
        r#"{"image":{"format":"png","source":{"bytes":"LONG"}}}"#,
        r#"{"document":{"format":"pdf","name":"n","source":{"bytes":"LONG"}}}"#,
        r#"{"toolResult":{"toolUseId":"t","content":[{"json":{"text":"LONG"}},{"image":{"source":{"bytes":"LONG"}}}]}}"#,
    ] {
        let body = format!(
            r#"{{"messages":[{{"role":"user","content":[{block},{{"type":"text","text":"abcd"}}]}}]}}"#
        );
        assert_eq!(
            beside(&body).as_deref(),
            Some("/messages/0/content/1/text"),
            "{block}"
        );
    }
}

#[test]
fn gemini_parts_that_are_no_text_stay() {
    for part in [
        r#"{"inlineData":{"mimeType":"image/png","data":"LONG"}}"#,
        r#"{"inline_data":{"mime_type":"image/png","data":"LONG"}}"#,
        r#"{"fileData":{"fileUri":"LONG"}}"#,
        r#"{"functionCall":{"name":"f","args":{"text":"LONG","result":"LONG"}}}"#,
        r#"{"text":"LONG","thought":true}"#,
        r#"{"thought":true,"text":"LONG"}"#,
        r#"{"text":"LONG","thoughtSignature":"c2ln"}"#,
        r#"{"executableCode":{"language":"PYTHON","code":"LONG"}}"#,
        r#"{"functionResponse":{"name":"LONG","response":{"rows":["LONG"]}}}"#,
    ] {
        let body = format!(
            r#"{{"contents":[{{"role":"user","parts":[{part},{{"text":"abcd","thought":false}}]}}]}}"#
        );
        assert_eq!(
            beside(&body).as_deref(),
            Some("/contents/0/parts/1/text"),
            "{part}"
        );
    }
}

#[test]
fn items_that_are_no_messages_stay() {
    for item in [
        r#"{"type":"function_call","call_id":"c","name":"f","arguments":"LONG"}"#,
        r#"{"type":"custom_tool_call","input":"LONG"}"#,
        r#"{"type":"reasoning","summary":[{"type":"summary_text","text":"LONG"}],"content":[{"type":"reasoning_text","text":"LONG"}],"encrypted_content":"LONG"}"#,
        r#"{"type":"computer_call_output","output":{"type":"computer_screenshot","image_url":"data:LONG"}}"#,
        r#"{"type":"compaction","encrypted_content":"LONG"}"#,
        r#"{"type":"mcp_call","arguments":"LONG","output":"LONG"}"#,
        r#"{"type":"local_shell_call_output","output":"LONG"}"#,
        r#"{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":"LONG"}]}"#,
        r#"{"type":"item_reference","id":"LONG"}"#,
    ] {
        let body = format!(r#"{{"input":[{item},{{"role":"user","content":"abcd"}}]}}"#);
        assert_eq!(beside(&body).as_deref(), Some("/input/1/content"), "{item}");
    }
}

#[test]
fn calls_and_reasons_of_an_assistant_stay() {
    let body = r#"{"messages":[{"role":"assistant","content":null,"reasoning_content":"LONG","refusal":"LONG",
        "tool_calls":[{"function":{"arguments":"LONG"}}],"function_call":{"arguments":"LONG"}},
        {"role":"tool","content":"abcd"}]}"#;
    assert_eq!(beside(body).as_deref(), Some("/messages/1/content"));
}

#[test]
fn a_last_assistant_turn_is_a_prefill() {
    for (before, prefill) in [("user", "assistant"), ("user", "model")] {
        let body = format!(
            r#"{{"messages":[{{"role":"{before}","content":"abcd"}},{{"role":"{prefill}","content":"LONG"}}]}}"#
        );
        assert_eq!(beside(&body).as_deref(), Some("/messages/0/content"));
    }
    let run = r#"{"messages":[{"role":"assistant","content":"abcdef"},{"role":"user","content":"abcd"},
        {"role":"assistant","content":"LONG"},{"role":"assistant","content":[{"text":"LONG"}]}]}"#;
    assert_eq!(beside(run).as_deref(), Some("/messages/0/content"));
    let gemini = r#"{"contents":[{"role":"user","parts":[{"text":"abcd"}]},{"role":"model","parts":[{"text":"LONG"}]}]}"#;
    assert_eq!(beside(gemini).as_deref(), Some("/contents/0/parts/0/text"));
    let items =
        r#"{"input":[{"role":"user","content":"abcd"},{"role":"assistant","content":"LONG"}]}"#;
    assert_eq!(beside(items).as_deref(), Some("/input/0/content"));
    assert_eq!(
        beside(r#"{"messages":[{"role":"assistant","content":"LONG"}]}"#),
        None
    );
}

#[test]
fn an_assistant_turn_that_was_answered_is_history() {
    let body = r#"{"messages":[{"role":"user","content":"abcd"},{"role":"assistant","content":"LONG"},
        {"role":"assistant","content":"ab"},{"role":"user","content":"x"}]}"#;
    assert_eq!(beside(body).as_deref(), Some("/messages/1/content"));
    let body = r#"{"input":[{"role":"assistant","content":[{"type":"output_text","text":"LONG"}]},
        {"type":"function_call","arguments":"{}"},{"type":"function_call_output","output":"abcd"}]}"#;
    assert_eq!(beside(body).as_deref(), Some("/input/0/content/0/text"));
}

#[test]
fn text_that_only_begins_like_a_data_url_is_text() {
    for raw in [
        "data: 1, 2, 3 and so on",
        "data:\\nabc",
        "data:{\\\"a\\\":1}",
        "data:一二三四",
        "dat",
    ] {
        assert!(cut_of(&a_user_says(raw)).is_some(), "{raw}");
    }
    assert!(cut_of(&a_user_says("data:,abc%20def")).is_none());
}
