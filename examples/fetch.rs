//! Fetches a URL with retries: the attempts on stderr as they happen, the body on stdout as it comes.
//!
//! `cargo run --all-features --example fetch -- --preset background http://127.0.0.1:8080/`

use anyhow::{Context, anyhow, bail, ensure};
use clap::Parser;
use http_retry::llm::LlmPreset;
use http_retry::policy::DelaySource;
use http_retry::report::{AttemptReport, Observer, RetryEvent, RetryEventKind};
use http_retry::reqwest::{RetryMiddleware, build};
use http_retry::runtime::{Runtime, TokioRuntime};
use http_retry::{RetryPolicy, RetryReport, StopReason};
use reqwest::redirect::Policy;
use reqwest::{Method, Response, Url};
use reqwest_middleware::{ClientWithMiddleware, Error};
use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;
use std::time::Duration;

/// Fetches an http URL with retries.
///
/// The attempts, the waits and the report go to stderr, the body goes to stdout.
/// The exit code is 0 if the request succeeded, 2 if the command line is incomplete, else 1.
#[derive(Parser)]
#[command(name = "fetch", verbatim_doc_comment, after_help = EXAMPLES)]
struct Arguments {
    /// The rules for retries, with underscores or hyphens: user_facing (2 attempts), background (5),
    /// llm (3, whatever the method), rate_limited (3) or never (1)
    #[arg(
        long,
        value_name = "NAME",
        default_value = "user_facing",
        verbatim_doc_comment
    )]
    preset: String,

    /// The method, in upper or lower case [default: GET, or POST with --data]
    #[arg(long, value_name = "M")]
    method: Option<String>,

    /// The body to send
    #[arg(long, value_name = "D")]
    data: Option<String>,

    /// Where to, over http or https
    url: String,
}

const EXAMPLES: &str = "Examples:
  fetch http://127.0.0.1:8080/health
  fetch --preset background http://127.0.0.1:8080/report > report.json
  fetch --preset llm --data '{\"prompt\":\"hello\"}' http://127.0.0.1:8080/v1/completions";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match fetch(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell(format_args!("fetch: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

async fn fetch(arguments: Arguments) -> anyhow::Result<()> {
    let url = parse_url(&arguments.url)?;
    let method = choose_method(&arguments)?;
    let client = client(choose_policy(&arguments.preset)?)?;
    tell(format_args!("{method} {}", public(&url)));

    let slot = RetryReport::slot();
    let mut request = client.request(method, url).with_extension(slot.clone());
    if let Some(data) = arguments.data {
        request = request.body(data);
    }
    let answer = request.send().await;

    let report = slot.take().context("the call left no report")?;
    let result = match answer {
        Ok(response) => hand_on(response, &report).await,
        Err(error) => Err(anyhow!("no answer: {}; {}", innermost(error), why(&report))),
    };
    tell(format_args!("\n{report}"));
    result
}

fn client(policy: RetryPolicy) -> anyhow::Result<ClientWithMiddleware> {
    let retries = RetryMiddleware::new(policy).observer(Timeline::starting_now());
    Ok(build(reqwest::Client::builder(), Policy::default(), retries)?.build())
}

fn parse_url(text: &str) -> anyhow::Result<Url> {
    let example = "such as http://127.0.0.1:8080/";
    let url = Url::parse(text).map_err(|why| anyhow!("bad URL ({why}): give one {example}"))?;
    ensure!(
        matches!(url.scheme(), "http" | "https"),
        "not an http URL: give one {example}"
    );
    Ok(url)
}

fn choose_method(arguments: &Arguments) -> anyhow::Result<Method> {
    match (&arguments.method, &arguments.data) {
        (Some(name), _) => Method::from_bytes(name.to_ascii_uppercase().as_bytes())
            .with_context(|| format!("{name:?} cannot be a method")),
        (None, Some(_)) => Ok(Method::POST),
        (None, None) => Ok(Method::GET),
    }
}

fn choose_policy(preset: &str) -> anyhow::Result<RetryPolicy> {
    Ok(match preset.replace('-', "_").as_str() {
        "user_facing" => RetryPolicy::user_facing(),
        "background" => RetryPolicy::background(),
        "llm" => RetryPolicy::llm(),
        "rate_limited" => RetryPolicy::rate_limited(),
        "never" => RetryPolicy::never(),
        _ => bail!(
            "there is no preset {preset:?}: choose user_facing, background, llm, rate_limited or never"
        ),
    })
}

/// The URL without what may be secret in it.
fn public(url: &Url) -> Url {
    let mut public = url.clone();
    public.set_query(None);
    public.set_fragment(None);
    // Only a URL without a host refuses these two, and such a URL has neither.
    let _ = public.set_username("");
    let _ = public.set_password(None);
    public
}

/// Hands the body on, whatever the status is, and then says what is wrong with it.
async fn hand_on(response: Response, report: &RetryReport) -> anyhow::Result<()> {
    let status = response.status();
    print_body(response).await?;
    ensure!(
        report.stop == StopReason::Succeeded,
        "{status}; {}",
        why(report)
    );
    Ok(())
}

/// Prints the body as it comes, until it ends or nobody reads it any more.
async fn print_body(mut response: Response) -> anyhow::Result<()> {
    let broke_off = |error| anyhow!("the body broke off: {}", innermost(Error::Reqwest(error)));
    while let Some(bytes) = response.chunk().await.map_err(broke_off)? {
        let mut out = io::stdout();
        match out.write_all(&bytes).and_then(|()| out.flush()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => break,
            written => written.context("cannot write to stdout")?,
        }
    }
    Ok(())
}

fn why(report: &RetryReport) -> String {
    let stop = report.stop;
    format!("{stop}: {}", stop.explain())
}

/// The innermost error, which says what happened; those around it name the URL, which may hold secrets.
fn innermost(error: Error) -> String {
    let error = match error {
        Error::Reqwest(error) => error.without_url().into(),
        Error::Middleware(error) => error,
    };
    error.root_cause().to_string()
}

/// Prints what happens to the request when it happens.
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
        let line = |text: fmt::Arguments<'_>| tell(format_args!("{at:8.3} s  {text}"));
        match event.kind {
            RetryEventKind::AttemptStarted { number, .. } => line(format_args!("attempt {number}")),
            RetryEventKind::AttemptEnded(attempt) => {
                let came_back = came_back(attempt);
                line(format_args!("{came_back}. {}", attempt.class.explain()));
            }
            RetryEventKind::RetryScheduled { delay, source, .. } => {
                let delay = delay.as_secs_f64();
                line(format_args!("wait {delay:.3} s, {}", who_says(source)));
            }
            _ => {}
        }
    }
}

fn came_back(attempt: &AttemptReport) -> String {
    let answer = match (attempt.status, attempt.error) {
        (None, Some(error)) => format!("no answer ({error})"),
        (status, _) => status.map_or("done".to_owned(), |status| status.to_string()),
    };
    match (attempt.asked, attempt.unreadable().next()) {
        (Some(delay), _) => format!("{answer}, come back in {delay:.1?}"),
        (None, Some(header)) => format!("{answer}, with a {header} that is not valid"),
        (None, None) => answer,
    }
}

fn who_says(source: DelaySource) -> &'static str {
    match source {
        DelaySource::Server => "as the server asks, and a little more (server)",
        DelaySource::Gate => "as the server asks of all callers (gate)",
        _ => "as the policy's backoff says (own)",
    }
}

/// One line on stderr; nothing if nobody can read it.
fn tell(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{line}");
}
