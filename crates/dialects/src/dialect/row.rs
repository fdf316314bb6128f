//! One row of a dialect: a condition on a response, and its meaning.

use super::at::header;
use super::meaning::Interpretation;
use http::Method;
use http_retry_core::ConfigError;
use http_retry_core::policy::Pointer;
use http_retry_rules::{Condition, Value};
use std::sync::Arc;

/// One row of a [`Dialect`](super::Dialect): a condition on a response, and the meaning of a response that matches.
///
/// ```
/// use http_retry::dialect::{Dialect, Interpretation, Location, Row};
/// use http_retry::policy::Unit;
///
/// let slow = Row::when()
///     .status([403])
///     .json("/error/code", "SLOW")
///     .is(Interpretation::throttled().delay(Location::json("/wait_ms"), Unit::Ms));
/// let shop = Dialect::named("shop").row(slow);
/// assert!(shop.reads_bodies() && !shop.reads_successes());
/// ```
///
/// A row that names no status applies to failures alone. One that names a status from 100 to 399 applies to successes
/// too, and if it tests the body, the layer reads the start of such a response; the caller still gets every byte.
#[derive(Debug, Clone)]
pub struct Row {
    pub(super) when: Condition,
    pub(super) meaning: Interpretation,
    /// `true` if it names a status that is a success.
    pub(super) of_successes: bool,
    pub(super) refused: Option<ConfigError>,
    /// Its name in a table, which is made of the table's and its index there, unless it has one of its own.
    pub(super) name: Option<Arc<str>>,
    /// `true` if the name is that of a rule.
    pub(super) is_rule: bool,
    /// The place in a file where it is written.
    pub(super) origin: Option<Arc<str>>,
}

/// A row whose meaning is still to be set with [`RowBuilder::is`].
///
/// All of its conditions must hold. Those on the body are tested last: a body is read only if the others hold. The
/// `build` of the policy that gets the row rejects conditions that cannot be met, such as a status out of range or a
/// malformed header name or pointer.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct RowBuilder {
    when: Condition,
    refused: Option<ConfigError>,
}

impl Row {
    /// Starts a row that matches the responses for which all of the conditions that follow hold. Without conditions it
    /// matches every response that is a failure by its status.
    pub fn when() -> RowBuilder {
        RowBuilder::default()
    }

    /// Starts a row that matches the responses for which this condition holds, such as one that rules use too. Rows
    /// judge responses: the policy's `build` rejects a condition on the number of an attempt, on an error without a
    /// response, or on a result of the policy (success, retryable, idempotent).
    pub fn on(condition: Condition) -> RowBuilder {
        RowBuilder {
            when: condition,
            refused: None,
        }
    }

    /// Records the origin of the row for reports
    /// ([`RetryReport::stopped_by`](http_retry_core::RetryReport::stopped_by)): its place in a file, for a program that
    /// assembles dialects from files of its own. Default its name.
    #[must_use]
    pub fn origin(self, place: impl Into<Arc<str>>) -> Self {
        let origin = Some(place.into());
        Self { origin, ..self }
    }

    /// Checks that the row can work, as the policy's `build` does.
    ///
    /// # Errors
    ///
    /// Fails for a status, a header, a pointer or a condition that no response can have.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.refused.clone().map_or(Ok(()), Err)
    }

    /// Returns every JSON pointer in it.
    pub(super) fn pointers(&self) -> impl Iterator<Item = Pointer> {
        let own = self.when.pointers().into_iter();
        own.chain(self.meaning.pointers().cloned())
    }

    pub(super) fn reads_the_body(&self) -> bool {
        self.meaning.needs_the_body() || self.when.reads_body()
    }
}

impl RowBuilder {
    /// The response has one of these statuses, each 100 to 999: a list such as `[409, 423]`, or a range such as
    /// `500..=599`.
    pub fn status(self, statuses: impl IntoIterator<Item = u16>) -> Self {
        self.with(Condition::status(statuses))
    }

