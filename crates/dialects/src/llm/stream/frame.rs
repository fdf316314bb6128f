//! The kind of one event of a stream: an error, output, or neither.

use super::Peeked;
use serde_json::{Map, Value, json};

/// The last event of OpenAI and compatible APIs.
pub(super) const DONE: &str = "[DONE]";

const KEEP_ALIVES: [&str; 5] = ["ping", "keepalive", "keep-alive", "keep_alive", "heartbeat"];
const ERROR: &str = "error";

/// Judges an event of a stream: a keep-alive or a beginning is held, and what is unknown is output, since the hold must
/// end at some point.
pub(super) fn judge(name: &str, data: &str) -> Peeked {
    let text = data.trim();
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Array(elements)) => elements.first().map_or(Peeked::Output, |first| {
            judge_value(name, first, &first.to_string())
        }),
        Ok(value) => judge_value(name, &value, text),
        Err(_) => judge_text(name, text),
    }
}

/// Judges a JSON body that was sent instead of a stream: an error, or else output.
pub(super) fn judge_body(body: &str) -> Peeked {
    match judge("", body) {
        Peeked::Error(error) => Peeked::Error(error),
        _ => Peeked::Output,
    }
}

fn judge_value(name: &str, value: &Value, text: &str) -> Peeked {
    let Value::Object(members) = value else {
        return judge_text(name, text);
    };
    if let Some(error) = find_error(name, members, text) {
        return Peeked::Error(error);
    }
    let kind = kind(name, value);
    let keep_alive = KEEP_ALIVES.contains(&kind) || KEEP_ALIVES.contains(&name);
    if keep_alive || is_quiet(kind, value) {
        Peeked::Hold
    } else {
        Peeked::Output
    }
}

/// Judges data that is not a JSON object.
fn judge_text(name: &str, text: &str) -> Peeked {
    if name == ERROR {
        return Peeked::Error(text_error(text));
    }
    let empty = text.is_empty() && matches!(name, "" | "message");
    if empty || KEEP_ALIVES.contains(&name) {
        Peeked::Hold
    } else {
        Peeked::Output
    }
}

/// Returns the type that the event declares, or else its name.
fn kind<'a>(name: &'a str, value: &'a Value) -> &'a str {
    ["type", "event_type"]
        .into_iter()
        .find_map(|member| value.get(member)?.as_str())
        .unwrap_or(name)
}

/// Returns `true` if a value is `null`, `false`, empty, or made of such values; members with these names are ignored.
fn is_silent(value: &Value, labels: &[&str]) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) | Value::Number(_) => false,
        Value::String(text) => text.is_empty(),
        Value::Array(elements) => elements.iter().all(|element| is_silent(element, labels)),
        Value::Object(members) => members
            .iter()
            .all(|(name, value)| labels.contains(&name.as_str()) || is_silent(value, labels)),
    }
}

/// Returns `true` if a member is absent or silent.
fn is_silent_member(value: &Value, member: &str, labels: &[&str]) -> bool {
    value
        .get(member)
        .is_none_or(|value| is_silent(value, labels))
}

/// Returns the error of an event: as it was sent if it has the form of an error body, else converted to that form.
///
/// For `response.failed` this is the failed response, for a Bedrock exception the body of the corresponding error
/// response (`__type` and the message), and for an error deeper inside an object with it as `error`.
fn find_error(name: &str, members: &Map<String, Value>, text: &str) -> Option<Vec<u8>> {
    let response = members.get("response").filter(|response| {
        response
            .get(ERROR)
            .is_some_and(|error| !is_silent(error, &[]))
    });
    if let Some(response) = response {
        return Some(response.to_string().into_bytes());
    }
    if name == ERROR || is_error(name, members) {
        return Some(text.as_bytes().to_vec());
    }
    if let Some(error) = inner_error(members) {
        return Some(json!({ ERROR: error }).to_string().into_bytes());
    }
    exception_error(members)
}

/// Converts an error in plain text.
fn text_error(text: &str) -> Vec<u8> {
    json!({ ERROR: { "message": text } })
        .to_string()
        .into_bytes()
}

/// Returns `true` if the object itself is an error body.
fn is_error(name: &str, members: &Map<String, Value>) -> bool {
    let word = |member: &str| members.get(member).and_then(Value::as_str);
    let own_kind = word("type").unwrap_or(name);
    matches!(own_kind, ERROR | "response.error" | "response.failed")
        || own_kind.ends_with("_error")
        || word("object") == Some(ERROR)
        || members.contains_key("__type")
        || members.get(ERROR).is_some_and(is_error_value)
        || choices(members).any(|choice| ends_in_error(choice) && !has_error(choice))
}

/// Returns an error inside an event: that of a choice, of Groq, or of Cohere's last event.
fn inner_error(members: &Map<String, Value>) -> Option<&Value> {
    let holders = ["x_groq", "delta"]
        .into_iter()
        .filter_map(|holder| members.get(holder));
    holders
        .chain(choices(members))
        .filter_map(|holder| holder.get(ERROR))
        .find(|error| is_error_value(error))
}

/// Converts a member such as `throttlingException`, which makes the whole event an error.
fn exception_error(members: &Map<String, Value>) -> Option<Vec<u8>> {
    let (name, value) = members
        .iter()
        .find(|(name, value)| name.ends_with("Exception") && is_error_value(value))?;
    let mut body = match value {
        Value::Object(inside) => inside.clone(),
        other => Map::from_iter([("message".to_owned(), other.clone())]),
    };
    body.insert("__type".to_owned(), Value::String(capitalised(name)));
    Some(Value::Object(body).to_string().into_bytes())
}

fn capitalised(name: &str) -> String {
    let mut chars = name.chars();
    let first = chars.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}

fn choices(members: &Map<String, Value>) -> impl Iterator<Item = &Value> {
    let choices = members.get("choices").and_then(Value::as_array);
    choices.into_iter().flatten()
}

fn has_error(holder: &Value) -> bool {
    holder.get(ERROR).is_some_and(is_error_value)
}

fn ends_in_error(choice: &Value) -> bool {
    choice.get("finish_reason").and_then(Value::as_str) == Some(ERROR)
}

/// Returns `true` if the value of an `error` member is a real error.
fn is_error_value(error: &Value) -> bool {
    !error.is_number() && !error.is_boolean() && !is_silent(error, &[])
}

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
fn is_quiet(kind: &str, event: &Value) -> bool {
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
