//! Services, and the lookup of the service and route of a request.

use super::matching::Matching;
use super::{HostMap, RequestHead, Route, Router};
use crate::policy::without_port;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

/// Services by name and by host, and the route for requests that belong to none.
pub(crate) struct ServiceTable {
    pub(crate) by_name: HashMap<Arc<str>, Arc<ServiceEntry>>,
    /// The services whose match names hosts, under each of these.
    by_host: HostMap<Arc<ServiceEntry>>,
    /// The services whose match names no host.
    at_any_host: Vec<Arc<ServiceEntry>>,
    rest: Arc<Route>,
}

pub(crate) struct ServiceEntry {
    pub(crate) name: Arc<str>,
    pub(crate) matching: Option<Matching>,
    pub(crate) routes: Vec<(Arc<str>, Matching, Arc<Route>)>,
    /// The route of requests that match none of `routes`.
    pub(crate) rest: Arc<Route>,
}

impl ServiceTable {
    pub(crate) fn new(by_name: HashMap<Arc<str>, Arc<ServiceEntry>>, rest: Arc<Route>) -> Self {
        let (mut by_host, mut at_any_host) = (HostMap::default(), Vec::new());
        for service in by_name.values() {
            let Some(matching) = &service.matching else {
                continue;
            };
            if matching.hosts.is_empty() {
                at_any_host.push(Arc::clone(service));
            }
            for host in &matching.hosts {
                by_host.insert(host, Arc::clone(service));
                // Requests to a default port do not name it; `rank` checks that their scheme has it.
                for port in [":80", ":443"] {
                    if let Some(host) = host.strip_suffix(port) {
                        by_host.insert(host, Arc::clone(service));
                    }
                }
            }
        }
        Self {
            by_name,
            by_host,
            at_any_host,
            rest,
        }
    }

    pub(crate) fn rest(&self) -> &Arc<Route> {
        &self.rest
    }

    /// Returns the service with the most specific match; among equals, the first by name.
    fn most_specific(&self, head: &RequestHead<'_>) -> Option<&Arc<ServiceEntry>> {
        let authority = head.authority().unwrap_or_default();
        let host = without_port(authority);
        let with_port = (host.len() < authority.len()).then(|| self.by_host.get(authority));
        let named = self
            .by_host
            .get(host)
            .chain(with_port.into_iter().flatten());
        // A match without a host is less specific than every match with one.
        best(named, head).or_else(|| best(self.at_any_host.iter(), head))
    }
}

fn best<'s>(
    services: impl Iterator<Item = &'s Arc<ServiceEntry>>,
    head: &RequestHead<'_>,
) -> Option<&'s Arc<ServiceEntry>> {
    let ranked = services.filter_map(|service| {
        let rank = service.matching.as_ref()?.rank(head)?;
        Some((service, rank))
    });
    let first = ranked.min_by_key(|(service, rank)| (Reverse(*rank), &service.name));
    first.map(|(service, _)| service)
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
