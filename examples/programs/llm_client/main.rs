//! Retries under async-openai: its client sends through the layer, and does not know.
//!
//! A server in this process refuses twice before each answer: with 429 and a delay, and with 503. async-openai asks for a
//! chat completion, and for one as a stream; each is answered at the third attempt, and anything else is an error.
//!
//! `cargo run --all-features --example llm_client`
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "printing is what it is for"
)]

#[path = "../llm_batch/server/server.rs"]
mod server;

use anyhow::{Context, Result, ensure};
use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use async_openai::middleware::HttpRequestFactory;
use async_openai::types::chat::{
    ChatCompletionRequestUserMessage, CreateChatCompletionRequest, CreateChatCompletionRequestArgs,
};
use futures_util::StreamExt;
use http::StatusCode;
use http_retry::llm::LlmPreset;
use http_retry::reqwest::redirect_policy;
use http_retry::tower::{Retry, RetryLayer};
use http_retry::{RetryBudget, RetryPolicy, RetryReport, StopReason};
use server::{Hint, LlmServer, Rules, Trouble, chosen};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tower::{Layer, ServiceExt, service_fn};

/// What the server asks for with its 429.
const ASKED: Duration = Duration::from_millis(400);

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match ask_twice().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("llm_client: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn ask_twice() -> Result<()> {
    let server = LlmServer::start(Rules {
        hint: Hint::Millis,
        trouble: chosen([
            (1, Trouble::RateLimited(ASKED)),
            (2, Trouble::Unavailable),
            (4, Trouble::Unavailable),
            (5, Trouble::RateLimited(ASKED)),
        ]),
        ..Rules::default()
    })
    .await?;
    let stories = Stories::default();
    let client = client(server.url(), &stories)?;

    println!("a chat completion:");
    let answer = chat(&client, "one and all").await?;
    println!("{answer}\n{}", stories.check([429, 503, 200])?);
    ensure!(answer == "You said: one and all", "not this answer");

    println!("\na chat completion as a stream:");
    let answer = streamed(&client, "piece by piece").await?;
    println!("{}\n{}", answer.join("|"), stories.check([503, 429, 200])?);
    ensure!(
        answer.concat() == "You said: piece by piece",
        "not this answer"
    );
    ensure!(answer.len() == 5, "not a piece for each word");
    ensure!(
        server.calls() == 6,
        "the server saw {} attempts",
        server.calls()
    );
    Ok(())
}

/// The client of async-openai over reqwest, with retries between the two instead of its own.
fn client(url: &str, stories: &Stories) -> Result<Client<OpenAIConfig>> {
    let followed = redirect_policy(reqwest::redirect::Policy::default());
    let plain = reqwest::Client::builder().no_proxy().redirect(followed);
    let plain = plain.build()?;
    let retries = RetryLayer::new(RetryPolicy::llm())
        .redirects_watched()
        .budget(RetryBudget::default())
        .layer(plain);
    let stories = stories.clone();
    let service = service_fn(move |request: HttpRequestFactory| {
        send(request, retries.clone(), stories.clone())
    });
    let config = OpenAIConfig::new()
        .with_api_base(url)
        .with_api_key("sk-of-the-client");
    Ok(Client::with_config(config).with_http_service(service))
}

/// What async-openai hands over makes requests; one is enough, since the layer repeats it by itself.
async fn send(
    request: HttpRequestFactory,
    retries: Retry<reqwest::Client>,
    stories: Stories,
) -> Result<reqwest::Response, OpenAIError> {
    let request = request.build().await?;
    let response = retries.oneshot(request).await?;
    stories.keep(response.extensions().get());
    Ok(response)
}

async fn chat(client: &Client<OpenAIConfig>, words: &str) -> Result<String> {
    let answer = client.chat().create(request(words)?).await?;
    let choice = answer.choices.into_iter().next().context("no choice")?;
    choice.message.content.context("no content")
}

/// The pieces, in which there is something.
async fn streamed(client: &Client<OpenAIConfig>, words: &str) -> Result<Vec<String>> {
    let mut stream = client.chat().create_stream(request(words)?).await?;
    let mut pieces = Vec::new();
    while let Some(chunk) = stream.next().await {
        let choices = chunk?.choices.into_iter();
        pieces.extend(choices.filter_map(|choice| choice.delta.content));
    }
    pieces.retain(|piece| !piece.is_empty());
    Ok(pieces)
}

fn request(words: &str) -> Result<CreateChatCompletionRequest> {
    let message = ChatCompletionRequestUserMessage::from(words);
    let request = CreateChatCompletionRequestArgs::default()
        .model("fake")
        .messages([message.into()])
        .build()?;
    Ok(request)
}

/// The reports of the requests, in their order.
#[derive(Clone, Default)]
struct Stories(Arc<Mutex<Vec<RetryReport>>>);

impl Stories {
    fn keep(&self, report: Option<&RetryReport>) {
        let mut reports = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        reports.extend(report.cloned());
    }

    /// The only report that is there, if it tells of these answers and of the wait that the server asked for.
    fn check(&self, statuses: [u16; 3]) -> Result<RetryReport> {
        let mut reports = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let report = reports.pop().context("no report")?;
        ensure!(reports.is_empty(), "one report too many");
        let attempts = report.attempts.iter();
        let seen: Vec<_> = attempts.filter_map(|attempt| attempt.status).collect();
        ensure!(seen == statuses, "not these attempts:\n{report}");
        ensure!(
            report.stop == StopReason::Succeeded,
            "no success:\n{report}"
        );
        ensure!(keeps_to(ASKED, &report), "too early:\n{report}");
        Ok(report)
    }
}

/// Whether what followed the 429 was sent no earlier than the server asked.
fn keeps_to(asked: Duration, report: &RetryReport) -> bool {
    let attempts = &report.attempts;
    let mut pairs = attempts.iter().zip(attempts.iter().skip(1));
    pairs.any(|(refused, next)| {
        let due = refused.started.saturating_add(asked);
        refused.status == Some(StatusCode::TOO_MANY_REQUESTS) && next.started >= due
    })
}
