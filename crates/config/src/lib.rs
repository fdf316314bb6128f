//! Services, budgets, policies and rules in one document that operators can edit while the program runs.
//!
//! Any serde format can be used. The error lists every problem with its path, and a document with problems changes
//! nothing.
//!
//! ```
//! use http_retry::config::{Document, RetryConfig};
//!
//! let document: Document = serde_yaml_ng::from_str(r#"
//! version: 1
//! budgets:
//!   shared: {capacity: 50, per_success: 0.2}
//! retry: {use: background, deadline: 2m}
//! services:
//!   orders:
//!     match: {host: "orders.example.com"}
//!     budget: shared
//!     retry: {max_attempts: 3, base: 200ms}
//!     rules:
//!       - when: {status: 409}
//!         retry: {max_retries: 1, backoff: none}
//! "#)?;
//! let config = RetryConfig::load(&document)?;
//! let layer = http_retry::tower::RetryLayer::from_config(&config);
//! # #[cfg(feature = "reqwest")]
//! let middleware = http_retry::reqwest::RetryMiddleware::from_config(&config).redirects_watched();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Precedence
//!
//! Each field is taken from the most specific level that sets it. From general to specific: the default, the document,
//! the service, the route, the matched rule, and the request's own [`RetryOverride`](http_retry_core::RetryOverride),
//! if the service's `request_overrides` allow it. A block's own fields override those of the policy that it names in
//! `use`. Lists replace lists. [`RetryPolicy::explain`](http_retry_core::RetryPolicy::explain) lists the source of each
//! field.
//!
//! # Rule order
//!
//! The rules of the route come first, then those of the service, then those of the document; the first that matches
//! decides. If none matches, `otherwise` decides; its default follows the class of the outcome.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod builder;
mod condition;
mod dialect;
mod document;
#[cfg_attr(not(feature = "fleet"), path = "no_fleet.rs")]
mod fleet;
mod layers;
mod live;
mod locate;
mod place;
mod policy;
mod problems;
mod reader;
mod retry;
mod rule;
mod shown;
#[cfg(test)]
mod tests;
mod value;
mod values;

pub use builder::RetryConfigBuilder;
pub use locate::PathProbe;
pub use problems::ConfigErrors;

use arc_swap::ArcSwap;
use http_retry_core::route::{RequestHead, Route, Router};
use http_retry_core::sharing::SharedServices;
use http_retry_services::RouteSummary;
use live::Live;
use serde::de::{Deserialize, Deserializer, Error};
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use value::Value;

/// An unchecked document, as a serde format returns it.
///
/// Deserialization fails for more than 100,000 values and 40 more for each service, for more than 1 MiB of keys and texts
/// and 1 KiB more for each service, and for more than 64 levels. So a document may have any number of services, and a
/// short text that expands, such as YAML with nested aliases, takes bounded memory. [`from_text`](Self::from_text)
/// bounds the costs of the parser itself.
#[derive(Clone, PartialEq)]
pub struct Document(Arc<Value>);

impl Document {
    /// Parses a text of at most 1 MiB with at most 128 brackets open at once; any other text is rejected before it
    /// reaches the parser. A byte order mark at its start is left out.
    ///
    /// A parser has its own costs before the first value: some YAML parsers use a few hundred bytes per byte of text,
    /// and time quadratic in the number of open brackets. Use this if the text does not come from the operator.
    /// Brackets in texts and comments count too.
    ///
    /// ```
    /// use http_retry::config::{Document, RetryConfig};
    ///
    /// let text = "{version: 1, retry: background}";
    /// let document = Document::from_text(text, |text| serde_yaml_ng::from_str(text))?;
    /// let config = RetryConfig::load(&document)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The parser's own error, which may quote the text, or an error of its type that names the bound that the text
    /// exceeds, or why it is no document: it is empty, or indented with tabs, which YAML forbids.
    pub fn from_text<'a, E: Error>(
        text: &'a str,
        read: impl FnOnce(&'a str) -> Result<Self, E>,
    ) -> Result<Self, E> {
        // RFC 8259, section 8.1, lets a reader ignore a byte order mark; not every parser does.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        value::check_text(text).map_err(E::custom)?;
        read(text).map_err(
            |error| match value::why_unreadable(text, &error.to_string()) {
                Some(cause) => E::custom(cause),
                None => error,
            },
        )
    }
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|value| Self(Arc::new(value)))
    }
}

/// A document in force. Every clone of the handle, and every layer made from it, follows its changes.
///
/// Each request reads it with one atomic load, and uses the document that it started with to the end. No lock is held
/// while a document is loaded, so the functions that it names may change it too.
#[derive(Clone)]
pub struct RetryConfig {
    live: Arc<ArcSwap<Live>>,
}

/// The most times that a change is made anew because another one came first.
const MAX_TRIES: usize = 1_000;

/// A change, and one by a function that runs for it. More would be a function that runs for its own change.
const MAX_NESTED: u32 = 2;

thread_local! {
    /// The number of changes that this thread is making, each within another.
    static CHANGES: Cell<u32> = const { Cell::new(0) };
}

/// Counts a change of this thread until it is dropped.
struct CountedChange;

