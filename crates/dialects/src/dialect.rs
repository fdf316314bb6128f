//! Dialects: service-specific meanings of responses, as tables of rows that anyone can read and extend.
//!
//! A status code is not enough for most APIs: GitHub refuses with 403, AWS with 400, Shopify's GraphQL with 200. A
//! [`Dialect`] is a table of rows: *if a response looks like this, it means that*. A row sets the class of a
//! response, how far the request got, when to retry and which calls a limit stops. Limits, backoff, budget, deadline
//! and gate then act on it as on any response.
//!
//! ```
//! use http_retry::RetryPolicy;
//! use http_retry::dialect::{Dialect, Interpretation, Location, Row};
//! use http_retry::policy::Unit;
//!
//! let github = RetryPolicy::background().to_builder().dialect(Dialect::github()).build()?;
//!
//! // Own rows precede those of the joined table.
//! let own = Dialect::named("shop").and(Dialect::shopify()).row(
//!     Row::when()
//!         .status([403])
//!         .json("/error/code", "SLOW")
//!         .is(Interpretation::throttled().delay(Location::json("/wait_ms"), Unit::Ms)),
//! );
//! let shop = RetryPolicy::background().to_builder().dialect(own).build()?;
//! # Ok::<(), http_retry::ConfigError>(())
//! ```
//!
//! The first of these that has a verdict on a response decides on its class and reach: the policy's own classifiers,
//! the first row that matches, the header rules that apply to every service, the status table. A classifier that gives
//! no delay or no scope leaves that of the row. For the delay, the order is: `retry-after-ms` and similar headers,
//! `Retry-After`, the delay of the row, the resets of spent quotas.
//!
//! A [`Dialect`] is a [`Classify`](http_retry_core::policy::Classify) implementation that uses public items alone, so a
//! table of your own may be another type.
//!
//! A body is read only if a row could still match. The limit for a failure is 64 KiB and 2 s. The body of a success is
//! read only if a row names its status and tests the body, and only if it is JSON or XML of at most 64 KiB or of
//! unknown length.

mod at;
mod by_host;
mod judge;
mod meaning;
mod row;
mod tables;

pub use at::Location;
pub use by_host::Dialects;
pub use meaning::Interpretation;
pub use row::{Row, RowBuilder};

pub(crate) use tables::llm::{
    TokenCounts, context_counts, judge, judge_event, limit_and_requested,
};

use http::HeaderName;
use http_retry_core::ConfigError;
use std::fmt;
use std::sync::Arc;

/// A table of rows that gives a service's responses their meaning; the first row that matches decides.
///
/// Pass it to [`RetryPolicyBuilder::dialect`](http_retry_core::RetryPolicyBuilder::dialect). The policy's `build`
/// rejects a row that cannot work, more than 64 rows of the dialect's own, and more than 16 JSON pointers in these (64
/// in all joined dialects). A response that no row matches is judged by the header rules and the status table, as
/// without a dialect.
///
/// ```
/// use http::{HeaderMap, StatusCode};
/// use http_retry::dialect::{Dialect, Interpretation, Row};
/// use http_retry::{Class, Outcome, RetryPolicy};
///
/// let calm_down = Row::when().status([420]).is(Interpretation::throttled());
/// let shop = Dialect::named("shop").row(calm_down);
/// let policy = RetryPolicy::background().to_builder().dialect(shop).build()?;
///
/// let headers = HeaderMap::new();
/// let answer = Outcome::response(StatusCode::from_u16(420)?, &headers);
/// let judged = policy.classify(answer);
/// assert_eq!(judged.class(), Class::Throttled); // a permanent failure by the status table
/// assert_eq!(policy.row_of(&judged).as_deref(), Some("shop[0]"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct Dialect {
    name: Arc<str>,
    source: &'static str,
    key_header: Option<HeaderName>,
    quoted_keys: Option<bool>,
    /// The rows in the order in which they are tried: its own, then those of the joined dialects.
    rows: Vec<Row>,
    /// The number of its own rows.
    own: usize,
}

