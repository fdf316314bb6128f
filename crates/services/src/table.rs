//! Services: the lookup of the service and route of a request, and failovers without cycles, in chains of bounded length.

use crate::matching::Matching;
use http_retry_core::adapter::HostMap;
use http_retry_core::route::{RequestHead, Route, Router};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;
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

/// The longest chain of services that fail over to each other.
const MAX_CHAIN: usize = 16;

/// The services that are built, and the path to the one under construction.
#[derive(Default)]
pub(crate) struct Chains {
    /// The built services, each with the length of the longest chain that starts at it.
    made: HashMap<Arc<str>, (Arc<ServiceEntry>, usize)>,
    path: Vec<Arc<str>>,
}

/// The reason for which a failover to a service is not allowed.
pub(crate) enum Broken {
    /// The service is already on the path, which is shown.
    Circle(String),
    TooLong,
}

impl Chains {
    /// Returns a service that is already built.
    pub(crate) fn built(&self, name: &str) -> Option<Arc<ServiceEntry>> {
        self.made.get(name).map(|(service, _)| Arc::clone(service))
    }

    /// Starts a service. The services that it fails over to are built before its [`end`](Self::end).
    pub(crate) fn begin(&mut self, name: &Arc<str>) {
        self.path.push(Arc::clone(name));
    }

    /// Finishes the service that was started last, after all that it fails over to.
    pub(crate) fn end(&mut self, service: Arc<ServiceEntry>) -> Arc<ServiceEntry> {
        self.path.pop();
        let all = service.routes.iter().map(|(_, _, route)| route);
        let all = all.chain([&service.rest]);
        let next = all.flat_map(|route| route.destinations().iter());
        let lengths = next.filter_map(|(name, _)| Some(self.made.get(name)?.1));
        let length = lengths.max().unwrap_or_default().saturating_add(1);
        let name = Arc::clone(&service.name);
        self.made.insert(name, (Arc::clone(&service), length));
        service
    }

    /// Returns `true` if this service is on the path to the one under construction.
    fn is_ancestor(&self, name: &str) -> bool {
        self.path.iter().any(|service| **service == *name)
    }

    /// Returns `true` if one more service would make the path too long.
    fn is_full(&self) -> bool {
        self.path.len() >= MAX_CHAIN
    }

    /// Checks that the service under construction may fail over to this one, which may not be built yet.
    pub(crate) fn check_step(&self, name: &str) -> Result<(), Broken> {
        if self.is_ancestor(name) {
            let way = [self.path.as_slice(), &[name.into()]].concat();
            return Err(Broken::Circle(way.join(" -> ")));
        }
        if self.is_full() {
            Err(Broken::TooLong)
        } else {
            Ok(())
        }
    }

    /// Checks that the chain that starts at a built service is not too long.
    pub(crate) fn check_rest(&self, name: &str) -> Result<(), Broken> {
        let length = self.made.get(name).map(|(_, length)| *length);
        if length.is_some_and(|length| length >= MAX_CHAIN) {
            Err(Broken::TooLong)
        } else {
            Ok(())
        }
    }

    /// Returns all services that were built.
    pub(crate) fn services(self) -> HashMap<Arc<str>, Arc<ServiceEntry>> {
        let made = self.made.into_iter();
        made.map(|(name, (service, _))| (name, service)).collect()
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Circle(way) => write!(f, "failover cycle: {way}"),
            Self::TooLong => write!(f, "failover goes through more than {MAX_CHAIN} services"),
        }
    }
}
