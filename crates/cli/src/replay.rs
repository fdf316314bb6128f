//! `replay`: the decisions on recorded responses.

mod recording;

use crate::arguments::{Form, Subject, Target};
use crate::document::{self, Reading};
use crate::effective::millis;
use crate::report::{Failure, Report, Style, Table, one_line};
use crate::units::short;
use bytes::Bytes;
use clap::Args;
use http::{Request, Response};
use http_body_util::Full;
use http_retry::RetryReport;
use http_retry::config::RetryConfig;
use http_retry::policy::DelaySource;
use http_retry::report::{AttemptReport, RetryEvent, RetryEventKind};
use http_retry::runtime::{Runtime, TokioRuntime};
use http_retry::tower::RetryLayer;
use http_retry_core::settings::PolicyExt;
use http_retry_lab::runtime::{LabRuntime, simulate};
use recording::Recorded;
use serde_json::{Value, json};
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};
use tokio::sync::Notify;
use tower::{BoxError, Layer, ServiceExt, service_fn};

/// Show what a document would do with recorded responses
///
/// The responses come on stdin, in the order of the attempts. Each is a status line, headers, an empty line and a body,
/// as `curl -i` prints them; a line of three hyphens separates them. An attempt that had no response is one line:
/// `error: timeout`, `error: reset` or `error: refused`. At most 1 MiB, 1,000 responses and 100 headers each.
///
/// No time passes. A date in a header counts from the Date of its response; without one, from the Date of the first
/// response that has one, or from now.
#[derive(Debug, Args)]
pub(crate) struct ReplayArguments {
    /// The document
    file: PathBuf,

    #[command(flatten)]
    target: Target,

    /// The seed of the random part of each wait
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// The form of the output
    #[arg(long, value_enum, default_value_t)]
    format: Form,

    #[command(flatten)]
    reading: Reading,
}

/// The events of one call, shared with its observer.
#[derive(Debug, Clone, Default)]
struct Journal(Arc<Mutex<Notes>>);

#[derive(Debug, Default)]
struct Notes {
    steps: Vec<Step>,
    /// The host and port of each attempt.
    hosts: Vec<String>,
    end: Option<RetryReport>,
    /// The result for the caller, once the call has ended.
    result: Option<CallResult>,
}

/// The result of a call for its caller.
#[derive(Debug)]
enum CallResult {
    /// A response of the recording, by its number, counted from 1.
    Recorded {
        number: usize,
        status: u16,
    },
    /// A response that the document makes.
    Made {
        status: u16,
    },
    Error(String),
}

/// Marks a response by its number in the recording.
#[derive(Debug, Clone, Copy)]
struct Number(usize);

/// An attempt, and the wait before the next one.
#[derive(Debug)]
struct Step {
    attempt: AttemptReport,
    next: Option<(Duration, DelaySource)>,
}

pub(crate) fn run(arguments: &ReplayArguments) -> Result<Report, Failure> {
    if document::is_stdin(&arguments.file) {
        let cause = "stdin has the responses: write the document into a file";
        return Err(Failure::of_input("-", cause));
    }
    let (source, config) = document::load(&arguments.file, &arguments.reading)?;
    let subject = arguments.target.subject(&config, &source.tree)?;
    let request = subject.request()?.map(|()| Full::default());
    let recorded = read().map_err(|cause| Failure::of_input("stdin", cause))?;
    let count = recorded.len();
    let wall = recorded.iter().find_map(date);
    let wall = wall.unwrap_or_else(|| TokioRuntime.moment().wall);
    let journal = Journal::default();
    let service = subject
        .route(&config)
        .service
        .as_ref()
        .map(ToString::to_string);
    let exhausted = on_exhausted(&subject, &config);
    let story = |runtime| play(&config, runtime, journal.clone(), request, recorded);
    simulate(arguments.seed, wall, story).map_err(|cause| Failure::of_input("replay", cause))?;
    let notes = journal.lock();
    let service = service.as_deref();
    let report = match arguments.format {
        Form::Text => text(&subject, service, exhausted.as_deref(), &notes, count),
        Form::Json => Report::json(&json_of(&subject, service, &notes, count)),
    };
    Ok(report.with_note(subject.note))
}

/// The policy's own words on exhausted retries, if the document has them.
fn on_exhausted(subject: &Subject, config: &RetryConfig) -> Option<String> {
    let route = subject.route(config);
    let mut origins = route.policy().origins();
    let (_, action, _) = origins.find(|(field, ..)| *field == "on_exhausted")?;
    Some(action.to_owned())
}