impl Dialect {
    /// Creates an empty dialect with this name, which may be any text. Reports and events call its first row `shop[0]`,
    /// and the metric of attempts has the name as a label, so use few names.
    pub fn named(name: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            source: "",
            key_header: None,
            quoted_keys: None,
            rows: Vec::new(),
            own: 0,
        }
    }

    /// Returns the built-in dialect with this name, for names that come from settings; code calls the constructor, such
    /// as [`Dialect::github`]. Case is ignored, a hyphen counts as an underscore, and the members of a family are known
    /// by their own names: `bigquery` is `google`.
    ///
    /// ```
    /// use http_retry::dialect::Dialect;
    ///
    /// assert_eq!(Dialect::get("Docker-Hub")?.name(), "docker_hub");
    /// assert_eq!(Dialect::get("bigquery")?.name(), "google");
    /// let unknown = Dialect::get("github.com").unwrap_err();
    /// assert!(unknown.to_string().ends_with("the nearest is github"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if no built-in dialect has this name; the error suggests the nearest one.
    pub fn get(name: &str) -> Result<Self, ConfigError> {
        let plain = name.replace('-', "_").to_ascii_lowercase();
        let is_in = |members: &str| members.split_ascii_whitespace().any(|one| one == plain);
        let families = tables::FAMILIES.iter();
        let family = families.copied().find(|(_, members)| is_in(members));
        let plain = family.map_or(plain.as_str(), |(family, _)| family);
        let found = tables::ALL.iter().find(|(known, _)| *known == plain);
        found.map(|(_, make)| make()).ok_or_else(|| {
            let near = nearest(plain);
            let allowed = format!("is no built-in dialect; the nearest is {near}");
            ConfigError::new("dialect", name, allowed)
        })
    }

    /// Returns all 88 built-in dialects, in the order of their names.
    pub fn all() -> impl Iterator<Item = Self> {
        tables::ALL.iter().map(|(_, make)| make())
    }

    /// Adds a row, after its own rows so far and before those of every dialect that was joined with [`Dialect::and`],
    /// in whichever order these were called. Put rows that stop before rows that retry.
    pub fn row(mut self, row: Row) -> Self {
        let name = Some(self.row_name_at(self.own));
        self.rows.insert(self.own, Row { name, ..row });
        self.own = self.own.saturating_add(1);
        self
    }

    /// Adds a row with a name of its own, after all others. Reports and events use this name for the row, and `rules`
    /// for its dialect.
    pub fn rule(mut self, name: impl Into<Arc<str>>, row: Row) -> Self {
        self.rows.push(Row {
            name: Some(name.into()),
            is_rule: true,
            ..row
        });
        self
    }

    /// Joins another dialect, whose rows come after all of these; the first row that matches decides. The settings for
    /// idempotency keys ([`Dialect::key_header`], [`Dialect::quoted_keys`]) are taken from the other dialect if they
    /// are not set in this one. Joined rows keep the name of the dialect that they come from.
    ///
    /// ```
    /// use http_retry::dialect::Dialect;
    ///
    /// let amazon = Dialect::s3().and(Dialect::aws());
    /// assert_eq!(amazon.name(), "s3");
    /// assert_eq!(amazon.len(), Dialect::s3().len() + Dialect::aws().len());
    /// ```
    pub fn and(mut self, other: Self) -> Self {
        self.rows.extend(other.rows);
        self.key_header = self.key_header.or(other.key_header);
        self.quoted_keys = self.quoted_keys.or(other.quoted_keys);
        self
    }

    /// Sets the header in which the service accepts an idempotency key, besides the usual ones. A request that has it
    /// counts as idempotent, and a layer that generates keys writes it. Default `idempotency-key`.
    pub fn key_header(mut self, name: HeaderName) -> Self {
        self.key_header = Some(name);
        self
    }

    /// Sets whether a layer that generates idempotency keys sends them in quotes, as the draft's string type requires:
    /// `"7c8a.."`. A key that the caller set is not changed. Default `false`, which is how most services read the
    /// header.
    ///
    /// # Source
    ///
    /// draft-ietf-httpapi-idempotency-key-header, section 2.1; RFC 9651 section 3.3.3.
    pub fn quoted_keys(mut self, quoted: bool) -> Self {
        self.quoted_keys = Some(quoted);
        self
    }

    /// Returns the name; for joined dialects, that of the first.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the source of its facts: pages of the service's documentation, or the code of its own clients. Empty for
    /// a dialect of your own; for joined dialects, the source of the first.
    #[must_use]
    pub fn source(&self) -> &'static str {
        self.source
    }

    /// Returns the number of rows, including those of the joined dialects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns `true` if it has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns `true` if some row tests the body of a failure. The layer then reads up to 64 KiB of it, for at most 2
    /// s, if a row could still match.
    #[must_use]
    pub fn reads_bodies(&self) -> bool {
        self.rows.iter().any(Row::reads_the_body)
    }

    /// Returns `true` if some row tests the body of a response that is a success by its status (100 to 399). The layer
    /// then reads such a response before the caller gets it, if it is JSON or XML of at most 64 KiB or of unknown
    /// length.
    #[must_use]
    pub fn reads_successes(&self) -> bool {
        let mut of_successes = self.rows.iter().filter(|row| row.of_successes);
        of_successes.any(Row::reads_the_body)
    }

    /// Returns `true` if some row declares a request unprocessed although the status alone does not.
    #[must_use]
    pub fn has_refused_rows(&self) -> bool {
        self.rows.iter().any(|row| row.meaning.is_refused())
    }

    /// Returns the dialect without its own row at this index, which starts at 0: for tests that check that every row is
    /// needed. The dialect is unchanged if there is no such row.
    pub fn without(mut self, place: usize) -> Self {
        if place < self.own {
            self.rows.remove(place);
            self.own = self.own.saturating_sub(1);
            for later in place..self.own {
                let name = self.row_name_at(later);
                if let Some(row) = self.rows.get_mut(later) {
                    row.name = Some(name);
                }
            }
        }
        self
    }

    fn built_in(name: &'static str, source: &'static str, own: Vec<Row>) -> Self {
        let empty = Self {
            source,
            ..Self::named(name)
        };
        own.into_iter().fold(empty, Self::row)
    }

    /// Returns the name of its own row at this index.
    fn row_name_at(&self, place: usize) -> Arc<str> {
        format!("{}[{place}]", self.name).into()
    }
}

/// Leaves out the rows: they may hold texts that the owner searches bodies for.
impl fmt::Debug for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dialect")
            .field("name", &self.name)
            .field("rows", &self.len())
            .finish_non_exhaustive()
    }
}

/// Returns the name of the built-in dialect that is most like this one.
fn nearest(name: &str) -> &'static str {
    let shared = |known: &str| {
        let start = known.bytes().zip(name.bytes());
        let start = start.take_while(|(one, other)| one == other).count();
        let inside = usize::from(known.contains(name) || name.contains(known));
        (inside, start)
    };
    let names = tables::ALL.iter().map(|(known, _)| *known);
    names.max_by_key(|known| shared(known)).unwrap_or_default()
}
