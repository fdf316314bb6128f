//! What one event of a stream is: an error, a part of the answer, or neither.

mod error;
mod quiet;

use serde_json::Value;

/// What an event means for bytes that are held back.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// Says nothing of the answer yet: a sign that the connection lives, or a beginning.
    Quiet,
    /// A part of the answer, its end, or something unknown: holding back must end some day.
    Output,
    /// An error, as an error body would have it.
    Error(Vec<u8>),
}

/// What OpenAI and its kin send last.
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

/// Judges a JSON body that came in the place of a stream: an error, or else the answer.
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

/// Data that is not a JSON object.
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

/// What sort of event it says it is; the name of the event stands in for it.
fn kind<'a>(name: &'a str, value: &'a Value) -> &'a str {
    ["type", "event_type"]
        .into_iter()
        .find_map(|member| value.get(member)?.as_str())
        .unwrap_or(name)
}

/// Whether a value says nothing, members with these names left aside: nothing, `false`, empty, or made of such.
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

/// The same of a member, which may be absent.
fn is_silent_member(value: &Value, member: &str, labels: &[&str]) -> bool {
    value
        .get(member)
        .is_none_or(|value| is_silent(value, labels))
}
