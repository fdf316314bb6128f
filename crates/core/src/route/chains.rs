//! Services in the order of their failovers, without cycles and in chains of bounded length.

use super::ServiceEntry;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// The longest chain of services that fail over to each other.
pub(crate) const MAX_CHAIN: usize = 16;

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
        let next = all.flat_map(|route| route.destinations.iter());
        let lengths = next.filter_map(|(name, _)| Some(self.made.get(name)?.1));
        let length = lengths.max().unwrap_or_default().saturating_add(1);
        let name = Arc::clone(&service.name);
        self.made.insert(name, (Arc::clone(&service), length));
        service
    }

    /// Returns `true` if this service is on the path to the one under construction.
    pub(crate) fn is_ancestor(&self, name: &str) -> bool {
        self.path.iter().any(|service| **service == *name)
    }

    /// Returns `true` if one more service would make the path too long.
    pub(crate) fn are_full(&self) -> bool {
        self.path.len() >= MAX_CHAIN
    }

    /// Checks that the service under construction may fail over to this one, which may not be built yet.
    pub(crate) fn check_step(&self, name: &str) -> Result<(), Broken> {
        if self.is_ancestor(name) {
            let way = [self.path.as_slice(), &[name.into()]].concat();
            return Err(Broken::Circle(way.join(" -> ")));
        }
        if self.are_full() {
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
            Self::Circle(way) => write!(f, "failover goes round in a circle: {way}"),
            Self::TooLong => write!(f, "failover goes through more than {MAX_CHAIN} services"),
        }
    }
}
