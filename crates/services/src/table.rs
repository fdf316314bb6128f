//! The lookup of the service and route of a request.

use crate::matching::Matching;
use http_retry_core::route::{RequestHead, Route, Router};
use http_retry_core::settings::{HostMap, SharedMap};
use std::cmp::Reverse;
use std::sync::Arc;

/// Services by name and by host. Clones share them, so that one with a changed service costs no copy of the others.
#[derive(Clone, Default)]
pub(crate) struct ServiceTable {
    pub(crate) by_name: SharedMap<Arc<ServiceEntry>>,
    /// The services whose match names hosts, under each of these.
    by_host: HostMap<Arc<ServiceEntry>>,
    /// The services whose match names no host.
    at_any_host: Arc<Vec<Arc<ServiceEntry>>>,
    /// The names of the services that fail over to one, under its name.
    before_failover: SharedMap<SharedMap<()>>,
}

pub(crate) struct ServiceEntry {
    pub(crate) name: Arc<str>,
    /// In order, so that equal matches compare as equal.
    pub(crate) matching: Option<Matching>,
    pub(crate) routes: Vec<(Arc<str>, Matching, Arc<Route>)>,
    /// The route of requests that match none of `routes`.
    pub(crate) rest: Arc<Route>,
    /// The number of services in the longest chain of failovers that starts here.
    pub(crate) chain: usize,
}

impl ServiceTable {
    pub(crate) fn insert(&mut self, service: &Arc<ServiceEntry>) {
        let name = &service.name;
        self.by_name.insert(Arc::clone(name), Arc::clone(service));
        if service.is_at_any_host() {
            Arc::make_mut(&mut self.at_any_host).push(Arc::clone(service));
        }
        for host in service.hosts() {
            self.by_host.insert(host, Arc::clone(service));
        }
        for to in service.destinations() {
            self.before_failover.update(to, |names| {
                names.insert(Arc::clone(name), ());
            });
        }
    }

    pub(crate) fn remove(&mut self, name: &str) {
        let Some(service) = self.by_name.remove(name) else {
            return;
        };
        if service.is_at_any_host() {
            let services = Arc::make_mut(&mut self.at_any_host);
            services.retain(|other| !Arc::ptr_eq(other, &service));
        }
        for host in service.hosts() {
            self.by_host
                .remove(host, |other| Arc::ptr_eq(other, &service));
        }
        for to in service.destinations() {
            self.before_failover.update(to, |names| {
                names.remove(name);
            });
            let names = self.before_failover.get(to);
            if names.is_some_and(SharedMap::is_empty) {
                self.before_failover.remove(to);
            }
        }
    }

    /// Returns the names of the services that fail over to this one.
    pub(crate) fn before_failover(&self, name: &str) -> Vec<&Arc<str>> {
        let names = self.before_failover.get(name);
        let names = names.into_iter().flat_map(SharedMap::in_order);
        names.map(|(name, ())| name).collect()
    }

    /// Returns `true` if a service has this match, which is in order.
    pub(crate) fn has_match(&self, matching: &Matching) -> bool {
        let is_same = |service: &Arc<ServiceEntry>| service.matching.as_ref() == Some(matching);
        match matching.hosts.first() {
            // A pattern is found under itself.
            Some(host) => self.by_host.get(host).any(is_same),
            None => self.at_any_host.iter().any(is_same),
        }
    }

    /// Returns the service with the most specific match; among equals, the first by name.
    pub(crate) fn most_specific(&self, head: &RequestHead<'_>) -> Option<&Arc<ServiceEntry>> {
        let authority = head.authority().unwrap_or_default();
        let host = head.host().unwrap_or_default();
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

impl ServiceEntry {
    /// Returns the names of the services that its routes fail over to.
    pub(crate) fn destinations(&self) -> impl Iterator<Item = &Arc<str>> {
        let all = self.routes.iter().map(|(_, _, route)| route);
        let all = all.chain([&self.rest]);
        all.flat_map(|route| route.destinations().iter().map(|(name, _)| name))
    }

    fn is_at_any_host(&self) -> bool {
        let mut matching = self.matching.iter();
        matching.any(|matching| matching.hosts.is_empty())
    }

    /// Returns the hosts that the service is found under.
    fn hosts(&self) -> impl Iterator<Item = &str> {
        let hosts = self.matching.iter().flat_map(|matching| &matching.hosts);
        // Requests to a default port do not name it; `rank` checks that their scheme has it.
        hosts.flat_map(|host| {
            let without = [":80", ":443"].map(|port| host.strip_suffix(port));
            [Some(host.as_str())].into_iter().chain(without).flatten()
        })
    }
}

impl Router for ServiceEntry {
    fn route(&self, head: &RequestHead<'_>, _: Option<&str>) -> Arc<Route> {
        let mut routes = self.routes.iter();
        let found = routes.find(|(_, matching, _)| matching.holds(head));
        Arc::clone(found.map_or(&self.rest, |(_, _, route)| route))
    }
}
