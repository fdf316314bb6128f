//! What code teaches a document: names of observers, schedules and error types, and what outcomes mean.

use super::value::Value;
use crate::budget::RetryBudget;
use crate::policy::{Classify, Outcome, OwnError, Verdict};
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
    pub(super) classifier: Option<Arc<dyn Classify>>,
}

/// Several classifiers, of which the first with a verdict decides.
pub(super) struct InTurn(pub(super) Vec<Arc<dyn Classify>>);

impl Classify for InTurn {
    fn classify(&self, outcome: &Outcome<'_>) -> Option<Verdict> {
        self.0.iter().find_map(|one| one.classify(outcome))
    }

    fn reads_body(&self, outcome: &Outcome<'_>) -> bool {
        self.0.iter().any(|one| one.reads_body(outcome))
    }
}
