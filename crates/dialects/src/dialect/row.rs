//! One row of a dialect: when an answer looks like this, it means that.

use super::at::header;
use super::meaning::Interpretation;
use http::Method;
use http_retry_core::ConfigError;
use http_retry_core::policy::Pointer;
use http_retry_core::policy::rules::{Condition, Value};

/// One row of a [`Dialect`](super::Dialect): a condition on an answer, and what it means.
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
/// A row that names no status is about failures. One that names a status from 100 to 399 is about successes too, and if it
/// looks at the body, the layer reads the start of such an answer; the caller still gets every byte.
#[derive(Debug, Clone)]
pub struct Row {
    pub(super) when: Condition,
    pub(super) meaning: Interpretation,
    /// It names a status that is a success by itself.
    pub(super) of_successes: bool,
    pub(super) refused: Option<ConfigError>,
}

/// A row whose meaning is still to be said by [`RowBuilder::is`].
///
/// All of its conditions must hold. Those on the body come last: a body is read only if the others hold. What cannot be (a
/// status out of bounds, no name of a header, no pointer) is refused by the `build` of the policy that gets the row.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct RowBuilder {
    when: Condition,
    refused: Option<ConfigError>,
}

impl Row {
    /// A row for the answers that what follows holds for, all of it. If nothing follows, it holds for every answer that is a
    /// failure by its status.
    pub fn when() -> RowBuilder {
        RowBuilder::default()
    }

    /// A row for the answers that this condition holds for, such as one that rules have too. A row looks at answers: the
    /// policy's `build` refuses a condition on the number of an attempt, on an error without an answer, or on what the policy
    /// makes of the outcome (success, retryable, idempotent).
    pub fn on(condition: Condition) -> RowBuilder {
        RowBuilder {
            when: condition,
            refused: None,
        }
    }

    /// Checks that it can work, as the policy's `build` does.
    ///
    /// # Errors
    ///
    /// A status, a header, a pointer or a condition that no response can have.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.refused.clone().map_or(Ok(()), Err)
    }

    /// Every place of a JSON body that it looks at.
    pub(super) fn pointers(&self) -> impl Iterator<Item = Pointer> {
        let own = self.when.pointers().into_iter();
        own.chain(self.meaning.pointers().cloned())
    }

    pub(super) fn reads_the_body(&self) -> bool {
        self.meaning.needs_the_body() || self.when.reads_body()
    }
}

impl RowBuilder {
    /// The answer has one of these statuses, each 100 to 999: a list such as `[409, 423]`, or a range such as `500..=599`.
    pub fn status(self, statuses: impl IntoIterator<Item = u16>) -> Self {
        self.with(Condition::status(statuses))
    }

    /// This header has this value ([`Value`] says how they are compared): a text in any case, a number that it begins with, or
    /// one of a list. Of the header the first 8 lines count, each of at most 1,024 bytes.
    pub fn head(self, name: &str, value: impl Into<Value>) -> Self {
        let value = value.into();
        self.with(header(name).and_then(|name| Condition::head(name, value)))
    }

    /// This part of a header of several has this value: `left` of `used=3, left=2`. [`Location::head_part`](super::Location::head_part) says
    /// what divides the parts.
    pub fn head_part(self, name: &str, part: &str, value: impl Into<Value>) -> Self {
        let value = value.into();
        self.with(header(name).and_then(|name| Condition::head_part(name, part, value)))
    }

    /// This header is there, whatever its value.
    pub fn has_head(self, name: &str) -> Self {
        self.head(name, Value::any())
    }

    /// This place of a JSON body has this value, a text written just so. [`Location::json`](super::Location::json) says what a place is;
    /// where `*` stands for several, one that has the value is enough.
    pub fn json(self, pointer: &str, value: impl Into<Value>) -> Self {
        self.with(Condition::json(pointer, value))
    }

    /// The first element of this name in the first 4 KiB of an XML error holds one of these texts, written just so. The root of
    /// the body must be `Error`, `ErrorResponse` or `Response`, as Amazon's and Azure's are.
    pub fn xml<const N: usize>(self, tag: &str, texts: [&str; N]) -> Self {
        self.with(Condition::xml(tag, texts))
    }

    /// The first 64 KiB of the body hold this text; case does not matter.
    pub fn text(self, part: &str) -> Self {
        self.with(Condition::message(part))
    }

    /// The request goes to a path like this, in which `*` stands for anything: `*/graphql`, `/v1/*`. The query does not count.
    pub fn path(self, pattern: &str) -> Self {
        self.with(Condition::path(pattern))
    }

    /// The request has this method.
    pub fn method(self, method: Method) -> Self {
        self.with(Ok(Condition::method(method)))
    }

    /// The request carries a key of idempotency, in one of the usual headers or in that of the dialect
    /// ([`Dialect::key_header`](super::Dialect::key_header)).
    pub fn keyed(self) -> Self {
        self.with(Ok(Condition::keyed()))
    }

    /// What a condition says holds as well; [`Row::on`] says which conditions fit.
    pub fn and(self, condition: Condition) -> Self {
        self.with(Ok(condition))
    }

    /// What such an answer means.
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
