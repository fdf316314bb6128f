//! Which requests belong to a service or a route.

use super::block::{Node, Path};
use super::fields::{Fields, Type, table};
use super::problems::Problems;
use super::schema::{object, one_or_more, text_like};
use super::types::methods;
use crate::dialect::{self, without_port};
use crate::policy::rules::is_like;
use crate::route::Head;
use http::Method;
use serde_json::json;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

table! {
    /// All keys must hold; a list means "one of". Of several services, the most specific match wins, not the first.
    OfService("match_service", "Which requests belong to a service", json!({"minProperties": 1})) {
        /// The host, or a list: api.example.com, api.example.com:8443, or *.example.com for the hosts below it. Without a
        /// port it takes any.
        host: Vec<String> = hosts();
        /// http or https, or a list.
        scheme: Vec<String> = schemes();
        /// The path, or a list; * stands for anything: /v1/*. Longer patterns are more specific.
        path: Vec<String> = paths();
        /// The method, or a list.
        method: Vec<Method> = methods();
    }
}

table! {
    /// All keys must hold; a list means "one of". Of several routes, the first that matches wins.
    OfRoute("match_route", "Which requests belong to a route", json!({"minProperties": 1})) {
        /// The path, or a list; * stands for anything: /v1/*. Longer patterns are more specific.
        path: Vec<String> = paths();
        /// The method, or a list.
        method: Vec<Method> = methods();
    }
}

/// What a request must be like; a list means "one of", and what is not given is open.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Matching {
    hosts: Vec<String>,
    schemes: Vec<String>,
    paths: Vec<String>,
    methods: Vec<Method>,
}

/// The match of a service.
pub(super) fn of_service() -> Type<Matching> {
    Type {
        read: read::<OfService>,
        schema: object::<OfService>,
    }
}

/// The match of a route.
pub(super) fn of_route() -> Type<Matching> {
    Type {
        read: read::<OfRoute>,
        schema: object::<OfRoute>,
    }
}

fn read<B: Fields + Into<Matching>>(node: &Node<'_>) -> Option<Matching> {
    let mut block = node.clone().block()?;
    let matching: Matching = B::take(&mut block).into();
    let keys = block.keys().join(", ");
    let cause = format!("matches nothing in particular: give at least one of {keys}");
    block.end_or((matching == Matching::default()).then_some(cause.as_str()));
    Some(matching)
}

impl From<OfService> for Matching {
    fn from(given: OfService) -> Self {
        Self {
            hosts: given.host.unwrap_or_default(),
            schemes: given.scheme.unwrap_or_default(),
            paths: given.path.unwrap_or_default(),
            methods: given.method.unwrap_or_default(),
        }
    }
}

impl From<OfRoute> for Matching {
    fn from(given: OfRoute) -> Self {
        Self {
            paths: given.path.unwrap_or_default(),
            methods: given.method.unwrap_or_default(),
            ..Self::default()
        }
    }
}

/// The more a match says, the earlier it is asked.
pub(super) type Rank = (
    Reverse<bool>,
    Reverse<usize>,
    Reverse<usize>,
    Reverse<usize>,
);

impl Matching {
    /// The same for every match that takes the same requests, as far as its words tell.
    fn in_order(&self) -> Self {
        fn sorted<T: Clone + PartialEq>(list: &[T], key: impl Fn(&T) -> &str) -> Vec<T> {
            let mut list = list.to_vec();
            list.sort_by(|one, other| key(one).cmp(key(other)));
            list.dedup();
            list
        }
        Self {
            hosts: sorted(&self.hosts, String::as_str),
            schemes: sorted(&self.schemes, String::as_str),
            paths: sorted(&self.paths, String::as_str),
            methods: sorted(&self.methods, Method::as_str),
        }
    }

    pub(super) fn holds(&self, head: &Head<'_>) -> bool {
        let authority = head.authority.as_deref().unwrap_or_default();
        one_of(&self.hosts, |pattern| is_at(pattern, authority))
            && one_of(&self.schemes, |scheme| Some(scheme.as_str()) == head.scheme)
            && one_of(&self.paths, |pattern| {
                is_like(pattern, head.path)
                    || pattern
                        .strip_suffix("/*")
                        .is_some_and(|whole| whole == head.path)
            })
            && one_of(&self.methods, |method| Some(method) == head.method)
    }

