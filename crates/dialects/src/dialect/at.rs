//! Where in an answer something stands.

use http::HeaderName;
use http_retry_core::ConfigError;
use http_retry_core::policy::{ErrorBody, Outcome, Pointer, RetryTime, Scope, Unit};

/// Where in an answer a delay stands, or the name of a limit: a header, a part of one, or a place of a JSON body.
///
/// A place that cannot be (no name of a header, no pointer) is refused by the `build` of the policy whose row names it. Of a
/// header the first 8 lines count, each of at most 1,024 bytes; of a body its first 64 KiB.
///
/// ```
/// use http_retry::dialect::{Interpretation, Location};
/// use http_retry::policy::Unit;
///
/// let in_the_head = Interpretation::throttled().delay(Location::head("x-reset-after"), Unit::S);
/// let in_a_part = Interpretation::throttled().delay(Location::head_part("x-limit", "reset"), Unit::Min);
/// let in_the_body = Interpretation::throttled().delay(Location::json("/error/wait_ms"), Unit::Ms);
/// let named = Interpretation::throttled().scope_from(Location::head("x-limit-name"));
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Location(pub(super) Result<LocationKind, ConfigError>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LocationKind {
    Head(HeaderName),
    /// A part of a header of several, by its name: `left` of `used=3, left=2`.
    Part(HeaderName, Box<str>),
    Json(Pointer),
    /// What the prose of the body says.
    Prose,
    /// The longest that a field of any place asks for, or the prose.
    Anywhere,
}

impl Location {
    /// In this header, by its name in any case. A token of RFC 9110, section 5.6.2, is a name.
    pub fn head(name: &str) -> Self {
        Self(header(name).map(LocationKind::Head))
    }

    /// In the part of this name of a header of several: `reset` of `used=3, reset=20`. Commas, semicolons and `&` divide the
    /// parts, `=` or `:` a name from its value; the name's case does not matter, and quotes around the value do not count.
    pub fn head_part(name: &str, part: &str) -> Self {
        Self(header(name).map(|name| LocationKind::Part(name, part.into())))
    }

    /// At this place of a JSON body: a pointer of RFC 6901 in which `*` stands for any member or item, such as
    /// `/errors/*/retry_after`. It starts with a slash and has at most 32 parts; the empty text is the whole body.
    ///
    /// It reads nothing without the feature `dialects`, which `serde` and `llm` imply.
    pub fn json(pointer: &str) -> Self {
        Self(Pointer::parse(pointer).map(LocationKind::Json))
    }

    /// In the prose of the body: `try again in 20 s`, or a date of ISO 8601 behind `after`. Its unit does not matter.
    pub fn prose() -> Self {
        Self(Ok(LocationKind::Prose))
    }

    /// In any field that APIs use for it, or in the prose; the longest counts. Its unit does not matter.
    pub(super) fn anywhere() -> Self {
        Self(Ok(LocationKind::Anywhere))
    }
}

/// The name of a header.
pub(super) fn header(name: &str) -> Result<HeaderName, ConfigError> {
    let read = HeaderName::from_bytes(name.as_bytes());
    read.map_err(|_| ConfigError::new("header", name, "must be the name of a header"))
}

impl LocationKind {
    pub(super) fn is_in_the_body(&self) -> bool {
        !matches!(self, Self::Head(_) | Self::Part(..))
    }

    pub(super) fn pointer(&self) -> Option<&Pointer> {
        match self {
            Self::Json(pointer) => Some(pointer),
            _ => None,
        }
    }

    /// Every time that stands here and can be read.
    pub(super) fn times(&self, unit: Unit, outcome: &Outcome<'_>) -> Vec<RetryTime> {
        match self {
            Self::Prose => outcome.body().map_or_else(Vec::new, ErrorBody::prose_times),
            Self::Anywhere => {
                let delay = outcome.body().and_then(ErrorBody::delay);
                delay.into_iter().map(RetryTime::In).collect()
            }
            _ => {
                let texts = self.texts(outcome);
                texts.iter().filter_map(|text| unit.read(text)).collect()
            }
        }
    }

    /// The limit of the first name that stands here.
    pub(super) fn scope(&self, outcome: &Outcome<'_>) -> Option<Scope> {
        let texts = self.texts(outcome);
        texts.iter().find_map(|text| Scope::named(text.trim()))
    }

    fn texts(&self, outcome: &Outcome<'_>) -> Vec<String> {
        match self {
            Self::Head(name) => {
                let values = outcome.header_values(name, None);
                values.map(str::to_owned).collect()
            }
            Self::Part(name, part) => {
                let values = outcome.header_values(name, Some(part));
                values.map(str::to_owned).collect()
            }
            Self::Json(pointer) => {
                let found = outcome.body().map(|body| body.at(pointer));
                found.into_iter().flatten().flatten().collect()
            }
            _ => Vec::new(),
        }
    }
}
