//! Retry middleware for HTTP clients: one policy and one shared budget, for reqwest and for any tower or hyper stack.
//!
//! A layer retries only what is safe to repeat, waits as long as the server asks, and stops when retries would make an
//! outage worse. For every request it reports why it retried, how long it waited and why it stopped.
//!
//! # On reqwest
//!
//! ```
//! # #[cfg(feature = "reqwest")] {
//! use http_retry::reqwest::{RetryMiddleware, build};
//! use http_retry::{RetryBudget, RetryPolicy};
//! use reqwest::redirect::Policy;
//!
//! let budget = RetryBudget::default(); // clone it into every client that calls the same service
//! let retries = RetryMiddleware::new(RetryPolicy::user_facing()).budget(budget);
//! let client = build(reqwest::Client::builder(), Policy::default(), retries)?.build();
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # On tower and hyper
//!
//! ```
//! use http_retry::tower::RetryLayer;
//! use http_retry::{RetryBudget, RetryPolicy};
//!
//! let layer = RetryLayer::new(RetryPolicy::background()).budget(RetryBudget::default());
//! // tower::ServiceBuilder::new().layer(layer).service(client)
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
//! | decide without a client | [`policy`] |
//! | test your own code | [`testing::ManualRuntime`], [`testing::Script`] |
//! | read more | [`docs::guide`], [`docs::clients`], [`docs::dialects`], [`docs::gate`], [`docs::fleet`], [`docs::cookbook`], [`docs::migration`], [`docs::config`], [`docs::design`], [`docs::comparison`] |
//!
//! # Features
//!
//! `default = ["hyper", "http2", "services"]`. A feature adds items, and no item decides otherwise because of one: another
//! crate of your program may turn it on. Three features add to what can be read, and so to what can be decided: `hyper`
//! and `http2` errors, `dialects` the JSON rows of a dialect that you chose. Name these yourself if you rely on them.
//!
//! | feature | what it adds |
//! |---|---|
//! | `hyper` | recognises the errors of hyper and hyper-util |
//! | `http2` | recognises the errors of h2 by type, not by their text |
//! | `reqwest` | the middleware, and the layer on `reqwest::Client` |
//! | `dialects` | [`dialect::Dialect`], and conditions on the JSON bodies of errors; implied by `serde` and `llm` |
//! | `services` | [`services::Services`]: a policy for each service, in code; implied by `serde` |
//! | `serde` | the document of `config` |
//! | `llm` | [`llm::LlmPreset`]: reads the errors of language models |
//! | `redis` | one budget and one gate for many processes |
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
    doc = "[`reqwest::RetryMiddleware`]: #features"
)]
#![cfg_attr(not(feature = "serde"), doc = "[`config::RetryConfig`]: #features")]
#![cfg_attr(not(feature = "redis"), doc = "[`fleet::Fleet`]: #features")]
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

#[cfg(any(
    all(doc, not(doctest)),
    all(
        any(doctest, test),
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
pub use http_retry_core::{ConfigError, RateLimited};
pub use policy::rules;
pub use policy::{
    Attempt, Backoff, Class, ErrorKind, Jitter, Methods, Outcome, Reach, RequestFacts,
    RetryOverride, RetryPolicy, RetryPolicyBuilder, StopReason,
};
#[cfg(feature = "metrics")]
#[doc(no_inline)]
pub use report::MetricsObserver;
pub use report::{ReportSlot, RetryReport};
#[cfg(feature = "reqwest")]
#[doc(no_inline)]
pub use reqwest::RetryMiddleware;
#[doc(no_inline)]
pub use tower::RetryLayer;
