//! What code teaches a document: names of observers, schedules and error types, and what outcomes mean.

use super::value::Value;
use crate::budget::RetryBudget;
use crate::policy::{Classify, OwnError};
use crate::report::DeadLetters;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The ceiling before retry n = 1, 2, and so on.
pub(super) type Ceiling = Arc<dyn Fn(u32) -> Duration + Send + Sync>;
type MakeCeiling = Arc<dyn Fn(&Value) -> Result<Ceiling, String> + Send + Sync>;

/// What code has given names to.
#[derive(Clone, Default)]
pub(super) struct Names {
    pub(super) dead_letters: BTreeMap<Arc<str>, Arc<dyn DeadLetters>>,
    pub(super) backoffs: BTreeMap<Arc<str>, MakeCeiling>,
    pub(super) budgets: BTreeMap<Arc<str>, RetryBudget>,
    #[cfg(feature = "redis")]
    pub(super) fleets: BTreeMap<Arc<str>, crate::fleet::Fleet>,
    pub(super) error_types: BTreeMap<Arc<str>, OwnError>,
    /// What holds at every place.
    pub(super) errors: Vec<OwnError>,
    pub(super) classifiers: Vec<Arc<dyn Classify>>,
}
