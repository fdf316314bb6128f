//! The matches of services and routes.

use crate::problems::{Diagnostics, Path};
use crate::reader::block;
use crate::values::{Host, MethodName, PathPattern, Scheme, Several};
use serde::Deserialize;

block! {
    MatchKeys {
        host: Several<Host>,
        scheme: Several<Scheme>,
        path: Several<PathPattern>,
        method: Several<MethodName>,
    }
}

block! {
    RouteMatchKeys {
        path: Several<PathPattern>,
        method: Several<MethodName>,
    }
}

/// The conditions under which a request belongs to a service.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(try_from = "MatchKeys")]
pub(crate) struct ServiceMatch(pub(crate) MatchKeys);

/// The conditions under which a request of a service belongs to a route.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(try_from = "RouteMatchKeys")]
pub(crate) struct RouteMatch(pub(crate) MatchKeys);

impl TryFrom<MatchKeys> for ServiceMatch {
    type Error = &'static str;

    fn try_from(keys: MatchKeys) -> Result<Self, &'static str> {
        if keys.is_open() {
            return Err(
                "matches nothing in particular: give at least one of host, scheme, path, method",
            );
        }
        Ok(Self(keys))
    }
}

impl TryFrom<RouteMatchKeys> for RouteMatch {
    type Error = &'static str;

    fn try_from(RouteMatchKeys { path, method }: RouteMatchKeys) -> Result<Self, &'static str> {
        let keys = MatchKeys {
            path,
            method,
            ..MatchKeys::default()
        };
        if keys.is_open() {
            return Err("matches nothing in particular: give at least one of path, method");
        }
        Ok(Self(keys))
    }
}

/// A match in a canonical order, so that equal matches compare as equal.
pub(crate) type InOrder = [Vec<String>; 4];

impl MatchKeys {
    pub(crate) fn is_open(&self) -> bool {
        let texts = [
            self.host.is_some(),
            self.scheme.is_some(),
            self.path.is_some(),
        ];
        !texts.contains(&true) && self.method.is_none()
    }

    pub(crate) fn hosts(&self) -> impl Iterator<Item = &str> {
        self.host.iter().flat_map(|all| &all.0).map(|host| &*host.0)
    }

    pub(crate) fn schemes(&self) -> impl Iterator<Item = &str> {
        self.scheme
            .iter()
            .flat_map(|all| &all.0)
            .map(|scheme| &*scheme.0)
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.path.iter().flat_map(|all| &all.0).map(|path| &*path.0)
    }

    pub(crate) fn methods(&self) -> impl Iterator<Item = &http::Method> {
        self.method
            .iter()
            .flat_map(|all| &all.0)
            .map(|method| &method.0)
    }

    pub(crate) fn in_order(&self) -> InOrder {
        let mut all = [
            self.hosts().map(str::to_owned).collect::<Vec<_>>(),
            self.schemes().map(str::to_owned).collect(),
            self.paths().map(str::to_owned).collect(),
            self.methods().map(ToString::to_string).collect(),
        ];
        for list in &mut all {
            list.sort();
            list.dedup();
        }
        all
    }
}

/// The paths of matches, to find those that no request would reach.
#[derive(Default)]
pub(crate) struct Matches<'a>(std::collections::HashMap<InOrder, Path<'a>>);

impl<'a> Matches<'a> {
    pub(crate) fn add(
        &mut self,
        matching: &MatchKeys,
        name: &str,
        path: Path<'a>,
        problems: &Diagnostics,
    ) {
        use std::collections::hash_map::Entry;
        // A service without a match is reached by its name alone, and there may be any number of them.
        if matching.is_open() {
            return;
        }
        match self.0.entry(matching.in_order()) {
            Entry::Occupied(earlier) => {
                let earlier = earlier.get();
                let cause = format!("is the same as {earlier}: no request would match {name}");
                problems.add(&path, &"", cause);
            }
            Entry::Vacant(new) => {
                new.insert(path);
            }
        }
    }
}