impl CountedChange {
    /// Returns `None` if the change is made within too many others.
    fn begin() -> Option<Self> {
        let outer = CHANGES.get();
        (outer < MAX_NESTED).then(|| {
            CHANGES.set(outer.saturating_add(1));
            Self
        })
    }
}

impl Drop for CountedChange {
    fn drop(&mut self) {
        CHANGES.set(CHANGES.get().saturating_sub(1));
    }
}

impl RetryConfig {
    /// Returns a builder, for documents that name observers or schedules of your own.
    pub fn builder() -> RetryConfigBuilder {
        RetryConfigBuilder::default()
    }

    /// Loads a document and puts it into force.
    ///
    /// # Errors
    ///
    /// Every problem of the document, each with its path.
    pub fn load(document: &Document) -> Result<Self, ConfigErrors> {
        Self::builder().load(document)
    }

    /// Replaces the document in force. Budgets keep their tokens unless their own numbers change. Requests in progress
    /// keep the document that they started with.
    ///
    /// ```
    /// use http_retry::config::RetryConfig;
    ///
    /// let config: RetryConfig = serde_json::from_str(r#"{"version": 1, "retry": "background"}"#)?;
    /// let of_a_layer = config.clone();
    /// config.replace(&serde_json::from_str(r#"{"version": 1, "retry": "user_facing"}"#)?)?;
    /// assert_eq!(of_a_layer.routes()[0].worst_case.attempts, Some(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Every problem of the new document; the old one then stays in force.
    pub fn replace(&self, document: &Document) -> Result<(), ConfigErrors> {
        self.change(|before| before.replaced(&document.0))
    }

    /// Changes one service of the document in force, or adds one. Maps are merged, lists and other values are replaced,
    /// and a null removes a key.
    ///
    /// ```
    /// use http_retry::config::RetryConfig;
    ///
    /// let config: RetryConfig = serde_json::from_str(r#"{"version": 1}"#)?;
    /// config.patch_service("orders", &serde_json::from_str(r#"{"retry": {"max_retries": 1}}"#)?)?;
    /// assert_eq!(config.routes()[0].service.as_deref(), Some("orders"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Every problem of the changed document; the old one then stays in force.
    pub fn patch_service(&self, name: &str, change: &Document) -> Result<(), ConfigErrors> {
        self.change(|before| before.patched(name, &change.0))
    }

    /// Returns a JSON Schema (draft 2020-12) of the document, with a description of every key, for editors and
    /// validators.
    ///
    /// It checks structure, keywords and ranges; only the loader finds unknown names, cycles and limits that do not fit
    /// each other. The file `src/config.schema.json` of the package `http-retry-config` is identical.
    ///
    /// ```
    /// use http_retry::config::RetryConfig;
    ///
    /// let schema: serde_json::Value = serde_json::from_str(&RetryConfig::json_schema())?;
    /// assert_eq!(schema["properties"]["version"]["const"], 1);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn json_schema() -> String {
        include_str!("config.schema.json").trim_end().to_owned()
    }

    /// Returns the fleet that the document names, for its status and to close it.
    #[cfg(feature = "fleet")]
    #[must_use]
    pub fn fleet(&self) -> Option<http_retry_fleet::Fleet> {
        self.live.load().fleet.clone()
    }

    /// Returns every route that a request can match in the document in force, with its policy and rules: for each
    /// service, in the order of the names, its routes in their order and then the service itself; last, the fallback
    /// for requests that match no service.
    #[must_use]
    pub fn routes(&self) -> Vec<RouteSummary> {
        self.live.load().services.routes()
    }

    /// Puts the document that `make` builds from the one in force into force, if it builds any. If another change comes
    /// first, this one is made again on top of it, so that none is lost.
    fn change(
        &self,
        make: impl Fn(&Live) -> Result<Option<Live>, ConfigErrors>,
    ) -> Result<(), ConfigErrors> {
        let refuse = |cause| Err(ConfigErrors::one("the document", cause));
        let Some(_counted) = CountedChange::begin() else {
            return refuse("is changed by a function that runs for that very change");
        };
        for _ in 0..MAX_TRIES {
            let before = self.live.load_full();
            let Some(new) = make(&before)? else {
                return Ok(());
            };
            let found = self.live.compare_and_swap(&before, Arc::new(new));
            if Arc::ptr_eq(&found, &before) {
                return Ok(());
            }
        }
        refuse("changes each time before it is loaded")
    }
}

/// Reads and loads a document in one step, if it uses no names from code.
impl<'de> Deserialize<'de> for RetryConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::load(&Document::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// Uses the document that is in force at the time of each request.
impl Router for RetryConfig {
    fn route(&self, head: &RequestHead<'_>, service: Option<&str>) -> Arc<Route> {
        self.live.load().services.route(head, service)
    }

    fn fleet(&self) -> Option<Arc<dyn SharedServices>> {
        Router::fleet(&self.live.load().services)
    }
}

/// Shows only the keys, since a value may be a secret: a header, a body, the user info of a URL.
impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document")
            .field("keys", &self.0.shown_keys())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for RetryConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let live = self.live.load();
        f.debug_struct("RetryConfig")
            .field("services", &live.services.names().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
