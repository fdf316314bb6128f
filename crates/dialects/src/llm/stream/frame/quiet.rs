//! Events without output: beginnings, empty chunks, token counts.

use super::{is_silent, is_silent_member};
use serde_json::Value;

/// Members that label the output to come. An encrypted beginning of a thought is not yet a thought.
const LABELS: [&str; 12] = [
    "type",
    "role",
    "id",
    "index",
    "status",
    "name",
    "namespace",
    "call_id",
    "toolUseId",
    "phase",
    "caller",
    "encrypted_content",
];

/// Other members that may occur beside the choices or the candidates of a chunk.
const ABOUT_THE_CHUNK: [&str; 16] = [
    "id",
    "object",
    "created",
    "model",
    "usage",
    "system_fingerprint",
    "service_tier",
    "provider",
    "x_groq",
    "choices",
    "candidates",
    "usageMetadata",
    "modelVersion",
    "responseId",
    "createTime",
    "trafficType",
];

/// Returns `true` if an event of this kind holds no output and ends nothing.
pub(super) fn is_quiet(kind: &str, event: &Value) -> bool {
    let silent = |path: &str| {
        event
            .pointer(path)
            .is_none_or(|value| is_silent(value, &LABELS))
    };
    match kind {
        "message_start" => silent("/message/content"),
        "message_delta" => silent("/delta/stop_reason"),
        "content_block_start" => silent("/content_block"),
        "content_block_stop" | "content-end" | "tool-call-end" | "stream-start" => true,
        "message-start" | "content-start" | "tool-call-start" => silent("/delta"),
        "response.created" | "response.queued" | "response.in_progress" => {
            silent("/response/output")
        }
        "response.output_item.added" => silent("/item"),
        "response.content_part.added" | "response.reasoning_summary_part.added" => silent("/part"),
        delta if is_delta(delta) => event.get("delta").is_some() && silent("/delta"),
        _ => is_quiet_converse(event) || is_quiet_chunk(event),
    }
}

fn is_delta(kind: &str) -> bool {
    matches!(
        kind,
        "content_block_delta" | "content-delta" | "tool-plan-delta" | "tool-call-delta"
    ) || kind.starts_with("response.") && kind.ends_with(".delta")
}

/// Bedrock's converse: the only member of an event names it.
fn is_quiet_converse(event: &Value) -> bool {
    if event.get("messageStart").is_some() || event.get("contentBlockStop").is_some() {
        return true;
    }
    ["contentBlockStart", "contentBlockDelta"]
        .into_iter()
        .filter_map(|kind| event.get(kind))
        .any(|block| {
            is_silent_member(block, "start", &LABELS) && is_silent_member(block, "delta", &LABELS)
        })
}

/// A chunk of a chat completion, a completion or a Gemini response.
fn is_quiet_chunk(event: &Value) -> bool {
    let list = |member: &str| event.get(member).and_then(Value::as_array);
    if let Some(choices) = list("choices") {
        return choices.iter().all(is_quiet_choice);
    }
    if let Some(candidates) = list("candidates").filter(|list| !list.is_empty()) {
        return candidates.iter().all(is_quiet_candidate);
    }
    let Some(members) = event.as_object() else {
        return false;
    };
    // Without choices or candidates a chunk is quiet only if all of its members are known.
    let refused = event.pointer("/promptFeedback/blockReason").is_some();
    !refused
        && members
            .keys()
            .all(|name| ABOUT_THE_CHUNK.contains(&name.as_str()) || name == "promptFeedback")
}

fn is_quiet_choice(choice: &Value) -> bool {
    let known = ["delta", "text", "message", "finish_reason"]
        .iter()
        .any(|member| choice.get(member).is_some());
    let silent = |member: &str| is_silent_member(choice, member, &["role", "type", "id"]);
    known && silent("finish_reason") && silent("delta") && silent("text") && silent("message")
}

fn is_quiet_candidate(candidate: &Value) -> bool {
    let ended = candidate
        .get("finishReason")
        .and_then(Value::as_str)
        .is_some_and(|reason| !matches!(reason, "" | "FINISH_REASON_UNSPECIFIED"));
    !ended && is_silent_member(candidate, "content", &["role"])
}
