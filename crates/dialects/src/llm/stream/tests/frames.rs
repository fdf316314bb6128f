mod output;

use super::*;

/// A stream of these events, each with its name where it has one.
fn stream(events: &[(&str, Value)]) -> Peeked {
    let lines = events.iter().map(|(name, data)| match *name {
        "" => format!("data: {data}\n\n"),
        name => format!("event: {name}\ndata: {data}\n\n"),
    });
    seen(&lines.collect::<String>())
}

fn of(data: &[Value]) -> Peeked {
    stream(
        &data
            .iter()
            .map(|data| ("", data.clone()))
            .collect::<Vec<_>>(),
    )
}

fn choice(delta: &Value) -> Value {
    json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "usage": null,
        "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": null}]})
}

fn candidate(parts: &Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}], "modelVersion": "m"})
}

fn chat_completions_begin() -> Vec<Value> {
    vec![
        choice(&json!({"role": "assistant"})),
        choice(&json!({"role": "assistant", "content": "", "refusal": null})),
        choice(
            &json!({"content": null, "tool_calls": [], "provider_specific_fields": {"x": null}}),
        ),
        choice(&json!({})),
        json!({"choices": [], "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {}}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": null,
            "content_filter_results": {"hate": {"filtered": false, "severity": "safe"}}}]}),
        json!({"id": "c", "object": "chat.completion.chunk", "choices": null, "usage": {"total_tokens": 1}}),
        json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}], "x_groq": {"id": "r"}}),
        json!({"choices": [{"text": "", "index": 0, "logprobs": null, "finish_reason": null}]}),
    ]
}

fn responses_begin() -> Vec<Value> {
    vec![
        json!({"type": "response.created", "response": {"status": "in_progress", "error": null, "output": []}}),
        json!({"type": "response.queued"}),
        json!({"type": "response.in_progress", "response": {"id": "r", "output": []}}),
        json!({"type": "response.output_item.added", "output_index": 0,
            "item": {"id": "i", "type": "message", "status": "in_progress", "role": "assistant", "content": []}}),
        json!({"type": "response.output_item.added",
            "item": {"id": "i", "type": "reasoning", "summary": [], "encrypted_content": "gAAA"}}),
        json!({"type": "response.output_item.added",
            "item": {"id": "i", "type": "function_call", "call_id": "c", "name": "f", "arguments": ""}}),
        json!({"type": "response.content_part.added",
            "part": {"type": "output_text", "annotations": [], "logprobs": [], "text": ""}}),
        json!({"type": "response.reasoning_summary_part.added", "part": {"type": "summary_text", "text": ""}}),
        json!({"type": "response.output_text.delta", "delta": "", "obfuscation": "x"}),
    ]
}

