//! A value that is given in a document.

use super::block::Node;
use crate::policy::Source;
use std::sync::Arc;

/// A field's value, how it was written, and where.
#[derive(Debug, Clone)]
pub(super) struct Given<T> {
    pub(super) value: T,
    pub(super) text: Arc<str>,
    pub(super) from: Source,
}

impl<T> Given<T> {
    pub(super) fn at(node: &Node<'_>, value: T) -> Self {
        Self {
            value,
            text: node.value.to_string().trim_matches('"').into(),
            from: node.path.source(),
        }
    }

    /// The same value in other words.
    pub(super) fn in_words(self, text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        Self { text, ..self }
    }
}
