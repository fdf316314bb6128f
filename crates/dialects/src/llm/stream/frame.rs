//! The kind of one event of a stream: an error, output, or neither.

mod error;
mod quiet;

use serde_json::Value;

/// The meaning of an event for bytes that are held back.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// No output yet: a keep-alive, or a beginning.
    Quiet,
    /// A part of the output, its end, or something unknown, since the hold must end at some point.
    Output,
    /// An error, in the form of an error body.
    Error(Vec<u8>),
}

/// The last event of OpenAI and compatible APIs.
pub(super) const DONE: &str = "[DONE]";

const KEEP_ALIVES: [&str; 5] = ["ping", "keepalive", "keep-alive", "keep_alive", "heartbeat"];
const ERROR: &str = "error";

/// Judges an event of a stream.
pub(super) fn judge(name: &str, data: &str) -> Frame {
    let text = data.trim();
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Array(elements)) => elements.first().map_or(Frame::Output, |first| {
            judge_value(name, first, &first.to_string())
        }),
        Ok(value) => judge_value(name, &value, text),
        Err(_) => judge_text(name, text),
    }
}

/// Judges a JSON body that was sent instead of a stream: an error, or else output.
pub(super) fn judge_body(body: &str) -> Frame {
    match judge("", body) {
        Frame::Error(error) => Frame::Error(error),
        _ => Frame::Output,
    }
}

fn judge_value(name: &str, value: &Value, text: &str) -> Frame {
    let Value::Object(members) = value else {
        return judge_text(name, text);
    };
    if let Some(error) = error::found(name, members, text) {
        return Frame::Error(error);
    }
    let kind = kind(name, value);
    let keep_alive = KEEP_ALIVES.contains(&kind) || KEEP_ALIVES.contains(&name);
    if keep_alive || quiet::is_quiet(kind, value) {
        Frame::Quiet
    } else {
        Frame::Output
    }
}

/// Judges data that is not a JSON object.
fn judge_text(name: &str, text: &str) -> Frame {
    if name == ERROR {
        return Frame::Error(error::from_text(text));
    }
    let empty = text.is_empty() && matches!(name, "" | "message");
    if empty || KEEP_ALIVES.contains(&name) {
        Frame::Quiet
    } else {
        Frame::Output
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
