//! What the table of a block says of a key.

use std::fmt::Debug;

/// What is said of a key besides its type.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub(super) key: &'static str,
    pub(super) about: &'static str,
    /// Its `Debug` text is JSON.
    pub(super) default: Option<&'static dyn Debug>,
    pub(super) is_required: bool,
    /// What to write where a required key is missing, unless the block says it.
    pub(super) missing: Option<&'static str>,
    /// Whether no document can say it: it comes from a preset or from another block.
    pub(super) is_unsaid: bool,
}

impl Row {
    pub(super) const fn new(key: &'static str, about: &'static str) -> Self {
        Self {
            key,
            about,
            default: None,
            is_required: false,
            missing: None,
            is_unsaid: false,
        }
    }

    /// What holds where the key is absent: a text, a number or a truth value.
    pub(super) const fn default(self, default: &'static dyn Debug) -> Self {
        let default = Some(default);
        Self { default, ..self }
    }

    /// The key must be there; the block's own reader says so.
    pub(super) const fn required(self) -> Self {
        let is_required = true;
        Self {
            is_required,
            ..self
        }
    }

    /// The key must be there, and this is how it is written.
    pub(super) const fn write(self, missing: &'static str) -> Self {
        let missing = Some(missing);
        Self { missing, ..self }.required()
    }

    pub(super) const fn unsaid(self) -> Self {
        let is_unsaid = true;
        Self { is_unsaid, ..self }
    }
}
