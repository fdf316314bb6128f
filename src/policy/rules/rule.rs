//! One rule: a condition, and what follows from it.

use super::action::Action;
use super::condition::Condition;
use http::HeaderMap;
use std::sync::Arc;

/// A condition and what follows from it; the first rule that holds decides.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) name: Arc<str>,
    pub(crate) when: Condition,
    pub(crate) action: Action,
    /// Headers of the next attempt and of those after it.
    pub(crate) set: Option<Arc<HeaderMap>>,
}
