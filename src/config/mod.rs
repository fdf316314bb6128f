//! Services, budgets, policies and rules in one document that an operator edits, and changes while the program runs.
//!
//! A document is read by any serde reader; every problem in it is named with its place, and a document with problems does
//! not take effect at all.
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
//! # #[cfg(feature = "tower")]
//! let layer = http_retry::tower::RetryLayer::from_config(&config);
//! # #[cfg(feature = "reqwest")]
//! let middleware = http_retry::reqwest::RetryMiddleware::from_config(&config).redirects_watched();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is more specific wins
//!
//! Field by field: the default, the document, the service, the route, the matched rule, and the request's own
//! [`RetryOverride`](crate::RetryOverride) as far as the service's `request_overrides` allow it. What a block names in
//! `use` lies directly below it. A list takes the place of another list.
//! [`RetryPolicy::explain`](crate::RetryPolicy::explain) says where each field came from.
//!
//! # Which rule decides
//!
//! The rules of the route, then those of the service, then those of the document; the first that holds. Where none does,
//! `otherwise` decides, and by default the outcome's class.

mod block;
mod document;
mod errors;
mod headers;
mod live;
mod matching;
mod names;
mod problems;
mod resolve;
mod retry;
mod rule;
mod scalar;
mod shown;
mod summary;
mod units;
mod value;
mod when;

pub use errors::ConfigErrors;
pub use summary::RouteSummary;

use crate::report::DeadLetters;
use crate::route::{Choose, Head, Route};
use arc_swap::ArcSwap;
use live::Live;
use names::Names;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use value::Value;

/// A document as a serde reader gives it, not yet checked.
///
/// Reading ends with an error at more than 100,000 values, 1 MiB of keys and texts in all, or 64 levels, so that a short
/// text of which a reader makes much, such as YAML with aliases of aliases, takes bounded memory.
/// [`from_text`](Self::from_text) bounds what the reader itself takes.
#[derive(Clone, PartialEq)]
pub struct Document(Arc<Value>);

impl Document {
    /// Reads a text of at most 1 MiB that has at most 128 brackets open at once; another one does not reach the reader.
    ///
    /// A reader has costs of its own before it hands over the first value: some YAML readers keep a few hundred bytes for
    /// each byte of a text, and take the square of its open brackets in time. Use this wherever the text comes from
    /// somebody else than the operator. Brackets in texts and comments count too.
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
    /// The reader's own error, which may quote the text, or one of its kind that says which bound the text breaks.
    pub fn from_text<'a, E: Error>(
        text: &'a str,
        read: impl FnOnce(&'a str) -> Result<Self, E>,
    ) -> Result<Self, E> {
        match value::check_text(text) {
            Ok(()) => read(text),
            Err(cause) => Err(E::custom(cause)),
        }
    }
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|value| Self(Arc::new(value)))
    }
}

/// A document in force; every clone of the handle, and every layer made of it, follows its changes.
///
/// Reading it is one atomic load per request. A request that is under way keeps the document it began with.
#[derive(Clone)]
pub struct RetryConfig {
    shared: Arc<Shared>,
}

struct Shared {
    live: ArcSwap<Live>,
    names: Names,
    /// Changes come one after another.
    writing: Mutex<()>,
}

/// Gives names to what only code can bring, and then loads a document that uses them.
#[derive(Clone, Default)]
#[must_use]
pub struct RetryConfigBuilder {
    names: Names,
}

impl RetryConfig {
    /// A builder, for documents that name observers or schedules of your own.
    pub fn builder() -> RetryConfigBuilder {
        RetryConfigBuilder::default()
    }

    /// Puts a document into force.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the document, each with its place.
    pub fn load(document: &Document) -> Result<Self, ConfigErrors> {
        Self::builder().load(document)
    }

    /// Puts another document in the place of the one in force. Budgets keep their tokens unless their own numbers change.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the new document; the old one then stays in force.
    pub fn replace(&self, document: &Document) -> Result<(), ConfigErrors> {
        let _writing = self.lock();
        self.put(Arc::clone(&document.0))
    }

