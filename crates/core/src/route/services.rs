//! Services, and the lookup of the service and route of a request.

use super::matching::Matching;
use super::{RequestHead, Route, Router};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Services by name, and the route for requests that belong to none.
pub(crate) struct ServiceTable {
    pub(crate) by_name: BTreeMap<Arc<str>, Arc<ServiceEntry>>,
    pub(crate) rest: Arc<Route>,
}

pub(crate) struct ServiceEntry {
    pub(crate) name: Arc<str>,
    pub(crate) matching: Option<Matching>,
    pub(crate) routes: Vec<(Arc<str>, Matching, Arc<Route>)>,
    /// The route of requests that match none of `routes`.
    pub(crate) rest: Arc<Route>,
}

impl ServiceTable {
    /// Returns the service with the most specific match; among equals, the first by name.
    fn most_specific(&self, head: &RequestHead<'_>) -> Option<&Arc<ServiceEntry>> {
        let ranked = self.by_name.values().filter_map(|service| {
            let rank = service.matching.as_ref()?.rank(head)?;
            Some((Reverse(rank), service))
        });
        let first = ranked.min_by_key(|(rank, _)| *rank);
        first.map(|(_, service)| service)
    }
}

impl Router for ServiceTable {
    fn route(&self, head: &RequestHead<'_>, service: Option<&str>) -> Arc<Route> {
        let named = service.and_then(|name| self.by_name.get(name));
        match named.or_else(|| self.most_specific(head)) {
            Some(service) => service.route(head, None),
            None => Arc::clone(&self.rest),
        }
    }
}

impl Router for ServiceEntry {
    fn route(&self, head: &RequestHead<'_>, _: Option<&str>) -> Arc<Route> {
        let mut routes = self.routes.iter();
        let found = routes.find(|(_, matching, _)| matching.holds(head));
        Arc::clone(found.map_or(&self.rest, |(_, _, route)| route))
    }
}
