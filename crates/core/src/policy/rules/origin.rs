//! Where the settings of a policy came from.

use std::borrow::Cow;
use std::sync::Arc;

/// Where an effective field came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) field: Cow<'static, str>,
    pub(crate) value: Arc<str>,
    /// A place, or the name of a preset.
    pub(crate) from: Arc<str>,
}
