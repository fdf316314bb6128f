//! What no test can say: a look at an answer by code of this crate.

use super::holds::{OfSuccess, Seen};
use super::{Condition, Test};
use crate::error_body::ErrorBody;
use crate::policy::outcome::Outcome;
use std::fmt;
use std::sync::Arc;

/// A look at an answer whose body has been read, by its name.
#[derive(Clone)]
pub(crate) struct Hook {
    name: &'static str,
    pub(super) holds: Arc<Holds>,
}

type Holds = dyn Fn(&Outcome<'_>, &ErrorBody) -> bool + Send + Sync;

impl Condition {
    /// Holds where code of this crate says so, once the body has been read.
    pub(crate) fn hook(
        name: &'static str,
        holds: impl Fn(&Outcome<'_>, &ErrorBody) -> bool + Send + Sync + 'static,
    ) -> Self {
        let holds = Arc::new(holds);
        Self::of(Test::Hook(Hook { name, holds }))
    }

    /// Whether it holds for an outcome of which all has been read.
    pub(crate) fn holds_for_all_of(&self, outcome: &Outcome<'_>) -> bool {
        let seen = Seen {
            outcome,
            attempt: 0,
            method: None,
            idempotent: false,
            of_success: OfSuccess::All,
            final_word: true,
            certain: false,
        };
        self.holds(&seen) == Some(true)
    }
}

impl PartialEq for Hook {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.holds, &other.holds)
    }
}

impl Eq for Hook {}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
