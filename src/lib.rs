//! Retry middleware for HTTP clients: one policy and one shared budget, for reqwest and for any tower or hyper stack.
//!
//! A layer retries only what is safe to repeat, waits as long as the server asks, and stops when retries would make an
//! outage worse. For every request it reports why it retried, how long it waited and why it stopped.
//!
//! # On reqwest
//!
//! ```toml
//! [dependencies]
//! http-retry = { version = "0.1", features = ["reqwest"] }
//! reqwest = "0.13.5"
//! reqwest-middleware = "0.5"
//! tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
//! ```
//!
#![cfg_attr(feature = "reqwest", doc = "```no_run")]
#![cfg_attr(not(feature = "reqwest"), doc = "```ignore")]
//! use http_retry::RetryPolicy;
//! use http_retry::reqwest::{RetryMiddleware, build};
//! use reqwest::redirect::Policy;
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // Once for the whole program: clones of the client share the retry budget.
//!     let retries = RetryMiddleware::new(RetryPolicy::background());
//!     // `build` returns a builder: `.with(..)` before `.build()` adds middlewares.
//!     let client = build(reqwest::Client::builder(), Policy::default(), retries)?.build();
//!
//!     let response = client.get("http://localhost:8080/greeting").send().await?;
//!     println!("{}", response.text().await?);
//!     Ok(())
//! }
//! ```
//!
//! [`reqwest::build`] tells the retries which redirects the client followed: without that, a POST is never repeated.
//!
//! # On tower and hyper
//!
//! No feature is needed. Here over hyper-util, with its features `client-legacy`, `http1` and `tokio`:
//!
//! ```no_run
//! use http_retry::{RetryLayer, RetryPolicy};
//! use hyper_util::{client::legacy::Client, rt::TokioExecutor};
//! use tower::{Layer, ServiceExt};
//!
//! #[tokio::main]
//! async fn main() -> Result<(), tower::BoxError> {
//!     let client = Client::builder(TokioExecutor::new()).build_http::<String>();
//!     let client = RetryLayer::new(RetryPolicy::background()).layer(client);
//!
//!     let request = http::Request::get("http://localhost:8080/greeting").body(String::new())?;
//!     println!("{}", client.oneshot(request).await?.status());
//!     Ok(())
//! }
//! ```
//!
//! # Where things are
//!
//! | you want to | look at |
//! |---|---|
//! | choose or adjust the rules | [`RetryPolicy`], [`Backoff`], [`Jitter`], [`Methods`] |
//! | decide by status, header or body | [`rules`] |
//! | read the errors of a service such as GitHub | [`dialect::Dialect`] |
//! | share and bound retries | [`RetryBudget`], [`ServiceBudgets`] |
//! | share them among many processes | [`fleet::Fleet`] |
//! | add them to a client | [`tower::RetryLayer`], [`reqwest::RetryMiddleware`], [`run::Runner`] |
//! | let an operator set all of it in a file | [`config::RetryConfig`] |
//! | call a language model | [`llm`], [`gate::Gate`] |
//! | set something for one request | [`RetryOverride`] |
//! | send requests of your own in a layer below | [`attempt::sent`] |
//! | see what happened | [`RetryReport`], [`report`] |
//! | resume a download that broke off | [`resume`] |
//! | send a slow request a second time | [`hedge`] |
//! | decide without a client | [`policy`] |
//! | test your own code | [`testing::ManualRuntime`], [`testing::Script`] |
//!
//! # Pages
//!
//! | page | about |
//! |---|---|
//! | [`docs::cookbook`] | a program for each everyday task, such as retrying only GET, logging, or testing without waiting |
//! | [`docs::faq`] | short answers to what newcomers ask |
//! | [`docs::guide`] | every setting by task, and how to read a report during an outage |
//! | [`docs::clients`] | the lines for kube, octocrab, tonic, alloy, async-openai, axum and others |
//! | [`docs::browser`] | what differs in a page or a worker |
//! | [`docs::config`] | every key of the document that an operator edits |
//! | [`docs::dialects`] | services whose status code is not enough, and rows of your own |
//! | [`docs::gate`] | how all calls wait together at a rate limit, and when to turn that off |
//! | [`docs::hedging`] | a second copy of a slow request, when it helps and what it costs |
//! | [`docs::fleet`] | one budget and one gate for many processes |
//! | [`docs::migration`] | from reqwest-retry, backon, tower::retry and others, line by line |
//! | [`docs::comparison`] | other retry layers, and what each costs |
//! | [`docs::design`] | the reason for each default |
//!
//! # Features
//!
//! `default = ["hyper", "http2", "rules", "services"]`. A feature adds items, and no item decides otherwise because of one: another
//! crate of your program may turn it on. Three features add to what can be read, and so to what can be decided: `hyper`
//! and `http2` errors, `dialects` the JSON rows of a dialect that you chose. Name these yourself if you rely on them.
//!
//! | feature | what it adds |
//! |---|---|
//! | `hyper` | recognises the errors of hyper and hyper-util |
//! | `http2` | recognises the errors of h2 by type, not by their text |
//! | `reqwest` | the middleware, and the layer on `reqwest::Client` |
//! | `dialects` | [`dialect::Dialect`], and conditions on the JSON bodies of errors; implied by `serde` and `llm` |
//! | `rules` | [`rules::Condition`]: conditions for your own rules; [`rules::ReadBody`]: what error bodies say; implied by `dialects` |
//! | `services` | [`services::Services`]: a policy for each service, in code; implied by `serde` |
//! | `serde` | the document of `config`, and `Serialize` for reports |
//! | `llm` | [`llm::LlmPreset`]: reads the errors of language models |
//! | `redis` | one budget and one gate for many processes |
//! | `hedge` | [`hedge::HedgeLayer`]: a second copy of a request that is slow |
//! | `tracing` | a span per attempt and a line per retry |
//! | `metrics` | counters and histograms |
//! | `testing` | a clock that jumps and a client that responds from a script |
//!
//! # In a storm
//!
//! 800 requests a second go to a server that can serve 1,000. From second 20 to 30 it responds with 503. Retries
//! without a budget keep it down; with one it recovers at once:
//!
// Without the feature an item is not there, and its name leads to the list of features.
#![cfg_attr(
    not(feature = "reqwest"),
    doc = "[`reqwest::RetryMiddleware`]: #features\n[`reqwest::build`]: #features"
)]
#![cfg_attr(not(feature = "serde"), doc = "[`config::RetryConfig`]: #features")]
#![cfg_attr(not(feature = "redis"), doc = "[`fleet::Fleet`]: #features")]
#![cfg_attr(
    not(feature = "hedge"),
    doc = "[`hedge`]: #features\n[`hedge::HedgeLayer`]: #features"
)]
#![cfg_attr(
    not(feature = "rules"),
    doc = "[`rules::Condition`]: #features\n[`rules::ReadBody`]: #features"
)]
#![cfg_attr(not(feature = "services"), doc = "[`services::Services`]: #features")]
#![cfg_attr(not(feature = "dialects"), doc = "[`dialect::Dialect`]: #features")]
#![cfg_attr(
    not(feature = "llm"),
    doc = "[`llm`]: #features\n[`llm::LlmPreset`]: #features"
)]
#![cfg_attr(
    not(feature = "testing"),
    doc = "[`testing::ManualRuntime`]: #features\n[`testing::Script`]: #features"
)]
#![doc = ""]
#![cfg_attr(doc, doc = include_str!("docs/charts/B.svg"))]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod call;
mod client;
mod engine;
mod error;
mod sealed;

