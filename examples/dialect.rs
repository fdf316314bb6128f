//! What an answer means: which row of which table speaks, and what the policy `background` would do.
//!
//! ```text
//! curl -i https://api.example/orders > answer.txt
//! cargo run --all-features --example dialect -- --dialect github answer.txt
//! cargo run --all-features --example dialect -- --url https://api.github.com/repos/a/b answer.txt
//! cargo run --all-features --example dialect -- - < answer.txt      # every table is tried
//! ```
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example looks at the clock and talks to a person"
)]

use clap::Parser;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use http_retry::dialect::{Dialect, Dialects};
use http_retry::policy::{ErrorBody, Moment, Verdict};
use http_retry::route::RequestHead;
use http_retry::{Class, Outcome, RequestFacts, RetryBudget, RetryPolicy};
use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// No answer is longer than this.
const MOST_BYTES: u64 = 16 * 1024 * 1024;

/// Says what an HTTP answer means for a retry.
#[derive(Parser)]
struct Arguments {
    /// The table to ask, such as github; without it and --url every table is tried.
    #[arg(long, conflicts_with = "url")]
    dialect: Option<String>,
    /// Where the request went: its host says which table to ask.
    #[arg(long)]
    url: Option<String>,
    /// The request's method.
    #[arg(long, default_value = "GET")]
    method: String,
    /// The answer's head and body as text, as `curl -i` prints them; - for standard input.
    file: PathBuf,
}

/// An answer, as far as it can be read.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: ErrorBody,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(lines) => {
            println!("{}", lines.join("\n"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<Vec<String>, String> {
    let method = Method::from_bytes(arguments.method.as_bytes());
    let method = method.map_err(|_| format!("{:?} is no method", arguments.method))?;
    let url = arguments
        .url
        .as_deref()
        .unwrap_or("http://unknown.invalid/");
    let url: Uri = url.parse().map_err(|_| format!("{url:?} is no URL"))?;
    let request = RequestHead::new(&method, &url);
    if request.host().is_none() {
        return Err(format!(
            "{url} names no host: write https://api.example/path"
        ));
    }
    let answer = Answer::read(&text_of(arguments)?)?;
    let background = || RetryPolicy::background().to_builder();
    if let Some(name) = &arguments.dialect {
        let dialect = Dialect::get(name).map_err(|error| error.to_string())?;
        let policy = background().dialect(dialect).build();
        let policy = policy.map_err(|error| error.to_string())?;
        return Ok(answer.told(&policy, &request));
    }
    if arguments.url.is_some() {
        let dialects = Dialects::by_host().inspect_success(true);
        let policy = background().dialect(dialects).build();
        let policy = policy.map_err(|error| error.to_string())?;
        return Ok(answer.told(&policy, &request));
    }
    let mut lines = vec!["without a table:".to_owned()];
    lines.extend(answer.told(&RetryPolicy::background(), &request));
    for dialect in Dialect::all() {
        let policy = background().dialect(dialect).build();
        let policy = policy.map_err(|error| error.to_string())?;
        if policy.row_of(&answer.judged(&policy, &request)).is_some() {
            lines.push(String::new());
            lines.extend(answer.told(&policy, &request));
        }
    }
    Ok(lines)
}

/// The text of the answer.
fn text_of(arguments: &Arguments) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let path = &arguments.file;
    let read = if path.as_os_str() == "-" {
        std::io::stdin().take(MOST_BYTES).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes))
    };
    read.map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(bytes)
}

impl Answer {
    /// Reads a status line, header lines, an empty line and a body; of several heads (`100 Continue`, redirects that
    /// were followed) the last counts.
    fn read(bytes: &[u8]) -> Result<Self, String> {
        let mut rest = bytes;
        loop {
            let (head, body) = split(rest);
            let text = String::from_utf8_lossy(head);
            let answer = Self::of(&text, body)?;
            let more = answer.status.is_informational() || answer.status.is_redirection();
            if !(more && body.starts_with(b"HTTP/")) {
                return Ok(answer);
            }
            rest = body;
        }
    }

