//! Downloads a file, and goes on where the connection breaks: a progress bar, each resume on stderr, the file whole or an
//! error.
//!
//! `cargo run --all-features --example download -- --to big.iso http://127.0.0.1:8080/big.iso`; without a URL it starts a
//! server of its own that cuts the connection six times.

mod chart;
mod server;

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Parser;
use http_retry::RetryPolicy;
use http_retry::report::{RetryEvent, RetryEventKind};
use http_retry::reqwest::{RetryMiddleware, SendResumed, build};
use http_retry::resume::{Interrupted, ResumeProgress};
use indicatif::{ProgressBar, ProgressStyle};
use reqwest::redirect::Policy;
use reqwest::{Response, Url};
use reqwest_middleware::ClientWithMiddleware;
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Downloads a file over http or https, and resumes it where the connection breaks.
///
/// The exit code is 0 if the whole file is there, 2 if the command line is wrong, else 1.
#[derive(Parser)]
#[command(name = "download", verbatim_doc_comment)]
struct Arguments {
    /// Where to write the file; it is replaced if it exists [default: the name in the URL, which must be new]
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,

    /// Draws the bytes over time of a download from the own server, with resumes and without, as an SVG
    #[arg(long, value_name = "SVG", conflicts_with = "url")]
    chart: Option<PathBuf>,

