//! async-openai: a chat completion, and one as a stream.

mod client;

use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::types::chat::CreateChatCompletionRequest;
use clients::{Answer, Meant, Result, Server, answer, json, same, status};
use futures_util::StreamExt;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What the server asks for with its 429.
const ASKED: Duration = Duration::from_millis(400);

const COMPLETION: &str = r#"{"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [
    {"index": 0, "finish_reason": "stop", "logprobs": null, "message": {"role": "assistant", "content": "yes"}}]}"#;

#[tokio::main]
async fn main() -> Result {
    let (server, times) = refusing(0, || json(200, COMPLETION)).await?;
    let request =
        json!({"model": "m", "messages": [{"role": "user", "content": "x".repeat(100_000)}]});
    let request: CreateChatCompletionRequest = serde_json::from_value(request)?;
    let started = Instant::now();
    let completion = client(&server)?.chat().create(request.clone()).await?;
    meant(&serde_json::to_vec(&request)?).check("async-openai", &server, started)?;
    let said = completion
        .choices
        .first()
        .and_then(|choice| choice.message.content.as_deref());
    same(said, Some("yes"))?;
    times.check(0)?;

    let (server, times) = refusing(1, || pieces(&["piece ", "by ", "piece"])).await?;
    let started = Instant::now();
    let mut stream = client(&server)?
        .chat()
        .create_stream(request.clone())
        .await?;
    let mut said = Vec::new();
    while let Some(chunk) = stream.next().await {
        let choices = chunk?.choices.into_iter();
        said.extend(choices.filter_map(|choice| choice.delta.content));
    }
    let streamed = CreateChatCompletionRequest {
        stream: Some(true),
        ..request
    };
    meant(&serde_json::to_vec(&streamed)?).check("async-openai, a stream", &server, started)?;
    same(said, ["piece ", "by ", "piece"])?;
    times.check(1)
}

/// The time of each request.
#[derive(Clone, Default)]
struct Times(Arc<Mutex<Vec<Instant>>>);

impl Times {
    fn note(&self) {
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        times.push(Instant::now());
    }

    /// What followed the 429 was sent no earlier than the server asked.
    fn check(&self, limited: usize) -> Result {
        let times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pair = times.get(limited).zip(times.get(limited + 1));
        let waited = pair.map(|(refused, next)| *next - *refused);
        same(waited >= Some(ASKED), true)
    }
}

/// Refuses twice, with 429 and a time to the request of that number, and otherwise with 503.
async fn refusing(
    limited: usize,
    then: impl Fn() -> Answer + Send + Sync + 'static,
) -> Result<(Server, Times)> {
    let times = Times::default();
    let noted = times.clone();
    let server = Server::start(move |number, _| {
        noted.note();
        match number {
            2.. => then(),
            _ if number == limited => {
                let mut answer = status(429);
                let asked = ASKED.as_millis() as u64;
                answer.headers_mut().insert("retry-after-ms", asked.into());
                answer
            }
            _ => status(503),
        }
    });
    Ok((server.await?, times))
}

fn client(server: &Server) -> Result<Client<OpenAIConfig>> {
    let config = OpenAIConfig::new().with_api_base(&server.url);
    Ok(client::client(config.with_api_key("sk-1"))?)
}

fn meant(body: &[u8]) -> Meant<'_> {
    Meant {
        attempts: 3,
        method: "POST",
        target: "/chat/completions",
        body,
    }
}

/// An answer as a stream, in these pieces.
fn pieces(words: &[&str]) -> Answer {
    let events = words.iter().map(|word| event(json!({"content": word})));
    let events = events.chain(["data: [DONE]\n\n".to_owned()]);
    answer(200, "text/event-stream", events.collect::<String>())
}

fn event(delta: Value) -> String {
    let chunk = json!({"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": null, "logprobs": null}]});
    format!("data: {chunk}\n\n")
}