    /// An exact host before a pattern, a longer one before a shorter, and then whatever says more.
    pub(super) fn rank(&self) -> Rank {
        let exact = !self.hosts.is_empty() && !self.hosts.iter().any(|host| host.contains('*'));
        let longest = |patterns: &[String]| patterns.iter().map(String::len).min().unwrap_or(0);
        let others = usize::from(!self.schemes.is_empty())
            .saturating_add(usize::from(!self.methods.is_empty()));
        (
            Reverse(exact),
            Reverse(longest(&self.hosts)),
            Reverse(longest(&self.paths)),
            Reverse(others),
        )
    }
}

fn one_of<T>(wanted: &[T], holds: impl Fn(&T) -> bool) -> bool {
    wanted.is_empty() || wanted.iter().any(holds)
}

fn hosts() -> Type<Vec<String>> {
    Type {
        read: |node| {
            let wanted = "a host: write api.example.com or *.example.com";
            let hosts = patterns(node, is_host, wanted).into_iter();
            Some(hosts.map(|host| host.to_ascii_lowercase()).collect())
        },
        schema: |_| one_or_more("a host", text_like("^(?:\\*\\.)?[^/@?# *]+$")),
    }
}

fn schemes() -> Type<Vec<String>> {
    Type {
        read: |node| {
            let schemes = patterns(node, is_scheme, "a scheme: write http or https");
            Some(
                schemes
                    .iter()
                    .map(|scheme| scheme.to_ascii_lowercase())
                    .collect(),
            )
        },
        schema: |_| one_or_more("a scheme", text_like("^[hH][tT][tT][pP][sS]?$")),
    }
}

fn paths() -> Type<Vec<String>> {
    Type {
        read: |node| {
            let fits = |path: &str| path.starts_with(['/', '*']) && !path.contains(['?', '#']);
            Some(patterns(node, fits, "a path: write /v1/*"))
        },
        schema: |_| one_or_more("a path", text_like("^[/*]")),
    }
}

fn patterns(node: &Node<'_>, fits: fn(&str) -> bool, wanted: &str) -> Vec<String> {
    let read = |node: &Node<'_>| {
        let text = node.text()?;
        if !fits(text) {
            node.not(wanted);
            return None;
        }
        Some(text.to_owned())
    };
    node.one_or_more().iter().filter_map(read).collect()
}

fn is_scheme(text: &str) -> bool {
    matches!(text.to_ascii_lowercase().as_str(), "http" | "https")
}

/// A host, perhaps with a port, perhaps with a `*` for its first labels.
fn is_host(text: &str) -> bool {
    let rest = text.strip_prefix("*.").unwrap_or(text);
    rest.starts_with(|c: char| c.is_alphanumeric() || c == '[')
        && !rest.contains(['/', '@', '?', '#', ' ', '*'])
}

/// Whether an authority is what a pattern says; without a port of its own the pattern takes any.
fn is_at(pattern: &str, authority: &str) -> bool {
    let authority = authority.to_ascii_lowercase();
    let hosts = [without_port(&authority), &authority];
    hosts.iter().any(|host| dialect::is_at(pattern, host))
}

/// The places of matches, to find those to which no request would come.
#[derive(Default)]
pub(super) struct Matches(HashMap<Matching, Path>);

impl Matches {
    /// Says so where an earlier place has the same match.
    pub(super) fn add(
        &mut self,
        matching: &Matching,
        name: &str,
        place: Path,
        problems: &Problems,
    ) {
        if *matching == Matching::default() {
            return;
        }
        match self.0.entry(matching.in_order()) {
            Entry::Occupied(earlier) => {
                let earlier = earlier.get();
                let cause = format!("is the same as {earlier}: no request would match {name}");
                problems.add(&place, &"", cause);
            }
            Entry::Vacant(new) => {
                new.insert(place);
            }
        }
    }
}

#[cfg(test)]
mod tests;
