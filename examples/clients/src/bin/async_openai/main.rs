//! async-openai: a chat completion.

mod client;

use async_openai::config::OpenAIConfig;
use async_openai::types::chat::CreateChatCompletionRequest;
use clients::{Meant, Result, Server, json, same};
use serde_json::json;
use std::time::Instant;

const COMPLETION: &str = r#"{"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [
    {"index": 0, "finish_reason": "stop", "logprobs": null, "message": {"role": "assistant", "content": "yes"}}]}"#;

#[tokio::main]
async fn main() -> Result {
    let server = Server::unavailable(2, || json(200, COMPLETION)).await?;
    let started = Instant::now();
    let config = OpenAIConfig::new()
        .with_api_base(&server.url)
        .with_api_key("sk-1");
    let client = client::client(config)?;
    let request =
        json!({"model": "m", "messages": [{"role": "user", "content": "x".repeat(100_000)}]});
    let request: CreateChatCompletionRequest = serde_json::from_value(request)?;
    let answer = client.chat().create(request.clone()).await?;
    let meant = Meant {
        attempts: 3,
        method: "POST",
        target: "/chat/completions",
        body: &serde_json::to_vec(&request)?,
    };
    meant.check("async-openai", &server, started)?;
    let said = answer
        .choices
        .first()
        .and_then(|choice| choice.message.content.as_deref());
    same(said, Some("yes"))
}
