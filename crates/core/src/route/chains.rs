//! Services in the order in which they fail over to each other: without a circle, and in chains that end.

use super::ServiceEntry;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The longest chain of services that fail over to each other.
pub(crate) const MAX_CHAIN: usize = 16;

/// The services that are made, and the way to the one in the making.
#[derive(Default)]
pub(crate) struct Chains {
    /// Each with the length of the longest chain that begins at it.
    made: BTreeMap<Arc<str>, (Arc<ServiceEntry>, usize)>,
    trail: Vec<Arc<str>>,
}

/// Why a chain cannot go on at a service.
pub(crate) enum Broken {
    /// It has come through there: the way.
    Circle(String),
    TooLong,
}

impl Chains {
    /// A service that is made already.
    pub(crate) fn built(&self, name: &str) -> Option<Arc<ServiceEntry>> {
        self.made.get(name).map(|(service, _)| Arc::clone(service))
    }

    /// Begins with a service; those that it fails over to come before its end.
    pub(crate) fn begin(&mut self, name: &Arc<str>) {
        self.trail.push(Arc::clone(name));
    }

    /// The service that was begun last is made, after all that it leads to.
    pub(crate) fn end(&mut self, service: ServiceEntry) -> Arc<ServiceEntry> {
        self.trail.pop();
        let all = service.routes.iter().map(|(_, _, route)| route);
        let all = all.chain([&service.rest]);
        let next = all.flat_map(|route| route.destinations.keys());
        let lengths = next.filter_map(|name| Some(self.made.get(name)?.1));
        let length = lengths.max().unwrap_or_default().saturating_add(1);
        let (name, service) = (Arc::clone(&service.name), Arc::new(service));
        self.made.insert(name, (Arc::clone(&service), length));
        service
    }

    /// Whether the way to the service in the making leads through this one.
    pub(crate) fn is_ancestor(&self, name: &str) -> bool {
        self.trail.iter().any(|service| **service == *name)
    }

    /// Whether one service more would make the way too long.
    pub(crate) fn are_full(&self) -> bool {
        self.trail.len() >= MAX_CHAIN
    }

    /// Whether the service in the making may fail over to this one, which may not be made yet.
    pub(crate) fn check_step(&self, name: &str) -> Result<(), Broken> {
        if self.is_ancestor(name) {
            let way = [self.trail.as_slice(), &[name.into()]].concat();
            return Err(Broken::Circle(way.join(" -> ")));
        }
        if self.are_full() {
            Err(Broken::TooLong)
        } else {
            Ok(())
        }
    }

    /// The same of one that is made, whose chain goes on from there.
    pub(crate) fn check_rest(&self, name: &str) -> Result<(), Broken> {
        let length = self.made.get(name).map(|(_, length)| *length);
        if length.is_some_and(|length| length >= MAX_CHAIN) {
            Err(Broken::TooLong)
        } else {
            Ok(())
        }
    }

    /// All that were made.
    pub(crate) fn services(self) -> BTreeMap<Arc<str>, Arc<ServiceEntry>> {
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
