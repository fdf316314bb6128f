//! What is known of a place of the document.

use crate::budget::RetryBudget;
use crate::config::retry::Retry;
use crate::policy::RetryPolicy;
use crate::report::DeadLetters;
use crate::route::Destination;
use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

/// A place of the document that requests can come to: the document itself, a service or a route.
#[derive(Clone)]
pub(in crate::config) struct Place {
    pub(in crate::config) policy: RetryPolicy,
    pub(in crate::config) retry: Arc<Retry>,
    pub(in crate::config) names: Rc<PlaceNames>,
}

/// What the policy and the rules of a place name.
#[derive(Default)]
pub(in crate::config) struct PlaceNames {
    /// The other budgets that its rules pay from.
    pub(in crate::config) budgets: BTreeSet<Arc<str>>,
    /// The services that it fails over to, and where it says so.
    pub(in crate::config) failovers: Vec<(Arc<str>, Arc<str>)>,
    pub(in crate::config) dead_letters: BTreeSet<Arc<str>>,
    pub(in crate::config) responds: bool,
    /// What the names stand for, once that is known.
    pub(in crate::config) found: OnceCell<Found>,
}

/// What a place names, for its route.
#[derive(Clone)]
pub(in crate::config) struct Found {
    pub(in crate::config) budgets: Arc<BTreeMap<Arc<str>, RetryBudget>>,
    pub(in crate::config) destinations: Arc<BTreeMap<Arc<str>, Destination>>,
    pub(in crate::config) dead_letters: Arc<BTreeMap<Arc<str>, Arc<dyn DeadLetters>>>,
}

/// What is found out on the way through a place.
pub(super) struct Inside<'a> {
    /// The budget of the place itself.
    pub(super) budget: Option<Arc<str>>,
    pub(super) names: &'a mut PlaceNames,
}