    /// The header has this value ([`Value`] documents the comparison): a text in any case, a number that the header
    /// begins with, or one of a list. Only the first 8 lines of the header are read, each of at most 1,024 bytes.
    pub fn header(self, name: &str, value: impl Into<Value>) -> Self {
        let value = value.into();
        self.with(header(name).and_then(|name| Condition::head(name, value)))
    }

    /// The part of a header with several has this value: `left` of `used=3, left=2`. See
    /// [`Location::header_part`](super::Location::header_part) for the separators of parts.
    pub fn header_part(self, name: &str, part: &str, value: impl Into<Value>) -> Self {
        let value = value.into();
        self.with(header(name).and_then(|name| Condition::head_part(name, part, value)))
    }

    /// The header is present, whatever its value.
    pub fn has_header(self, name: &str) -> Self {
        self.header(name, Value::any())
    }

    /// Two headers list numbers, and the usage at this index, which starts at 0, has reached its limit: at index 0 of
    /// `usage: 205,870` and `limit: 200,2000`.
    pub fn used_up(self, usage: &str, limit: &str, index: usize) -> Self {
        let names = header(usage).and_then(|usage| Ok((usage, header(limit)?)));
        self.with(names.map(|(usage, limit)| Condition::used_up(usage, limit, index)))
    }

    /// The value at this pointer of a JSON body is this one; texts are compared exactly. See
    /// [`Location::json`](super::Location::json) for pointers. If `*` matches several values, one that is equal is
    /// enough.
    pub fn json(self, pointer: &str, value: impl Into<Value>) -> Self {
        self.with(Condition::json(pointer, value))
    }

    /// The first element with this name in the first 4 KiB of an XML error holds one of these texts, compared exactly.
    /// The root of the body must be `Error`, `ErrorResponse` or `Response`, as in the errors of Amazon and Azure.
    pub fn xml<const N: usize>(self, tag: &str, texts: [&str; N]) -> Self {
        self.with(Condition::xml(tag, texts))
    }

    /// The first 64 KiB of the body contain this text; case is ignored.
    pub fn message(self, part: &str) -> Self {
        self.with(Condition::message(part))
    }

    /// The path of the request matches this pattern, in which `*` matches anything: `*/graphql`, `/v1/*`. The query is
    /// ignored.
    pub fn path(self, pattern: &str) -> Self {
        self.with(Condition::path(pattern))
    }

    /// The request has this method.
    pub fn method(self, method: Method) -> Self {
        self.with(Ok(Condition::method(method)))
    }

    /// The request has an idempotency key, in one of the usual headers or in that of the dialect
    /// ([`Dialect::key_header`](super::Dialect::key_header)).
    pub fn keyed(self) -> Self {
        self.with(Ok(Condition::keyed()))
    }

    /// This condition holds as well; see [`Row::on`] for the conditions that a row allows.
    pub fn and(self, condition: Condition) -> Self {
        self.with(Ok(condition))
    }

    /// Completes the row with the meaning of a response that matches.
    pub fn is(self, meaning: Interpretation) -> Row {
        let unfit = self.when.is_about_calls().then(|| {
            let allowed = "a row looks at answers: attempt, retryable, idempotent, outcome and error are for rules";
            ConfigError::new("row", "this condition", allowed)
        });
        Row {
            of_successes: self.when.tests_success_status(),
            refused: self.refused.or(meaning.refused.clone()).or(unfit),
            when: self.when,
            meaning,
            name: None,
            is_rule: false,
            origin: None,
        }
    }

    fn with(self, condition: Result<Condition, ConfigError>) -> Self {
        match condition {
            Ok(condition) => Self {
                when: self.when.and(condition),
                ..self
            },
            Err(error) => Self {
                refused: self.refused.or(Some(error)),
                ..self
            },
        }
    }
}
