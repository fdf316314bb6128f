//! Errors in the events of a stream, converted to the form of an error body.

use super::{ERROR, is_silent};
use serde_json::{Map, Value, json};

/// Returns the error of an event: as it was sent if it has the form of an error body, else converted to that form.
///
/// For `response.failed` this is the failed response, for a Bedrock exception the body of the corresponding error
/// response (`__type` and the message), and for an error deeper inside an object with it as `error`.
pub(super) fn found(name: &str, members: &Map<String, Value>, text: &str) -> Option<Vec<u8>> {
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
    if let Some(error) = inner(members) {
        return Some(json!({ ERROR: error }).to_string().into_bytes());
    }
    exception(members)
}

/// Converts an error in plain text.
pub(super) fn from_text(text: &str) -> Vec<u8> {
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
fn inner(members: &Map<String, Value>) -> Option<&Value> {
    let holders = ["x_groq", "delta"]
        .into_iter()
        .filter_map(|holder| members.get(holder));
    holders
        .chain(choices(members))
        .filter_map(|holder| holder.get(ERROR))
        .find(|error| is_error_value(error))
}

/// Converts a member such as `throttlingException`, which makes the whole event an error.
fn exception(members: &Map<String, Value>) -> Option<Vec<u8>> {
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
