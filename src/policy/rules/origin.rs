//! Where the fields of a document's policy came from.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// Where an effective field came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) field: Cow<'static, str>,
    pub(crate) value: Arc<str>,
    pub(crate) from: Source,
}

/// Who gave a field.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(
    not(feature = "serde"),
    expect(dead_code, reason = "a document alone has places")
)]
pub(crate) enum Source {
    /// Nobody: it is so unless said otherwise.
    Default,
    Preset(&'static str),
    /// The document, at this place.
    Document(Arc<str>),
}

#[cfg(feature = "serde")]
impl Source {
    /// Whether it stands in the document.
    pub(crate) fn is_written(&self) -> bool {
        matches!(self, Self::Document(_))
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Preset(name) => write!(f, "preset {name}"),
            Self::Document(place) => f.write_str(place),
        }
    }
}
