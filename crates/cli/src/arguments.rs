//! The command line.

use crate::check::CheckArguments;
use crate::diff::DiffArguments;
use crate::explain::ExplainArguments;
use crate::replay::ReplayArguments;
use crate::shell::{CompletionsArguments, ManArguments};
use crate::storm::StormArguments;
use anyhow::{Context, bail};
use clap::{Args, Parser, Subcommand, ValueEnum};
use http::{Method, Uri};
use http_retry::RetryOverride;
use http_retry::config::RetryConfig;
use http_retry::route::{RequestHead, Route, Router};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

const ABOUT: &str = "Checks, explains, compares, replays and storms a retry document of http-retry";

const AFTER_HELP: &str = "\
A document is YAML (.yaml, .yml), TOML (.toml) or JSON (.json) by the end of its name. - is stdin.

Exit codes:
  0  all is well
  1  the document has problems, something changes (diff --exit-code), or the service does not recover under it
  2  the arguments or the input cannot be used

Errors are one line on stderr. Text is coloured on a terminal, unless NO_COLOR is set. No output contains a header value, a body, a query or user info.";

/// The arguments of the program.
#[derive(Debug, Parser)]
#[command(name = "http-retry", version, about = ABOUT, after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// A command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Check(CheckArguments),
    Explain(ExplainArguments),
    Diff(DiffArguments),
    Replay(ReplayArguments),
    Storm(StormArguments),
    /// Print the JSON Schema of documents
    Schema,
    Completions(CompletionsArguments),
    Man(ManArguments),
}

/// The form of the output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// For people; the wording may change
    #[default]
    Text,
    /// For programs
    Json,
}

/// The request that a command is about.
#[derive(Debug, Clone, Args)]
pub(crate) struct Target {
    /// The URL of the request, such as <https://api.example.com/orders>. Default: one that no service matches, or, with
    /// --service, one of that service
    #[arg(long)]
    url: Option<String>,

    /// The method of the request
    #[arg(long, default_value = "GET")]
    method: Method,

    /// The service, as the request may name it; it goes before any match by URL
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
}

/// A request of a target, complete.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    pub(crate) method: Method,
    pub(crate) url: Uri,
    pub(crate) service: Option<String>,
    /// A line on what was chosen because nothing was given.
    pub(crate) note: Option<String>,
}

impl Target {
    /// A GET to this service.
    pub(crate) fn of_service(name: &str) -> Self {
        Self {
            url: None,
            method: Method::GET,
            service: Some(name.to_owned()),
        }
    }

    /// Returns `true` if any request is meant, and not the default one.
    pub(crate) fn is_given(&self) -> bool {
        self.url.is_some() || self.service.is_some()
    }

    /// Completes the request, with what the document says about its service.
    pub(crate) fn subject(&self, config: &RetryConfig, tree: &Value) -> anyhow::Result<Subject> {
        if let Some(name) = &self.service {
            check_service(name, config)?;
        }
        let url: Uri = match (&self.url, &self.service) {
            // The error does not show it, since it may hold a password.
            (Some(url), _) => match url.parse() {
                Ok(url) => url,
                Err(error) => bail!("--url: {error}: write https://api.example.com/orders"),
            },
            (None, Some(name)) => url_of(name, tree),
            (None, None) => Uri::from_static("http://no-service.invalid/"),
        };
        if url.host().is_none() {
            bail!("--url: it has no host: write https://api.example.com/orders");
        }
        let note = (!self.is_given()).then(|| {
            format!(
                "without --url and --service the request is {} {url}, which no service matches",
                self.method
            )
        });
        Ok(Subject {
            method: self.method.clone(),
            url,
            service: self.service.clone(),
            note,
        })
    }
}

impl Subject {
    pub(crate) fn route(&self, config: &RetryConfig) -> Arc<Route> {
        let head = RequestHead::new(&self.method, &self.url);
        config.route(&head, self.service.as_deref())
    }

    pub(crate) fn request(&self) -> anyhow::Result<http::Request<()>> {
        let request = http::Request::builder().method(self.method.clone());
        let mut request = request.uri(self.url.clone()).body(()).context("--url")?;
        if let Some(name) = &self.service {
            let own = RetryOverride::new().service(name.as_str());
            request.extensions_mut().insert(own);
        }
        Ok(request)
    }

    /// The request in words, without user info and query.
    pub(crate) fn words(&self) -> String {
        let head = RequestHead::new(&self.method, &self.url);
        let scheme = head.scheme().unwrap_or("http");
        let authority = head.authority().unwrap_or_default();
        format!("{} {scheme}://{authority}{}", self.method, head.path())
    }

    pub(crate) fn json(&self) -> Value {
        let head = RequestHead::new(&self.method, &self.url);
        json!({
            "method": self.method.as_str(),
            "scheme": head.scheme(),
            "authority": head.authority(),
            "path": head.path(),
            "service": self.service,
        })
    }
}

fn check_service(name: &str, config: &RetryConfig) -> anyhow::Result<()> {
    let routes = config.routes();
    let known: BTreeSet<&str> = routes
        .iter()
        .filter_map(|route| route.service.as_deref())
        .collect();
    if known.contains(name) {
        return Ok(());
    }
    if known.is_empty() {
        bail!("--service: {name:?} is no service: the document has none");
    }
    let known: Vec<&str> = known.into_iter().take(20).collect();
    bail!(
        "--service: {name:?} is no service: known are {}",
        known.join(", ")
    )
}

/// A URL of a service: its base, or one that it matches.
pub(crate) fn url_of(service: &str, tree: &Value) -> Uri {
    let service = tree
        .get("services")
        .and_then(|services| services.get(service));
    let key = |name: &str| service.and_then(|service| service.get(name));
    if let Some(base) = key("base_url")
        .and_then(Value::as_str)
        .and_then(|url| url.parse().ok())
    {
        return base;
    }
    let word = |name: &str| {
        let value = key("match").and_then(|keys| keys.get(name))?;
        let value = value.get(0).unwrap_or(value).as_str()?;
        Some(value.replace('*', "x"))
    };
    let scheme = word("scheme").unwrap_or_else(|| "http".to_owned());
    let host = word("host").unwrap_or_else(|| "service.invalid".to_owned());
    let path = word("path").unwrap_or_else(|| "/".to_owned());
    let url = format!("{scheme}://{host}{path}").parse();
    url.unwrap_or_else(|_| Uri::from_static("http://service.invalid/"))
}
