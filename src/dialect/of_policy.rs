//! What a policy takes of dialects: one for all, or one for each host.

use super::say::Tables;
use super::{Dialect, Row, hosts};
use crate::policy::RetryPolicyBuilder;
use std::sync::Arc;

/// Dialects by host: `api.github.com` speaks `github`, and so on.
///
/// A name in a URL is no proof of who answers (there are proxies, test servers and look-alikes), so a policy has this
/// only if it says so. A host that is not among them speaks no dialect.
///
/// ```
/// use http::{HeaderMap, Method, StatusCode};
/// use http_retry::dialect::{Dialect, Dialects};
/// use http_retry::policy::RequestLine;
/// use http_retry::{Class, Outcome, RetryPolicy};
///
/// let dialects = Dialects::by_host().host("*.git.example", Dialect::github());
/// let policy = RetryPolicy::background().to_builder().dialects(dialects).build()?;
///
/// let headers = HeaderMap::from_iter([("x-ratelimit-remaining".parse().unwrap(), 0.into())]);
/// let judged = |host: &str| {
///     let request = RequestLine::new(&Method::GET, host, "/user", &headers);
///     let answer = Outcome::response(StatusCode::FORBIDDEN, &headers);
///     policy.classify(answer.of_request(&request)).class()
/// };
/// assert_eq!(judged("api.git.example"), Class::Throttled);
/// assert_eq!(judged("shop.example"), Class::Permanent);
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Dialects {
    hosts: Vec<(String, Dialect)>,
    inspect_success: bool,
}

impl Dialects {
    /// The built-in dialects, each for its public hosts, such as `api.github.com` and `*.amazonaws.com`: 46 hosts. A service
    /// that everybody runs on a host of their own, such as Kubernetes, is not among them.
    pub fn by_host() -> Self {
        Self {
            hosts: hosts::all(),
            inspect_success: false,
        }
    }

    /// One more host, such as `api.example.com` or `*.example.com`, and what it speaks; it goes before the others. A port
    /// does not count; the policy's `build` refuses a host with one, and what is no host.
    pub fn host(mut self, host: impl Into<String>, dialect: Dialect) -> Self {
        let host = host.into().to_ascii_lowercase();
        self.hosts.insert(0, (host, dialect));
        self
    }

    /// Whether the bodies of successes are read where a table asks for it. Default no: such an answer would wait for its
    /// body on the strength of a name.
    pub fn inspect_success(self, inspect_success: bool) -> Self {
        Self {
            inspect_success,
            ..self
        }
    }
}

impl RetryPolicyBuilder {
    /// What the service means by its answers: its rows go before the status table, and a classifier before them.
    /// Default none.
    ///
    /// `build` refuses a dialect with a row that cannot work, with more than 64 rows of its own, or with more than 16
    /// places of a JSON body.
    #[expect(clippy::needless_pass_by_value, reason = "as every setter takes it")]
    pub fn dialect(self, dialect: Dialect) -> Self {
        match Tables::one(&dialect) {
            Ok(tables) => self.meanings(Some(Arc::new(tables))),
            Err(error) => self.refuse(error),
        }
    }

    /// Rows that judge a response before every classifier and dialect, each by its own name in reports. They replace those
    /// of an earlier call. Default none.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    /// use http_retry::dialect::{Meaning, Row};
    ///
    /// let full = Row::when().status([507]).is(Meaning::throttled());
    /// let policy = RetryPolicy::builder().judged_by([("full", full)]).build()?;
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    pub fn judged_by(self, rows: impl IntoIterator<Item = (impl Into<Arc<str>>, Row)>) -> Self {
        let rows: Vec<_> = rows
            .into_iter()
            .map(|(name, row)| (name.into(), row))
            .collect();
        if let Some(error) = rows.iter().find_map(|(_, row)| row.check().err()) {
            return self.refuse(error);
        }
        let tables = Tables::of_rules(rows);
        self.judged((!tables.is_empty()).then(|| Arc::new(tables) as _))
    }

    /// A dialect for each host, in the place of one for all.
    #[expect(clippy::needless_pass_by_value, reason = "as every setter takes it")]
    pub fn dialects(self, dialects: Dialects) -> Self {
        match Tables::by_host(&dialects.hosts, dialects.inspect_success) {
            Ok(tables) => self.meanings(Some(Arc::new(tables))),
            Err(error) => self.refuse(error),
        }
    }
}