    /// Changes one service of the document in force, or adds one: maps are merged, lists and other values replaced, and a
    /// null takes a key away.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the document as it would be; the old one then stays in force.
    pub fn patch_service(&self, name: &str, change: &Document) -> Result<(), ConfigErrors> {
        let _writing = self.lock();
        let mut document = Value::clone(&self.shared.live.load().document);
        document.entry("services").entry(name).merge(&change.0);
        self.put(Arc::new(document))
    }

    /// Every place that requests can come to, with what holds there.
    #[must_use]
    pub fn routes(&self) -> Vec<RouteSummary> {
        summary::routes(&self.shared.live.load())
    }

    /// Finds a route for each request, by the document then in force.
    pub(crate) fn chooser(&self) -> Arc<dyn Choose> {
        Arc::clone(&self.shared) as Arc<dyn Choose>
    }

    fn put(&self, document: Arc<Value>) -> Result<(), ConfigErrors> {
        let Shared { live, names, .. } = &*self.shared;
        let new = Live::load(document, names, Some(&live.load()))?;
        live.store(Arc::new(new));
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, ()> {
        let writing = self.shared.writing.lock();
        writing.unwrap_or_else(PoisonError::into_inner)
    }
}

impl RetryConfigBuilder {
    /// Gives a name to an observer, for `on_exhausted: {dead_letter: NAME}`.
    pub fn dead_letters(mut self, name: impl Into<Arc<str>>, to: impl DeadLetters) -> Self {
        self.names.dead_letters.insert(name.into(), Arc::new(to));
        self
    }

    /// Gives a name to a schedule, for `backoff: {custom: NAME, args: ARGS}`. It is made from its arguments, and then gives
    /// the ceiling before retry n = 1, 2, and so on; jitter and the longest delay are the document's. It must not panic.
    ///
    /// ```
    /// use http_retry::config::{Document, RetryConfig};
    /// use std::time::Duration;
    ///
    /// let document: Document = serde_json::from_str(
    ///     r#"{"version": 1, "retry": {"backoff": {"custom": "squares", "args": {"unit_ms": 100}}}}"#,
    /// )?;
    /// #[derive(serde::Deserialize)]
    /// struct Squares { unit_ms: u64 }
    ///
    /// let config = RetryConfig::builder()
    ///     .backoff("squares", |args: Squares| {
    ///         move |n| Duration::from_millis(args.unit_ms).saturating_mul(n.saturating_mul(n))
    ///     })
    ///     .load(&document)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn backoff<A, F>(
        mut self,
        name: impl Into<Arc<str>>,
        make: impl Fn(A) -> F + Send + Sync + 'static,
    ) -> Self
    where
        A: DeserializeOwned,
        F: Fn(u32) -> Duration + Send + Sync + 'static,
    {
        self.names.add_backoff(name.into(), make);
        self
    }

    /// Puts a document into force.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the document, each with its place.
    pub fn load(self, document: &Document) -> Result<RetryConfig, ConfigErrors> {
        let live = Live::load(Arc::clone(&document.0), &self.names, None);
        Ok(RetryConfig {
            shared: Arc::new(Shared {
                live: ArcSwap::from_pointee(live?),
                names: self.names,
                writing: Mutex::new(()),
            }),
        })
    }
}

/// A document that names nothing of your own's can be read in one step.
impl<'de> Deserialize<'de> for RetryConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::load(&Document::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Choose for Shared {
    fn choose(&self, head: &Head<'_>, service: Option<&str>) -> Arc<Route> {
        self.live.load().choose(head, service)
    }
}

/// Its keys alone, since a value may be a secret: a header, a body, the user info of a URL.
impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document")
            .field("keys", &self.0.shown_keys())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for RetryConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let live = self.shared.live.load();
        f.debug_struct("RetryConfig")
            .field("services", &live.services.keys())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for RetryConfigBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RetryConfigBuilder")
            .field("dead_letters", &self.names.dead_letters.keys())
            .field("backoffs", &self.names.backoffs.keys())
            .finish()
    }
}