#[cfg(any(
    all(doc, not(doctest)),
    all(
        any(doctest, test),
        feature = "hedge",
        feature = "llm",
        feature = "metrics",
        feature = "redis",
        feature = "reqwest",
        feature = "serde",
        feature = "testing",
        feature = "tracing"
    )
))]
pub mod docs;
pub mod report;
#[cfg(feature = "reqwest")]
pub mod reqwest;
pub mod rules;
pub mod run;
pub mod runtime;
#[cfg(feature = "testing")]
pub mod testing;
pub mod tower;

#[cfg(feature = "serde")]
#[doc(inline)]
pub use http_retry_config as config;
#[cfg(feature = "dialects")]
#[doc(inline)]
pub use http_retry_dialects::dialect;
#[cfg(feature = "llm")]
#[doc(inline)]
pub use http_retry_dialects::llm;
#[cfg(feature = "redis")]
#[doc(inline)]
pub use http_retry_fleet as fleet;
#[cfg(feature = "hedge")]
#[doc(inline)]
pub use http_retry_hedge as hedge;

#[doc(inline)]
pub use http_retry_resume as resume;
#[cfg(feature = "services")]
#[doc(inline)]
pub use http_retry_services as services;

#[doc(inline)]
pub use http_retry_core::{attempt, budget, gate, policy, route};

pub use budget::{RetryBudget, RetryBudgetBuilder, ServiceBudgets};
pub use client::{Replay, ReplayBody, RetryBody};
pub use error::{AttemptTimeout, IncompleteBody};
#[doc(inline)]
pub use http_retry_core::{
    Attempt, Backoff, Class, ErrorKind, Jitter, Methods, Outcome, Reach, RequestFacts,
    RetryOverride, RetryPolicy, RetryPolicyBuilder, StopReason,
};
#[doc(inline)]
pub use http_retry_core::{ConfigError, RateLimited};
#[cfg(feature = "metrics")]
#[doc(inline)]
pub use report::MetricsObserver;
pub use report::{ReportSlot, RetryReport};
#[cfg(feature = "reqwest")]
#[doc(inline)]
pub use reqwest::RetryMiddleware;
#[doc(inline)]
pub use run::Runner;
#[doc(inline)]
pub use tower::RetryLayer;
