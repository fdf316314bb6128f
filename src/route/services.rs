//! Services: which one a request belongs to, and which of its routes.

use super::matching::{Matching, Rank};
use super::{Choose, Head, Route};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Services by their names and matches, and what holds for requests of none.
pub(crate) struct Services {
    pub(crate) by_name: BTreeMap<Arc<str>, Arc<Service>>,
    /// Those with a match, the most specific first.
    matching: Vec<Arc<Service>>,
    pub(crate) rest: Arc<Route>,
}

pub(crate) struct Service {
    pub(crate) name: Arc<str>,
    pub(crate) matching: Option<Matching>,
    pub(crate) routes: Vec<(Arc<str>, Matching, Arc<Route>)>,
    /// For requests that no route matches.
    pub(crate) rest: Arc<Route>,
}

impl Services {
    pub(crate) fn new(by_name: BTreeMap<Arc<str>, Arc<Service>>, rest: Arc<Route>) -> Self {
        let with_match = by_name
            .values()
            .filter(|service| service.matching.is_some());
        let mut matching: Vec<Arc<Service>> = with_match.cloned().collect();
        matching.sort_by_cached_key(|service| service.rank());
        Self {
            by_name,
            matching,
            rest,
        }
    }
}

impl Choose for Services {
    fn choose(&self, head: &Head<'_>, service: Option<&str>) -> Arc<Route> {
        let named = service.and_then(|name| self.by_name.get(name));
        let matched = || self.matching.iter().find(|service| service.holds(head));
        match named.or_else(matched) {
            Some(service) => service.choose(head, None),
            None => Arc::clone(&self.rest),
        }
    }
}

impl Service {
    fn holds(&self, head: &Head<'_>) -> bool {
        let matching = self.matching.as_ref();
        matching.is_some_and(|matching| matching.holds(head))
    }

    fn rank(&self) -> (Option<Rank>, Arc<str>) {
        let rank = self.matching.as_ref().map(Matching::rank);
        (rank, Arc::clone(&self.name))
    }
}

impl Choose for Service {
    fn choose(&self, head: &Head<'_>, _: Option<&str>) -> Arc<Route> {
        let mut routes = self.routes.iter();
        let found = routes.find(|(_, matching, _)| matching.holds(head));
        Arc::clone(found.map_or(&self.rest, |(_, _, route)| route))
    }
}
