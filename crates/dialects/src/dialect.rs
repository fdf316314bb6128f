//! What a service means by its answers: tables of rows that anyone can read and extend.
//!
//! A status is not enough for most APIs: GitHub refuses with 403, AWS with 400, Shopify's GraphQL with 200. A
//! [`Dialect`] is a table: *when an answer looks like this, it means that*. It says the class of an answer, how far the
//! request got, when to come back and whom a limit stops; limits, backoff, budget, deadline and gate act on that as on
//! any answer.
//!
//! ```
//! use http_retry::RetryPolicy;
//! use http_retry::dialect::{Dialect, Interpretation, Location, Row};
//! use http_retry::policy::Unit;
//!
//! let github = RetryPolicy::background().to_builder().dialect(Dialect::github()).build()?;
//!
//! // Rows of one's own go before those of the table that they are added to.
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
//! The first of these that has a verdict on a response decides: the policy's own classifiers, the first row that holds,
//! the header rules for everybody, the status table. Of a delay: `retry-after-ms` and its kin, `Retry-After`, what the row
//! names, the resets of spent quotas.
//!
//! A [`Dialect`] is a [`Classify`](http_retry_core::policy::Classify) that uses public items alone: a table of your own may be
//! another type.
//!
//! A body is read only if a row could still match: of a failure 64 KiB at most, for 2 s at most; of a success only where
//! a row names its status and a test of the body, and only JSON or XML of at most 64 KiB or of unknown length.

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

/// What a service means by its answers: rows, of which the first that holds speaks.
///
/// A policy takes one with [`RetryPolicyBuilder::dialect`](http_retry_core::RetryPolicyBuilder::dialect), whose `build` refuses a row
/// that cannot work, more than 64 rows of the dialect's own, and more than 16 places of a JSON body that they look at (64 of
/// all dialects that are joined). An answer that no row holds for is judged by the header rules and the status table, as
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
/// let answer = Outcome::response(StatusCode::from_u16(420).unwrap(), &headers);
/// let judged = policy.classify(answer);
/// assert_eq!(judged.class(), Class::Throttled); // a permanent failure by the status table
/// assert_eq!(policy.row_of(&judged).as_deref(), Some("shop[0]"));
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct Dialect {
    name: Arc<str>,
    source: &'static str,
    key_header: Option<HeaderName>,
    quoted_keys: Option<bool>,
    /// Its rows, in the order in which they are asked: its own, then those of the dialects joined to it.
    rows: Vec<NamedRow>,
    /// The number of its own rows.
    own: usize,
}

/// A row and its name: its table and its place there.
#[derive(Clone)]
struct NamedRow {
    name: Arc<str>,
    /// The name is that of a rule.
    is_rule: bool,
    row: Row,
}

impl Dialect {
    /// An empty dialect of this name, any text. Reports and events call its first row `shop[0]`, and the metric of attempts
    /// has the name as a label: use few.
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

    /// The built-in dialect of this name, for names that come from settings; code calls the constructor, such as
    /// [`Dialect::github`]. Case does not matter, a hyphen counts as an underscore, and a family answers to its members:
    /// `bigquery` is `google`.
    ///
    /// ```
    /// use http_retry::dialect::Dialect;
    ///
    /// assert_eq!(Dialect::get("Docker-Hub")?.name(), "docker_hub");
    /// assert_eq!(Dialect::get("bigquery")?.name(), "google");
    /// let unknown = Dialect::get("github.com").unwrap_err();
    /// assert!(unknown.to_string().ends_with("the nearest is github"));
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// A name that no built-in dialect has; the error names the nearest.
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

    /// All built-in dialects, in the order of their names: 39.
    pub fn all() -> impl Iterator<Item = Self> {
        tables::ALL.iter().map(|(_, make)| make())
    }

    /// One more row, after its own so far and before those of every dialect that [`Dialect::and`] has joined to it,
    /// whichever came first. A row that stops belongs before rows that retry.
    pub fn row(mut self, row: Row) -> Self {
        let name = self.row_name_at(self.own);
        let row = NamedRow {
            name,
            is_rule: false,
            row,
        };
        self.rows.insert(self.own, row);
        self.own = self.own.saturating_add(1);
        self
    }

    /// One more row under a name of its own, after all others. Reports and events call it by this name, and its dialect
    /// `rules`.
    pub fn rule(mut self, name: impl Into<Arc<str>>, row: Row) -> Self {
        self.rows.push(NamedRow {
            name: name.into(),
            is_rule: true,
            row,
        });
        self
    }

    /// The rows of another dialect after all of these: the first that holds speaks. What this one leaves open of the keys of
    /// idempotency ([`Dialect::key_header`], [`Dialect::quoted_keys`]) is as the other one says. Its rows keep the name of the
    /// dialect that they come from.
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

    /// The header in which the service takes a key of idempotency, besides the usual ones: a request that has it counts as
    /// idempotent, and a layer that makes keys writes it. Default `idempotency-key`.
    pub fn key_header(mut self, name: HeaderName) -> Self {
        self.key_header = Some(name);
        self
    }

    /// Whether a layer that makes keys of idempotency sends them in quotes, as a string of the draft: `"7c8a.."`. A key that
    /// the caller gave stays as it is. Default no, as most services read the header.
    ///
    /// # Source
    ///
    /// draft-ietf-httpapi-idempotency-key-header, section 2.1; RFC 9651 section 3.3.3.
    pub fn quoted_keys(mut self, quoted: bool) -> Self {
        self.quoted_keys = Some(quoted);
        self
    }

    /// Its name: of joined dialects that of the first.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where its facts are from: pages of the service's documentation, or the code of its own clients; empty for a dialect of
    /// your own. Of joined dialects that of the first.
    #[must_use]
    pub fn source(&self) -> &'static str {
        self.source
    }

    /// How many rows it has, with those of the dialects that it is made from.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether it has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether some row looks at the body of a failure. The layer then reads up to 64 KiB of it, for at most 2 s, where a row
    /// could still hold.
    #[must_use]
    pub fn reads_bodies(&self) -> bool {
        self.all_rows().any(Row::reads_the_body)
    }

    /// Whether some row looks at the body of an answer that is a success by its status (100 to 399). The layer then reads such
    /// an answer before the caller has it, if it is JSON or XML of at most 64 KiB or of unknown length.
    #[must_use]
    pub fn reads_successes(&self) -> bool {
        let mut of_successes = self.all_rows().filter(|row| row.of_successes);
        of_successes.any(Row::reads_the_body)
    }

    /// Whether some row says that the server did not do what was asked, though its status says less.
    #[must_use]
    pub fn has_refused_rows(&self) -> bool {
        self.all_rows().any(|row| row.meaning.is_refused())
    }

    /// The same dialect without one of its own rows, the first being 0: for a test that each is needed. Without such a row it
    /// stays as it is.
    pub fn without(mut self, place: usize) -> Self {
        if place < self.own {
            self.rows.remove(place);
            self.own = self.own.saturating_sub(1);
            for later in place..self.own {
                let name = self.row_name_at(later);
                if let Some(row) = self.rows.get_mut(later) {
                    row.name = name;
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

    /// The name of its own row at this place.
    fn row_name_at(&self, place: usize) -> Arc<str> {
        format!("{}[{place}]", self.name).into()
    }

    fn all_rows(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().map(|named| &named.row)
    }
}

/// A row may hold what somebody looks for in a body.
impl fmt::Debug for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dialect")
            .field("name", &self.name)
            .field("rows", &self.len())
            .finish_non_exhaustive()
    }
}

/// The built-in dialect whose name is most like this one.
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
