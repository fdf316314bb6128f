//! Retries by a document in a file, which is edited on disk while requests run.
//!
//! A server of its own answers every request 503. The file allows 2 attempts at first, then 4; then it is broken, which
//! changes nothing but is said; then it allows 3. What happens is printed; at the end it is checked, and anything else
//! than what is said here is an error.
//!
//! `cargo run --all-features --example reload_config`
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "printing is what it is for"
)]

use anyhow::{Context, ensure};
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::Full;
use http_retry::RetryReport;
use http_retry::config::{Document, RetryConfig};
use http_retry::runtime::{Runtime, TokioRuntime};
use http_retry::tower::RetryLayer;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use std::{env, fs, io, process};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::{interval, timeout};
use tower::{ServiceBuilder, ServiceExt};

/// How often the file is looked at. Once in a second is enough for a program that runs for days.
const LOOK: Duration = Duration::from_millis(20);
const LONGEST_STEP: Duration = Duration::from_secs(5);

#[tokio::main]
async fn main() -> ExitCode {
    match reload().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("reload_config: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn reload() -> anyhow::Result<()> {
    let timeline = Timeline::default();
    let file = TempFile::create()?;
    file.write(&allowing("2"))?;
    // Looked at before it is read, so that an edit in between is not missed.
    let seen = state(&file.path);
    let config = RetryConfig::load(&read(&file.path)?)?;
    let (told, mut changes) = mpsc::channel(1);
    tokio::spawn(watch(file.path.clone(), seen, config.clone(), told));
    let calls = tokio::spawn(keep_calling(
        start_server().await?,
        config.clone(),
        timeline.clone(),
    ));

    let mut expected = 2;
    timeline.wait_for_calls(expected).await?;
    for (attempts, why) in [("4", "more"), ("four", "broken"), ("3", "mended")] {
        let spent = tokens(&config)?;
        timeline.say(&format!(
            "the file is edited: max_attempts: {attempts} ({why})"
        ));
        file.write(&allowing(attempts))?;
        let change = timeout(LONGEST_STEP, changes.recv()).await?;
        match change.context("nobody watches the file")? {
            Ok(()) => timeline.say("in force from now on"),
            Err(why) => timeline.say(&format!("refused, the old one stays in force: {why}")),
        }
        expected = attempts.parse().unwrap_or(expected);
        timeline.wait_for_calls(expected).await?;
        let left = tokens(&config)?;
        ensure!(
            left < spent,
            "the budget was filled up by a change: {left} after {spent}"
        );
    }
    calls.abort();
    timeline.check()
}

/// A document as an operator writes it.
fn allowing(attempts: &str) -> String {
    format!(
        "version: 1
budgets:
  shared: {{capacity: 1000}}
services:
  api:
    match: {{host: 127.0.0.1}}
    budget: shared
    retry: {{max_attempts: {attempts}, backoff: fixed, base: 2ms, jitter: none}}
"
    )
}

fn read(file: &Path) -> anyhow::Result<Document> {
    let text = fs::read_to_string(file)?;
    Ok(Document::from_text(&text, serde_yaml_ng::from_str)?)
}

/// What is left of the budget, which a change of other things leaves alone.
fn tokens(config: &RetryConfig) -> anyhow::Result<f64> {
    let routes = config.routes();
    let api = routes
        .iter()
        .find(|route| route.service.as_deref() == Some("api"));
    let held = api.and_then(|route| route.tokens);
    let held = held.context("the document has no budget")?;
    Ok(held.to_string().parse()?)
}

/// Puts the document into force whenever its file has changed, and tells what came of it.
///
/// It asks for the modification time and the length, which costs next to nothing. A file system that has coarse times
/// may give two edits within a moment the same one; then the length often differs, and a later edit is seen in any case.
async fn watch(
    file: PathBuf,
    mut seen: State,
    config: RetryConfig,
    told: mpsc::Sender<Result<(), String>>,
) {
    let mut ticks = interval(LOOK);
    loop {
        ticks.tick().await;
        let now = state(&file);
        // A file that is not there for a moment is no reason to give up what it said.
        if now.is_none() || now == seen {
            continue;
        }
        seen = now;
        let replaced = match read(&file) {
            Ok(document) => config
                .replace(&document)
                .map_err(|errors| errors.to_string()),
            Err(error) => Err(format!("{error:#}")),
        };
        if told.send(replaced).await.is_err() {
            return;
        }
    }
}

/// When the file was changed, and how long it is.
type State = Option<(SystemTime, u64)>;

fn state(file: &Path) -> State {
    let about = fs::metadata(file).ok()?;
    Some((about.modified().ok()?, about.len()))
}

/// One call after another, through a layer that was made once.
async fn keep_calling(url: String, config: RetryConfig, timeline: Timeline) -> anyhow::Result<()> {
    let plain = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    let service = ServiceBuilder::new()
        .layer(RetryLayer::from_config(&config))
        .service(plain);
    loop {
        let request = Request::get(&url).body(Full::default())?;
        let started = TokioRuntime.now();
        let response = service.clone().oneshot(request).await;
        let response = response.map_err(anyhow::Error::from_boxed)?;
        ensure!(response.status() == StatusCode::SERVICE_UNAVAILABLE);
        let report = response.extensions().get::<RetryReport>();
        let attempts = report.context("the response has no report")?.attempt_count;
        timeline.called(started, attempts);
        TokioRuntime.sleep(Duration::from_millis(10)).await;
    }
}

/// A file of its own, which is gone in the end.
struct TempFile {
    folder: PathBuf,
    path: PathBuf,
}

impl TempFile {
    fn create() -> io::Result<Self> {
        let folder = env::temp_dir().join(format!("http-retry-reload-{}", process::id()));
        fs::create_dir_all(&folder)?;
        let path = folder.join("retries.yaml");
        Ok(Self { folder, path })
    }

    /// Writes the whole text beside the file and then puts it in its place in one step, as every tool should that edits
    /// a file which somebody watches: else the watcher may read the half of it. A half is often a good document too, one
    /// that says less, and would be put into force.
    fn write(&self, text: &str) -> io::Result<()> {
        let whole = self.folder.join("retries.yaml.new");
        fs::write(&whole, text)?;
        fs::rename(whole, &self.path)
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        // Nothing is lost if it stays.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Prints what happens, and remembers the calls.
#[derive(Clone)]
struct Timeline {
    start: Duration,
    calls: Arc<Mutex<Vec<(Duration, u32)>>>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self {
            start: TokioRuntime.now(),
            calls: Arc::default(),
        }
    }
}

impl Timeline {
    fn say(&self, what: &str) {
        let at = TokioRuntime.now().saturating_sub(self.start);
        println!("{:7.3} s  {what}", at.as_secs_f64());
    }

    fn called(&self, started: Duration, attempts: u32) {
        self.say(&format!("a call made {attempts} attempts"));
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.push((started, attempts));
    }

    fn calls(&self) -> Vec<(Duration, u32)> {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.clone()
    }

    /// Waits for three calls that start from now on, and sees that each makes as many attempts as the document allows.
    async fn wait_for_calls(&self, expected: u32) -> anyhow::Result<()> {
        let now = TokioRuntime.now();
        let started_since = || self.calls().into_iter().filter(move |(at, _)| *at >= now);
        let enough = async {
            while started_since().count() < 3 {
                TokioRuntime.sleep(LOOK).await;
            }
        };
        timeout(LONGEST_STEP, enough)
            .await
            .context("the calls have stopped")?;
        for (_, attempts) in started_since() {
            ensure!(
                attempts == expected,
                "a call made {attempts} attempts instead of {expected}"
            );
        }
        Ok(())
    }

    /// A call keeps the document it began with: no number of attempts but those of the three good documents is seen, each
    /// of them in one stretch.
    fn check(&self) -> anyhow::Result<()> {
        let mut stretches: Vec<u32> = self
            .calls()
            .into_iter()
            .map(|(_, attempts)| attempts)
            .collect();
        stretches.dedup();
        ensure!(
            stretches == [2, 4, 3],
            "the calls made {stretches:?} attempts"
        );
        self.say("as it should be: 2 attempts, then 4, no change by the broken file, then 3");
        Ok(())
    }
}

/// A server that answers 503 to whatever comes.
async fn start_server() -> io::Result<String> {
    const ANSWER: &[u8] =
        b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let url = format!("http://{}/", listener.local_addr()?);
    tokio::spawn(async move {
        loop {
            let (mut connection, _) = listener.accept().await?;
            let mut lines = BufReader::new(&mut connection).lines();
            while lines.next_line().await?.unwrap_or_default() != "" {}
            connection.write_all(ANSWER).await?;
        }
        #[expect(unreachable_code, reason = "it names the type of the error")]
        io::Result::Ok(())
    });
    Ok(url)
}
