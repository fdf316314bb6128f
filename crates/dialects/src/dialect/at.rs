//! Locations of values in a response.

use http::HeaderName;
use http_retry_core::policy::{ErrorBody, Pointer, Scope, Unit};
use http_retry_core::reading::RetryTime;
use http_retry_core::route::RequestHead;
use http_retry_core::{ConfigError, Outcome};
use http_retry_rules::ReadBody;

/// The location of a delay, or of the name of a limit, in a response: a header, a part of a header, or a value in a
/// JSON body.
///
/// The policy's `build` rejects a row with an invalid location, such as a malformed header name or pointer. Only the
/// first 8 lines of a header are read, each of at most 1,024 bytes, and only the first 64 KiB of a body.
///
/// ```
/// use http_retry::dialect::{Interpretation, Location};
/// use http_retry::policy::Unit;
///
/// let in_the_head = Interpretation::throttled().delay(Location::header("x-reset-after"), Unit::S);
/// let in_a_part = Interpretation::throttled().delay(Location::header_part("x-limit", "reset"), Unit::Min);
/// let in_the_body = Interpretation::throttled().delay(Location::json("/error/wait_ms"), Unit::Ms);
/// let named = Interpretation::throttled().scope_from(Location::header("x-limit-name"));
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Location(pub(super) Result<LocationKind, ConfigError>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LocationKind {
    Head(HeaderName),
    /// A named part of a header with several: `left` of `used=3, left=2`.
    Part(HeaderName, Box<str>),
    /// The start of each item of a list in a header: `60` of `60:error:organization`.
    Starts(HeaderName),
    /// The segment of the request's path at this index.
    Segment(usize),
    Json(Pointer),
    /// The delays that the prose of the body names.
    Prose,
    /// The times in any field known to hold one, and in the prose.
    Anywhere,
    /// The times at which such fields ask to come back, without those of resets.
    Asked,
}

impl Location {
    /// A header, by its name in any case. The name must be a token of RFC 9110, section 5.6.2.
    pub fn header(name: &str) -> Self {
        Self(header(name).map(LocationKind::Head))
    }

    /// The part with this name of a header that has several: `reset` of `used=3, reset=20`. Commas, semicolons and `&`
    /// separate the parts, and `=` or `:` a name from its value. The name's case is ignored, as are quotes, braces and
    /// brackets around a name or a value: of JSON in a header, the innermost members count, except for the first of an
    /// object that is itself a member.
    pub fn header_part(name: &str, part: &str) -> Self {
        Self(header(name).map(|name| LocationKind::Part(name, part.into())))
    }

    /// The start of each item of a list in a header, up to a colon or a semicolon: `60` and `2700` of
    /// `60:error:organization, 2700:default`.
    pub fn header_starts(name: &str) -> Self {
        Self(header(name).map(LocationKind::Starts))
    }

    /// A segment of the request's path, without empty ones: `appX` at index 1 of `/v0/appX/orders`. It names the limit
    /// of one tenant or one collection; only [`Interpretation::scope_from`](super::Interpretation::scope_from) uses it.
    pub fn path_segment(index: usize) -> Self {
        Self(Ok(LocationKind::Segment(index)))
    }

    /// A value in a JSON body, by an RFC 6901 pointer in which `*` matches any member or item, such as
    /// `/errors/*/retry_after`. A pointer starts with a slash and has at most 32 parts; the empty text is the whole
    /// body.
    ///
    /// It matches nothing without the feature `dialects`, which `serde` and `llm` imply.
    pub fn json(pointer: &str) -> Self {
        Self(Pointer::parse(pointer).map(LocationKind::Json))
    }

    /// The prose of the body: `try again in 20 s`, or a date with an offset, as in `retry after 2026-08-21T15:00:00Z`.
    /// The unit is ignored.
    pub fn prose() -> Self {
        Self(Ok(LocationKind::Prose))
    }

    /// Any field that APIs use for a delay or a reset, or the prose. The unit is ignored.
    pub(super) fn anywhere() -> Self {
        Self(Ok(LocationKind::Anywhere))
    }

    /// Any field that APIs use to ask a client to come back later. The unit is ignored.
    pub(super) fn asked() -> Self {
        Self(Ok(LocationKind::Asked))
    }
}

/// Parses the name of a header.
pub(super) fn header(name: &str) -> Result<HeaderName, ConfigError> {
    let read = HeaderName::from_bytes(name.as_bytes());
    read.map_err(|_| ConfigError::new("header", name, "must be the name of a header"))
}

impl LocationKind {
    pub(super) fn is_in_the_body(&self) -> bool {
        let is_in_the_head = matches!(self, Self::Head(_) | Self::Part(..) | Self::Starts(_));
        !is_in_the_head && !matches!(self, Self::Segment(_))
    }

    /// Returns `true` if it is a header, or a part of one, that the response has.
    pub(super) fn is_in_head(&self, outcome: &Outcome<'_>) -> bool {
        !self.is_in_the_body() && !self.texts(outcome).is_empty()
    }

    pub(super) fn pointer(&self) -> Option<&Pointer> {
        match self {
            Self::Json(pointer) => Some(pointer),
            _ => None,
        }
    }

    /// Returns every time at this location that can be read.
    pub(super) fn times(&self, unit: Unit, outcome: &Outcome<'_>) -> Vec<RetryTime> {
        match self {
            Self::Prose => outcome.body().map_or_else(Vec::new, ErrorBody::prose_times),
            Self::Anywhere => outcome.body().map_or_else(Vec::new, ErrorBody::retry_times),
            Self::Asked => outcome.body().map_or_else(Vec::new, ErrorBody::asked_times),
            _ => {
                let texts = self.texts(outcome);
                texts.iter().filter_map(|text| unit.read(text)).collect()
            }
        }
    }

    /// Returns the scope for the first limit name at this location.
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
            Self::Starts(name) => {
                let items = outcome
                    .header_values(name, None)
                    .flat_map(|line| line.split(','));
                let starts = items.filter_map(|item| item.split([':', ';']).next());
                starts.map(|start| start.trim_ascii().to_owned()).collect()
            }
            Self::Segment(index) => {
                let path = outcome.request().map_or("", RequestHead::path);
                let mut segments = path.split('/').filter(|segment| !segment.is_empty());
                segments
                    .nth(*index)
                    .map(str::to_owned)
                    .into_iter()
                    .collect()
            }
            Self::Json(pointer) => {
                let found = outcome.body().map(|body| body.at(pointer));
                found.into_iter().flatten().flatten().collect()
            }
            _ => Vec::new(),
        }
    }
}