    fn of(head: &str, body: &[u8]) -> Result<Self, String> {
        let mut lines = head.lines();
        let first = lines.next().unwrap_or_default();
        let mut words = first.split_whitespace();
        let version = words.next().unwrap_or_default();
        let status = words.next().and_then(|code| code.parse().ok());
        let Some(status) = status.filter(|_| version.starts_with("HTTP/")) else {
            return Err("the first line is no status line: write HTTP/1.1 403 Forbidden".into());
        };
        let mut headers = HeaderMap::new();
        for line in lines {
            let pair = line.split_once(':');
            let name =
                pair.and_then(|(name, _)| HeaderName::from_bytes(name.trim().as_bytes()).ok());
            let value = pair.and_then(|(_, value)| HeaderValue::from_str(value.trim()).ok());
            match (name, value) {
                (Some(name), Some(value)) => headers.append(name, value),
                _ => return Err("a line of the head is no header: write NAME: VALUE".into()),
            };
        }
        let most = body.len().min(64 * 1024);
        Ok(Self {
            status,
            headers,
            body: ErrorBody::read(body.get(..most).unwrap_or_default()),
        })
    }

    fn judged<'a>(&'a self, policy: &RetryPolicy, request: &'a RequestHead<'a>) -> Outcome<'a> {
        let outcome = Outcome::response(self.status, &self.headers);
        policy.classify(outcome.of_request(request).with_body(&self.body))
    }

    /// Everything that a policy makes of it.
    fn told(&self, policy: &RetryPolicy, request: &RequestHead<'_>) -> Vec<String> {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH);
        let moment = Moment::default().with_wall(wall.unwrap_or_default());
        let outcome = self.judged(policy, request);
        let row = policy.row_of(&outcome);
        let mut lines = vec![
            format!(
                "row:    {}",
                row.as_deref()
                    .unwrap_or("none: the status and the headers speak")
            ),
            format!(
                "class:  {} - {}",
                outcome.class(),
                outcome.class().explain()
            ),
            format!("reach:  {}", outcome.reach()),
            delay(&outcome, moment),
        ];
        let Verdict {
            at_least,
            scope,
            reason,
            ..
        } = outcome.verdict();
        lines.extend(at_least.map(|least| format!("least:  {least:?}")));
        lines.extend(scope.map(|scope| format!("scope:  {scope:?}")));
        lines.extend(reason.map(|why| format!("reason: {why} - {}", why.explain())));
        let method = request.method().unwrap_or(&Method::GET);
        let facts = RequestFacts::of(method, &HeaderMap::new());
        let session = policy.session(facts, Duration::ZERO);
        lines.push(match session.plan(&outcome, moment) {
            Err(_) if outcome.class() == Class::Success => "background: hands it over".to_owned(),
            Err(why) => format!("background: stops - {}", why.explain()),
            Ok(plan) => {
                let paid = RetryBudget::unlimited().withdraw(plan, moment.now);
                let wait = paid.map(|paid| paid.delay()).unwrap_or_default();
                format!("background: sends it again after {wait:?} or a little more")
            }
        });
        lines
    }
}

/// What the server asks for, or which of its headers would if it could be read.
fn delay(outcome: &Outcome<'_>, moment: Moment) -> String {
    let hints = outcome.server_hints(moment.wall);
    let unreadable = hints
        .unreadable()
        .next()
        .filter(|_| outcome.class() != Class::Success);
    match (outcome.server_delay(moment.wall), unreadable) {
        (Some(delay), _) => format!("delay:  {delay:?}"),
        (None, Some(header)) => format!("delay:  none, {header} cannot be read"),
        (None, None) => "delay:  none is named".to_owned(),
    }
}

/// The head, and what follows the first empty line.
fn split(bytes: &[u8]) -> (&[u8], &[u8]) {
    let ends = [&b"\r\n\r\n"[..], b"\n\n"].into_iter();
    let found = ends.filter_map(|end| {
        let at = bytes.windows(end.len()).position(|window| window == end)?;
        Some((at, at.saturating_add(end.len())))
    });
    let (head, body) = found.min().unwrap_or((bytes.len(), bytes.len()));
    let part = |range| bytes.get(range).unwrap_or_default();
    (part(0..head), part(body..bytes.len()))
}