    /// What to download; nothing for a server of its own that cuts
    url: Option<String>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell(format_args!("download: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

async fn run(arguments: Arguments) -> Result<()> {
    match (arguments.url, arguments.chart) {
        (Some(url), _) => {
            let url = parse_url(&url)?;
            let file = Target::of(&url, arguments.to)?;
            let length = download(url, file).await?.length;
            tell(format_args!("all {length} bytes are there"));
            Ok(())
        }
        (None, Some(chart)) => chart::draw(&chart).await,
        (None, None) => show(arguments.to).await,
    }
}

/// Downloads from a server that cuts the connection six times.
async fn show(to: Option<PathBuf>) -> Result<()> {
    let server = server::start(server::CUTS).await?;
    let url = parse_url(&server.url())?;
    tell(format_args!(
        "no URL: a server of its own cuts at {:?}",
        server::CUTS
    ));
    let to = to.unwrap_or_else(|| "/dev/null".into());
    let done = download(url, Target::Replace(to)).await?;
    ensure!(done.length == server::LENGTH, "{} bytes", done.length);
    ensure!(done.sum == server::sum(), "other bytes than the server's");
    ensure!(
        done.resumes == server::CUTS.len(),
        "{} resumes",
        done.resumes
    );
    let Done {
        length, resumes, ..
    } = done;
    tell(format_args!(
        "all {length} bytes are there and right, after {resumes} resumes"
    ));
    Ok(())
}

struct Done {
    length: u64,
    resumes: usize,
    sum: u64,
}

async fn download(url: Url, target: Target) -> Result<Done> {
    let bar = ProgressBar::no_length();
    let client = client(RetryPolicy::background(), {
        let bar = bar.clone();
        move |event: &RetryEvent<'_>| bar.suspend(|| tell_of(event))
    })?;
    let sent = client.get(url).send_resumed().await;
    let response = sent.map_err(|error| anyhow!("no answer: {}", innermost(&error.into())))?;
    ensure!(
        response.status().is_success(),
        "the server answers {}",
        response.status()
    );
    let done = save(response, &target, &bar).await;
    bar.finish_and_clear();
    done.with_context(|| format!("{} is not whole", target.path().display()))
}

async fn save(mut response: Response, target: &Target, bar: &ProgressBar) -> Result<Done> {
    let length = response.content_length();
    let progress = response.extensions().get::<ResumeProgress>().cloned();
    if progress.is_none() {
        bar.suspend(|| tell(format_args!("this answer cannot be resumed if it breaks")));
    }
    show_length(bar, length);
    let mut file = target.open()?;
    let (mut read, mut sum) = (0, 0);
    loop {
        let chunk = response
            .chunk()
            .await
            .map_err(|error| broken(error, read))?;
        let Some(bytes) = chunk else { break };
        file.write_all(&bytes).context("cannot write")?;
        read += bytes.len() as u64;
        sum = server::sum_of(sum, &bytes);
        bar.set_position(read);
    }
    file.flush().context("cannot write")?;
    match length {
        Some(length) => ensure!(read == length, "{read} of {length} bytes came"),
        None => bar.suspend(|| tell(format_args!("the server told no length to check"))),
    }
    let resumes = progress.map_or(0, |progress| progress.resumes());
    Ok(Done {
        length: read,
        resumes: resumes.try_into()?,
        sum,
    })
}

fn show_length(bar: &ProgressBar, length: Option<u64>) {
    let Some(length) = length else { return };
    bar.set_length(length);
    let text = "{bar:40} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
    if let Ok(style) = ProgressStyle::with_template(text) {
        bar.set_style(style);
    }
}

fn broken(error: reqwest::Error, read: u64) -> anyhow::Error {
    match Interrupted::of(&error) {
        Some(cut) => {
            let (why, at, length) = (cut.reason(), cut.at(), cut.length());
            anyhow!(
                "it broke at byte {at} of {length}: {} ({why})",
                why.explain()
            )
        }
        None => anyhow!("it broke at byte {read}: {}", innermost(&error.into())),
    }
}

/// Where the file goes.
enum Target {
    Replace(PathBuf),
    New(PathBuf),
}

impl Target {
    fn of(url: &Url, to: Option<PathBuf>) -> Result<Self> {
        if let Some(path) = to {
            return Ok(Self::Replace(path));
        }
        let name = url
            .path()
            .rsplit('/')
            .next()
            .filter(|name| !name.is_empty());
        let path =
            PathBuf::from(name.context("the URL has no name for the file: give one by --to")?);
        ensure!(
            !path.exists(),
            "{} exists: give another by --to",
            path.display()
        );
        Ok(Self::New(path))
    }

    fn path(&self) -> &PathBuf {
        match self {
            Self::Replace(path) | Self::New(path) => path,
        }
    }

    fn open(&self) -> Result<File> {
        let opened = match self {
            Self::Replace(path) => File::create(path),
            Self::New(path) => File::create_new(path),
        };
        opened.context("cannot open")
    }
}

fn client(
    policy: RetryPolicy,
    observer: impl Fn(&RetryEvent<'_>) + Send + Sync + 'static,
) -> Result<ClientWithMiddleware> {
    let retries = RetryMiddleware::new(policy).observe(observer);
    Ok(build(reqwest::Client::builder(), Policy::default(), retries)?.build())
}

fn tell_of(event: &RetryEvent<'_>) {
    match event.kind {
        RetryEventKind::RetryScheduled { delay, .. } => {
            tell(format_args!("no response yet, retrying in {delay:.1?}"));
        }
        RetryEventKind::Resuming {
            at,
            length,
            kind,
            delay,
            ..
        } => {
            tell(format_args!(
                "broke at byte {at} of {length} ({kind}), resumes in {delay:.1?}"
            ));
        }
        RetryEventKind::Resumed { at, .. } => tell(format_args!("resumed at byte {at}")),
        _ => {}
    }
}

fn parse_url(text: &str) -> Result<Url> {
    let example = "give one such as http://127.0.0.1:8080/file";
    match Url::parse(text) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(url),
        Ok(_) => bail!("not an http URL: {example}"),
        Err(why) => bail!("bad URL ({why}): {example}"),
    }
}

/// The innermost error, which says what happened; those around it name the URL, which may hold secrets.
fn innermost(error: &anyhow::Error) -> String {
    error.root_cause().to_string()
}

/// One line on stderr; nothing if nobody can read it.
fn tell(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{line}");
}