fn read() -> Result<Vec<Recorded>, String> {
    let mut text = Vec::new();
    let most = (recording::MAX_BYTES as u64).saturating_add(1);
    let read = io::stdin().lock().take(most).read_to_end(&mut text);
    read.map_err(|error| error.to_string())?;
    recording::parse(&text)
}

fn date(recorded: &Recorded) -> Option<Duration> {
    let Recorded::Response(response) = recorded else {
        return None;
    };
    let date = response.headers().get(http::header::DATE)?.to_str().ok()?;
    let date = httpdate::parse_http_date(date).ok()?;
    date.duration_since(UNIX_EPOCH).ok()
}

/// Makes one call through the retry layer of the document, up to the end of the recording.
async fn play(
    config: &RetryConfig,
    runtime: LabRuntime,
    journal: Journal,
    request: Request<Full<Bytes>>,
    recorded: Vec<Recorded>,
) {
    let ended = Arc::new(Notify::new());
    let recorded = Arc::new(Mutex::new((1..).zip(recorded)));
    let (end, notes) = (Arc::clone(&ended), journal.clone());
    let client = service_fn(move |request: Request<Full<Bytes>>| {
        let next = lock(&recorded).next();
        let (end, notes) = (Arc::clone(&end), notes.clone());
        async move {
            let Some((number, next)) = next else {
                end.notify_one();
                return std::future::pending().await;
            };
            notes.lock().hosts.push(host(&request));
            match next {
                Recorded::Response(mut response) => {
                    response.extensions_mut().insert(Number(number));
                    Ok(response.map(Full::new))
                }
                Recorded::Error(kind) => Err(io::Error::from(kind)),
            }
        }
    });
    let observed = journal.clone();
    let observer = move |event: &RetryEvent<'_>| observed.note(event);
    let layer = RetryLayer::from_config(config)
        .runtime(runtime)
        .observe(observer);
    let call = layer.layer(client).oneshot(request);
    tokio::select! {
        result = call => journal.lock().result = Some(CallResult::of(result)),
        () = ended.notified() => {}
    }
}

fn host(request: &Request<Full<Bytes>>) -> String {
    let uri = request.uri();
    let port = uri
        .port_u16()
        .map_or_else(String::new, |port| format!(":{port}"));
    format!("{}{port}", uri.host().unwrap_or_default())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl CallResult {
    fn of<B>(result: Result<Response<B>, BoxError>) -> Self {
        let response = match result {
            Ok(response) => response,
            Err(error) => return Self::Error(error.to_string()),
        };
        let status = response.status().as_u16();
        match response.extensions().get() {
            Some(Number(number)) => Self::Recorded {
                number: *number,
                status,
            },
            None => Self::Made { status },
        }
    }

    fn words(&self) -> String {
        match self {
            Self::Recorded { number, status } => format!("response {number}, {status}"),
            Self::Made { status } => format!("{status}, a response of the document"),
            Self::Error(error) => format!("the error {error:?}"),
        }
    }

    fn json(&self) -> Value {
        match self {
            Self::Recorded { number, status } => json!({"response": number, "status": status}),
            Self::Made { status } => json!({"response": null, "status": status}),
            Self::Error(error) => json!({"error": error}),
        }
    }
}

impl Journal {
    fn lock(&self) -> MutexGuard<'_, Notes> {
        lock(&self.0)
    }

    fn note(&self, event: &RetryEvent<'_>) {
        let mut notes = self.lock();
        match event.kind {
            RetryEventKind::AttemptEnded(attempt) => notes.steps.push(Step {
                attempt: attempt.clone(),
                next: None,
            }),
            RetryEventKind::RetryScheduled { delay, source, .. } => {
                if let Some(step) = notes.steps.last_mut() {
                    step.next = Some((delay, source));
                }
            }
            RetryEventKind::Stopped(report) => notes.end = Some(report.clone()),
            _ => {}
        }
    }
}

impl Notes {
    /// The line on what the caller gets, with the policy's own word for it once retries are exhausted.
    fn gets(&self, exhausted: Option<&str>) -> Option<String> {
        let words = self.result.as_ref()?.words();
        let end = self.end.as_ref();
        let is_exhausted = end.is_some_and(|report| report.stop.is_exhausted());
        Some(match exhausted.filter(|_| is_exhausted) {
            Some(action) => {
                let action = one_line(action);
                format!("the caller gets: {words} (on_exhausted: {action})\n")
            }
            None => format!("the caller gets: {words}\n"),
        })
    }
}