fn messages_begin() -> Vec<Value> {
    vec![
        json!({"type": "message_start", "message": {"id": "m", "content": [], "usage": {"input_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_start", "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
        json!({"type": "content_block_start", "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": ""}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": null}, "usage": {"output_tokens": 0}}),
    ]
}

fn others_begin() -> Vec<Value> {
    vec![
        // Gemini.
        json!({"usageMetadata": {"promptTokenCount": 4}, "modelVersion": "m", "responseId": "r"}),
        candidate(&json!([{"text": ""}])),
        json!({"candidates": [{"index": 0, "finishReason": "FINISH_REASON_UNSPECIFIED"}]}),
        // Bedrock.
        json!({"messageStart": {"role": "assistant"}}),
        json!({"contentBlockStart": {"start": {"toolUse": {"toolUseId": "t", "name": "f"}}, "contentBlockIndex": 0}}),
        json!({"contentBlockDelta": {"delta": {"text": ""}, "contentBlockIndex": 0}}),
        json!({"contentBlockStop": {"contentBlockIndex": 0}}),
        // Cohere.
        json!({"type": "message-start", "id": "m", "delta": {"message": {"role": "assistant", "content": [], "tool_plan": ""}}}),
        json!({"type": "content-start", "index": 0, "delta": {"message": {"content": {"type": "text", "text": ""}}}}),
        json!({"is_finished": false, "event_type": "stream-start", "generation_id": "g"}),
    ]
}

#[test]
fn beginnings_are_held_back() {
    let begin = [
        chat_completions_begin(),
        responses_begin(),
        messages_begin(),
        others_begin(),
    ];
    for quiet in begin.concat() {
        assert_eq!(
            of(std::slice::from_ref(&quiet)),
            Peeked::Incomplete,
            "{quiet}"
        );
        let failed = json!({"error": {"type": "server_error"}});
        assert_eq!(of(&[quiet.clone(), failed]), failure(), "{quiet}");
    }
}

#[test]
fn an_empty_answer_is_an_answer() {
    for last in [
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
        json!({"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "content_filter"}]}),
        json!({"type": "response.completed", "response": {"status": "completed", "error": null, "output": []}}),
        json!({"type": "response.incomplete", "response": {"incomplete_details": {"reason": "max_output_tokens"}}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": null}}),
        json!({"type": "message_stop"}),
        json!({"candidates": [{"finishReason": "STOP", "index": 0}], "usageMetadata": {}}),
        json!({"candidates": [{"finishReason": "SAFETY", "safetyRatings": []}]}),
        json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {}}),
        json!({"messageStop": {"stopReason": "end_turn"}}),
        json!({"type": "message-end", "delta": {"finish_reason": "COMPLETE", "error": null}}),
        json!({"is_finished": true, "event_type": "stream-end", "finish_reason": "COMPLETE"}),
    ] {
        assert_eq!(
            of(&[choice(&json!({"role": "assistant"})), last.clone()]),
            Peeked::Output,
            "{last}"
        );
    }
    assert_eq!(seen("data: [DONE]\n\n"), Peeked::Output);
    assert_eq!(seen("event: done\ndata: [DONE]\n\n"), Peeked::Output);
}

#[test]
fn errors_that_are_error_bodies_are_given_as_they_came() {
    for failed in [
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "request_id": "r"}),
        json!({"type": "error", "code": "server_error", "message": "m", "param": null, "sequence_number": 1}),
        json!({"error": {"code": 503, "message": "m", "status": "UNAVAILABLE"}}),
        json!({"error": "Model is overloaded", "error_type": "overloaded"}),
        json!({"object": "error", "message": "m", "type": "internal", "code": 500}),
        json!({"type": "overloaded_error", "message": "m"}),
        json!({"__type": "ThrottlingException", "message": "m"}),
        json!({"id": "g", "error": {"code": 502, "message": "m"},
            "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "error"}]}),
        json!({"type": "response.failed", "response": {"status": "failed", "error": null}}),
    ] {
        let first = choice(&json!({"role": "assistant", "content": ""}));
        assert!(same(&of(&[first, failed.clone()]), &failed), "{failed}");
    }
    let named = json!({"message": "slow down", "code": "Throttling"});
    assert!(same(&stream(&[("error", named.clone())]), &named));
    let silent = json!({"choices": [{"delta": {"content": "Hi"}}], "error": null});
    assert_eq!(of(&[silent]), Peeked::Output);
}

#[test]
fn errors_deeper_inside_are_brought_up() {
    let response = json!({"id": "r", "status": "failed", "error": {"code": "rate_limit_exceeded", "message": "m"}});
    let failed = json!({"type": "response.failed", "sequence_number": 3, "response": response});
    assert!(same(&of(&[failed]), &response));
    for (event, wanted) in [
        (
            json!({"throttlingException": {"message": "m"}}),
            json!({"__type": "ThrottlingException", "message": "m"}),
        ),
        (
            json!({"modelStreamErrorException": {"message": "m", "originalStatusCode": 500}}),
            json!({"__type": "ModelStreamErrorException", "message": "m", "originalStatusCode": 500}),
        ),
        (
            json!({"internalServerException": "m"}),
            json!({"__type": "InternalServerException", "message": "m"}),
        ),
        (
            json!({"choices": [{"delta": {}, "finish_reason": "error", "error": {"code": 429, "message": "m"}}]}),
            json!({"error": {"code": 429, "message": "m"}}),
        ),
        (
            json!({"choices": [{"delta": {}, "finish_reason": null}], "x_groq": {"id": "r", "error": "over capacity"}}),
            json!({"error": "over capacity"}),
        ),
        (
            json!({"type": "message-end", "delta": {"finish_reason": "ERROR", "error": "upstream"}}),
            json!({"error": "upstream"}),
        ),
        (
            json!([{"error": {"code": 429}}]),
            json!({"error": {"code": 429}}),
        ),
    ] {
        assert!(same(&of(std::slice::from_ref(&event)), &wanted), "{event}");
    }
}

#[test]
fn an_error_in_plain_words_becomes_one() {
    let told = json!({"error": {"message": "Overloaded"}});
    assert!(same(&seen("event: error\ndata: Overloaded\n\n"), &told));
    let nothing = json!({"error": {"message": ""}});
    assert!(same(&seen("event: error\ndata:\n\n"), &nothing));
}

#[test]
fn the_name_of_an_event_stands_in_for_its_type() {
    let start = ("message_start", json!({"message": {"content": []}}));
    let open = (
        "content_block_start",
        json!({"index": 0, "content_block": {"type": "text", "text": ""}}),
    );
    let text = ("content_block_delta", json!({"delta": {"text": "Hi"}}));
    let failed = ("error", json!({"error": {"type": "server_error"}}));
    assert_eq!(stream(&[start.clone(), open.clone()]), Peeked::Incomplete);
    assert_eq!(
        stream(&[start.clone(), open.clone(), failed.clone()]),
        failure()
    );
    assert_eq!(stream(&[start, open, text, failed]), Peeked::Output);
}

#[test]
fn what_nests_too_deep_is_unknown_and_let_go() {
    let deep = format!("data: {}{}\n\n", "[".repeat(20_000), "]".repeat(20_000));
    assert_eq!(seen(&deep), Peeked::Output);
}
