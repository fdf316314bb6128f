//! One policy and one shared budget on two HTTP stacks: reqwest, and hyper-util with the tower layer.
//!
//! A server of its own answers each stack 503, a cut connection, 429 with `Retry-After: 1`, and 200. Every attempt is
//! printed as it happens; at the end the outcome is checked, and anything else than what is said here is an error.
//!
//! `cargo run --all-features --example quickstart`, or in the repository, where it builds fewer crates,
//! `cargo run -p quickstart --example quickstart`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "printing is what it is for"
)]

use anyhow::{Context, bail, ensure};
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::Full;
use http_retry::policy::{Decimal, DelaySource};
use http_retry::report::{Observer, RetryEvent, RetryEventKind};
use http_retry::reqwest::{RetryMiddleware, build};
use http_retry::runtime::{Runtime, TokioRuntime};
use http_retry::tower::RetryLayer;
use http_retry::{Backoff, ErrorKind, RetryBudget, RetryPolicy, RetryReport};
use hyper_util::client::legacy::Client as HyperClient;
use hyper_util::rt::TokioExecutor;
use reqwest::redirect::Policy;
use std::process::ExitCode;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tower::{ServiceBuilder, ServiceExt};

#[tokio::main]
async fn main() -> ExitCode {
    match call_through_both_stacks().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("quickstart: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn call_through_both_stacks() -> anyhow::Result<()> {
    let url = start_server().await?;

    let budget = RetryBudget::default(); // clone it into every client that calls the same service
    let policy = RetryPolicy::background()
        .to_builder()
        .backoff(Backoff::exponential(Duration::from_millis(50)))
        .build()?;
    let timeline = Timeline::starting_now();
    let middleware = RetryMiddleware::new(policy.clone())
        .budget(budget.clone())
        .observer(timeline);
    let layer = RetryLayer::new(policy)
        .budget(budget.clone())
        .observer(timeline);

    println!("reqwest, with the middleware:");
    let builder = reqwest::Client::builder().no_proxy();
    let client = build(builder, Policy::default(), middleware)?.build();
    let response = client.get(&url).send().await?;
    let report = response.extensions().get::<RetryReport>();
    show_and_check(response.status(), report, 19.1).context("through reqwest")?;

    println!("\nhyper-util, with the tower layer:");
    let plain = HyperClient::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    let service = ServiceBuilder::new().layer(layer).service(plain);
    let request = Request::get(&url).body(Full::default())?;
    let sent = service.oneshot(request).await;
    let response = sent.map_err(anyhow::Error::from_boxed)?;
    let report = response.extensions().get::<RetryReport>();
    show_and_check(response.status(), report, 17.2).context("through hyper-util")?;

    let left = budget.tokens_at(TokioRuntime.now());
    let left = left.context("the budget is unlimited")?;
    println!("\nTokens left for both: {left} of 20; a retry costs 1, a success brings 0.1.");
    ensure_tokens(left, 17.2)
}

/// Prints what happens to a request when it happens.
#[derive(Clone, Copy)]
struct Timeline {
    start: Duration,
}

impl Timeline {
    fn starting_now() -> Self {
        let start = TokioRuntime.now();
        Self { start }
    }
}

impl Observer for Timeline {
    fn on_event(&self, event: &RetryEvent<'_>) {
        let at = event.at.saturating_sub(self.start).as_secs_f64();
        match event.kind {
            RetryEventKind::AttemptEnded(attempt) => {
                let (number, class) = (attempt.number, attempt.class);
                let came_back = match (attempt.status, attempt.error) {
                    (None, Some(error)) => format!("no answer ({error})"),
                    (status, _) => status.map_or("done".to_owned(), |status| status.to_string()),
                };
                println!(
                    "{at:7.3} s  attempt {number}: {came_back}. {}",
                    class.explain()
                );
            }
            RetryEventKind::RetryScheduled { delay, source, .. } => {
                let delay = delay.as_secs_f64();
                println!("{at:7.3} s  wait {delay:.3} s, {}", who_says(source));
            }
            RetryEventKind::WaitedAtGate { waited, .. } => {
                let waited = waited.as_secs_f64();
                println!("{at:7.3} s  waited {waited:.3} s more for its turn at the gate");
            }
            _ => {}
        }
    }
}

fn who_says(source: DelaySource) -> &'static str {
    match source {
        DelaySource::Server => "as the server asks, and a little more (server)",
        DelaySource::Gate => "as the server asks of all callers (gate)",
        _ => "as the policy's backoff says (own)",
    }
}

/// What is said at the top, for one stack: each attempt's status or error, and who set the wait before it.
const STORY: [(Option<u16>, Option<ErrorKind>, Option<DelaySource>); 4] = [
    (Some(503), None, None),
    (None, Some(ErrorKind::Incomplete), Some(DelaySource::Own)),
    (Some(429), None, Some(DelaySource::Own)),
    (Some(200), None, Some(DelaySource::Gate)),
];

fn show_and_check(
    status: StatusCode,
    report: Option<&RetryReport>,
    tokens: f64,
) -> anyhow::Result<()> {
    let report = report.context("the response has no report")?;
    println!("\n{report}");
    ensure!(status == StatusCode::OK, "the answer is {status}");
    let attempts = report.attempts.iter().map(|attempt| {
        let status = attempt.status.map(|status| status.as_u16());
        (status, attempt.error, attempt.delay_source)
    });
    let story: Vec<_> = attempts.collect();
    ensure!(story == STORY, "the attempts were {story:?}");
    let [.., throttled, answered] = &report.attempts[..] else {
        bail!("the report is too short");
    };
    let pause = answered.started - (throttled.started + throttled.took);
    let asked = Duration::from_secs(1);
    ensure!(pause >= asked, "the 429 was followed after {pause:?}");
    ensure_tokens(report.tokens_left.context("no budget")?, tokens)
}

fn ensure_tokens(left: Decimal, expected: f64) -> anyhow::Result<()> {
    let right = left == Decimal::from(expected);
    ensure!(right, "{left} tokens are left instead of {expected}");
    Ok(())
}

const ANSWERS: [&str; 4] = [
    "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
    "", // the connection is cut
    "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
];

/// A server that gives one answer to each connection, after it has read the request, and starts again after the last.
async fn start_server() -> std::io::Result<String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let url = format!("http://{}/", listener.local_addr()?);
    tokio::spawn(async move {
        for answer in ANSWERS.into_iter().cycle() {
            let (mut connection, _) = listener.accept().await?;
            let mut lines = BufReader::new(&mut connection).lines();
            while lines.next_line().await?.unwrap_or_default() != "" {}
            connection.write_all(answer.as_bytes()).await?;
        }
        std::io::Result::Ok(())
    });
    Ok(url)
}