fn text(
    subject: &Subject,
    service: Option<&str>,
    exhausted: Option<&str>,
    notes: &Notes,
    count: usize,
) -> Report {
    let end = match &notes.end {
        Some(report) => {
            let stop = report.stop;
            format!("{stop}: {}", stop.explain_by(report.stopped_by.as_deref()))
        }
        None => {
            "The recording ends before the call does: another attempt would be sent.".to_owned()
        }
    };
    let unused = count.saturating_sub(notes.hosts.len());
    let unused = match unused {
        0 => String::new(),
        1 => "1 response was not asked for.\n".to_owned(),
        unused => format!("{unused} responses were not asked for.\n"),
    };
    let service = one_line(service.unwrap_or("none"));
    let gets = notes.gets(exhausted).unwrap_or_default();
    Report::text(format!("{}\nservice: {service}\n\n", subject.words()))
        .with_table(&table(notes))
        .with(Style::Title, format!("\n{gets}"))
        .with(Style::Plain, format!("{end}\n{unused}"))
}

fn table(notes: &Notes) -> Table {
    let mut table = Table::new(&[
        "attempt", "at", "host", "response", "class", "reason", "asks for", "decision",
    ]);
    for ((place, step), host) in (1..).zip(&notes.steps).zip(&notes.hosts) {
        let attempt = &step.attempt;
        let next = notes.hosts.get(place).filter(|next| *next != host);
        let dash = || "-".to_owned();
        table.row([
            attempt.number.to_string(),
            short(attempt.started),
            host.clone(),
            ended(attempt),
            format!("{}, {}", attempt.class, attempt.reach),
            reason(attempt).unwrap_or_else(dash),
            attempt.asked.map_or_else(dash, short),
            decision(step, next, notes),
        ]);
    }
    table
}

fn ended(attempt: &AttemptReport) -> String {
    match (attempt.status, attempt.error) {
        (Some(status), _) => status.as_u16().to_string(),
        (None, Some(error)) => error.to_string(),
        (None, None) => "-".to_owned(),
    }
}

/// The rule, the row of a dialect or the reason that decided, if any did.
fn reason(attempt: &AttemptReport) -> Option<String> {
    let rule = attempt.rule.as_ref().map(|rule| format!("rule {rule}"));
    let row = attempt.row.as_ref().map(|row| format!("row {row}"));
    let reason = attempt.reason.map(|reason| reason.to_string());
    let words: Vec<String> = [reason, row, rule].into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join(", "))
}

fn decision(step: &Step, next: Option<&String>, notes: &Notes) -> String {
    match (&step.next, next, &notes.end) {
        (Some((delay, source)), None, _) => format!("retry in {} ({source})", short(*delay)),
        (Some((delay, _)), Some(host), _) => format!("fail over to {host} in {}", short(*delay)),
        (None, _, Some(report)) => format!("stop: {}", report.stop),
        (None, _, None) => "retry".to_owned(),
    }
}

fn json_of(subject: &Subject, service: Option<&str>, notes: &Notes, count: usize) -> Value {
    let steps = notes.steps.iter().zip(&notes.hosts).map(|(step, host)| {
        let attempt = &step.attempt;
        json!({
            "attempt": attempt.number,
            "at_ms": millis(attempt.started),
            "host": host,
            "status": attempt.status.map(|status| status.as_u16()),
            "error": attempt.error.map(|error| error.to_string()),
            "class": attempt.class.to_string(),
            "reach": attempt.reach.to_string(),
            "reason": attempt.reason.map(|reason| reason.to_string()),
            "rule": attempt.rule.as_deref(),
            "row": attempt.row.as_deref(),
            "asked_ms": attempt.asked.map(millis),
            "retry_in_ms": step.next.map(|(delay, _)| millis(delay)),
            "delay_source": step.next.map(|(_, source)| source.to_string()),
        })
    });
    let report = notes.end.as_ref();
    let tokens = report.and_then(|report| report.tokens_left);
    json!({
        "request": subject.json(),
        "service": service,
        "attempts": steps.collect::<Vec<_>>(),
        "stop": report.map(|report| report.stop.to_string()),
        "stopped_by": report.and_then(|report| report.stopped_by.as_deref()),
        "tokens_left": tokens.map(|tokens| tokens.to_string()),
        "caller_gets": notes.result.as_ref().map(CallResult::json),
        "unused_responses": count.saturating_sub(notes.hosts.len()),
    })
}
