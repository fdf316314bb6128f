//! Where a value of a document stands.

use crate::config::shown;
use crate::policy::Source;
use std::fmt;
use std::sync::Arc;

/// Where a value stands: `services.openai.retry.base`, `rules[2].when.status`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::config) struct Path(Arc<str>);

impl Path {
    pub(in crate::config) fn key(&self, key: &str) -> Self {
        let key = shown::name(key);
        match self.0.is_empty() {
            true => Self(key.into()),
            false => Self(format!("{}.{key}", self.0).into()),
        }
    }

    pub(in crate::config) fn item(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0).into())
    }

    pub(in crate::config) fn as_str(&self) -> &str {
        match self.0.is_empty() {
            true => "the document",
            false => &self.0,
        }
    }

    pub(in crate::config) fn source(&self) -> Source {
        Source::Document(Arc::clone(&self.0))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
