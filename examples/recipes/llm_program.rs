use http_retry::llm::LlmPreset;
use http_retry::reqwest::{RetryMiddleware, build};
use http_retry::{RetryPolicy, RetryReport};
use reqwest::redirect::Policy;
use serde_json::{Value, json};
use std::time::Duration;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::var("LLM_URL")?; // such as http://localhost:11434/v1/chat/completions
    let key = std::env::var("LLM_KEY").unwrap_or_default();

    let policy = RetryPolicy::llm()
        .to_builder()
        .attempt_timeout(Duration::from_secs(2 * 60)) // the model may think
        .deadline(Duration::from_secs(10 * 60)) // with all waits
        .whole_responses(1 << 20) // both limits cover the body, up to 1 MiB, too; streams are not held
        .build()?;
    let retries = RetryMiddleware::new(policy);
    let client = build(reqwest::Client::builder(), Policy::default(), retries)?.build();

    let question = json!({
        "model": "small",
        "messages": [{"role": "user", "content": "Why is the sky blue? One sentence."}],
    });
    let slot = RetryReport::slot();
    let request = client.post(url).bearer_auth(key).json(&question);
    let sent = request.with_extension(slot.clone()).send().await;
    // Also if the call failed: which attempts, which waits, and why no more of them.
    if let Some(report) = slot.take().filter(|report| report.retries() > 0) {
        eprintln!("{report}");
    }
    let response = sent?;
    if !response.status().is_success() {
        return Err(format!("{}: {}", response.status(), response.text().await?).into());
    }
    let answer: Value = response.json().await?;
    let text = answer.pointer("/choices/0/message/content");
    println!("{}", text.and_then(Value::as_str).unwrap_or_default());
    Ok(())
}
