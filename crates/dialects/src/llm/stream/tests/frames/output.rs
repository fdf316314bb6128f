//! Output, after which a stream is the caller's.

use super::*;

fn output_of_chat_completions() -> Vec<Value> {
    vec![
        choice(&json!({"content": "Hi"})),
        choice(&json!({"content": " "})),
        choice(&json!({"content": [{"type": "text", "text": "Hi"}]})),
        choice(&json!({"reasoning_content": "Hm"})),
        choice(&json!({"reasoning": "Hm", "content": ""})),
        choice(&json!({"reasoning_details": [{"type": "reasoning.text", "text": "Hm"}]})),
        choice(&json!({"refusal": "No"})),
        choice(
            &json!({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": ""}}]}),
        ),
        choice(&json!({"function_call": {"name": "f", "arguments": ""}})),
        choice(&json!({"audio": {"id": "a", "data": "AAAA"}})),
        json!({"choices": [{"text": "Hi", "index": 0, "finish_reason": null}]}),
        json!({"choices": [{"index": 0}]}),
        json!({"choices": [{"message": {"role": "assistant", "content": "Hi"}}]}),
    ]
}

fn output_of_responses_and_messages() -> Vec<Value> {
    vec![
        json!({"type": "response.output_text.delta", "delta": "Hi"}),
        json!({"type": "response.function_call_arguments.delta", "delta": "{"}),
        json!({"type": "response.reasoning_summary_text.delta", "delta": "Hm"}),
        json!({"type": "response.refusal.delta", "delta": "No"}),
        json!({"type": "response.web_search_call.searching", "item_id": "i"}),
        json!({"type": "response.unheard_of.delta"}),
        json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Hi"}}),
        json!({"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "Hm"}}),
        json!({"type": "content_block_delta", "delta": {"type": "signature_delta", "signature": "c2ln"}}),
        json!({"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": "{"}}),
        json!({"type": "content_block_start", "content_block": {"type": "text", "text": "Hi"}}),
        json!({"type": "content_block_start", "content_block": {"type": "redacted_thinking", "data": "AAAA"}}),
        json!({"type": "content_block_start", "content_block": {"type": "web_search_tool_result", "content": [{"url": "u"}]}}),
    ]
}

fn output_of_others() -> Vec<Value> {
    vec![
        candidate(&json!([{"text": "Hi"}])),
        candidate(&json!([{"text": "Hm", "thought": true}])),
        candidate(&json!([{"functionCall": {"name": "f", "args": {}}}])),
        candidate(&json!([{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}])),
        json!({"contentBlockDelta": {"delta": {"text": "Hi"}, "contentBlockIndex": 0}}),
        json!({"contentBlockDelta": {"delta": {"reasoningContent": {"text": "Hm"}}}}),
        json!({"contentBlockIndex": 0, "delta": {"text": "Hi"}, "p": "abc"}),
        json!({"chunk": {"bytes": "eyJ9"}}),
        json!({"type": "content-delta", "delta": {"message": {"content": {"text": "Hi"}}}}),
        json!({"event_type": "text-generation", "text": "Hi"}),
        json!({"type": "something_new"}),
        json!({"code": 0, "message": "ok"}),
        json!([{"candidates": [{"content": {"parts": [{"text": "Hi"}]}}]}]),
        json!("Hi"),
        json!(7),
    ]
}

#[test]
fn output_lets_everything_go() {
    let output = [
        output_of_chat_completions(),
        output_of_responses_and_messages(),
        output_of_others(),
    ];
    for output in output.concat() {
        let failed = json!({"error": "late"});
        assert_eq!(of(&[output.clone(), failed]), Peeked::Output, "{output}");
    }
    assert_eq!(seen("data: Hi\n\n"), Peeked::Output);
    assert_eq!(seen("event: token\ndata: \n\n"), Peeked::Output);
}
