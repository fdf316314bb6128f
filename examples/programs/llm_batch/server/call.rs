//! What a client sent, checked.

use super::answers::{Refusal, error};
use hyper::Method;
use hyper::header::AUTHORIZATION;
use hyper::http::request::Parts;
use serde_json::Value;

/// No key is longer.
const MOST_KEY: usize = 256;
/// No more is said back of what was said, in characters.
const MOST_SAID_BACK: usize = 200;
/// The bytes of a token, for a server that cannot tell better.
const BYTES_PER_TOKEN: usize = 4;
const INVALID: &str = "invalid_request_error";

/// The key of a call that is for this server.
pub(super) fn checked(head: &Parts) -> Result<String, Refusal> {
    if head.uri.path() != "/v1/chat/completions" {
        return Err(error(404, INVALID, "unknown_url", "There is no such URL."));
    }
    if head.method != Method::POST {
        let only = "Only POST is accepted here.";
        return Err(error(405, INVALID, "method_not_supported", only));
    }
    let given = head.headers.get(AUTHORIZATION);
    let key = given
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.strip_prefix("Bearer "))
        .filter(|key| !key.is_empty() && key.len() <= MOST_KEY);
    match key {
        Some(key) => Ok(key.to_owned()),
        None => Err(error(
            401,
            INVALID,
            "invalid_api_key",
            "Incorrect API key provided.",
        )),
    }
}

/// A request for a completion.
pub(super) struct Call {
    pub(super) model: String,
    pub(super) streamed: bool,
    /// What the last message says, as far as it is said back.
    pub(super) said: String,
    pub(super) tokens: u64,
    completion: u64,
}

impl Call {
    pub(super) fn parse(body: &[u8]) -> Result<Self, Refusal> {
        let bad = |why| error(400, INVALID, "invalid_value", why);
        let call: Value = serde_json::from_slice(body).map_err(|_| bad("This is not JSON."))?;
        let messages = call.get("messages").and_then(Value::as_array);
        let messages = messages.ok_or_else(|| bad("The messages are missing."))?;
        let last = messages.last().ok_or_else(|| bad("There is no message."))?;
        let bytes: usize = messages.iter().flat_map(texts).map(str::len).sum();
        let model = call.get("model").and_then(Value::as_str);
        Ok(Self {
            model: cut(model.unwrap_or("fake")),
            streamed: call.get("stream") == Some(&Value::Bool(true)),
            said: cut(&texts(last).concat()),
            tokens: u64::try_from(bytes.div_ceil(BYTES_PER_TOKEN)).unwrap_or(u64::MAX),
            completion: ["max_completion_tokens", "max_tokens"]
                .iter()
                .find_map(|name| call.get(name).and_then(Value::as_u64))
                .unwrap_or_default(),
        })
    }

    /// This call, if it is no longer than the model's context.
    pub(super) fn within(self, context: Option<u64>) -> Result<Self, Refusal> {
        let (tokens, completion) = (self.tokens, self.completion);
        let asked = tokens.saturating_add(completion);
        let Some(most) = context.filter(|most| asked > *most) else {
            return Ok(self);
        };
        let message = match completion {
            0 => format!(
                "This model's maximum context length is {most} tokens. However, your messages resulted in {tokens} tokens. \
                 Please reduce the length of the messages."
            ),
            _ => format!(
                "This model's maximum context length is {most} tokens. However, you requested {asked} tokens ({tokens} in \
                 the messages, {completion} in the completion). Please reduce the length of the messages or completion."
            ),
        };
        Err(error(400, INVALID, "context_length_exceeded", message))
    }
}

fn texts(message: &Value) -> Vec<&str> {
    match message.get("content") {
        Some(Value::String(text)) => vec![text],
        Some(Value::Array(parts)) => parts
            .iter()
            .filter_map(|part| part.get("text").and_then(Value::as_str))
            .collect(),
        _ => Vec::new(),
    }
}

fn cut(text: &str) -> String {
    text.chars().take(MOST_SAID_BACK).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(body: &str) -> Result<Call, u16> {
        Call::parse(body.as_bytes()).map_err(|refusal| refusal.answer().status().as_u16())
    }

    #[test]
    fn what_is_no_call_is_refused() {
        let deep = format!("{{\"messages\":{}", "[".repeat(100_000));
        for body in [
            "",
            "{",
            "[]",
            "{}",
            r#"{"messages":[]}"#,
            r#"{"messages":7}"#,
            &deep,
        ] {
            assert_eq!(parse(body).err(), Some(400), "{body:.40}");
        }
    }

    #[test]
    fn every_text_counts_and_little_is_said_back() {
        let long = "é".repeat(1_000);
        let body = format!(
            r#"{{"messages":[{{"content":"abcd"}},{{"content":[{{"text":"{long}"}},{{"image":1}}]}}],"max_tokens":9}}"#
        );
        let call = parse(&body).unwrap();
        assert_eq!((call.tokens, call.said.chars().count()), (501, 200));
        assert!(call.within(Some(509)).is_err());
        assert!(parse(&body).unwrap().within(Some(510)).is_ok());
    }
}
