//! Which requests belong to a service or a route.

use super::block::{Node, Path};
use super::fields::{Fields, Type, object, table};
use super::problems::Problems;
use super::schema::{one_or_more, text_like};
use super::types::methods;
use crate::route::matching::{self, Matching};
use http::Method;
use serde_json::json;
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
    let mut block = node.block()?;
    let matching: Matching = B::take(&mut block).into();
    let keys = block.keys().join(", ");
    let cause = format!("matches nothing in particular: give at least one of {keys}");
    block.end_or(matching.is_open().then_some(cause.as_str()));
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

fn hosts() -> Type<Vec<String>> {
    Type {
        read: |node| Some(patterns(node, matching::host, matching::HOST)),
        schema: |_| one_or_more("a host", text_like("^(?:\\*\\.)?[^/@?# *]+$")),
    }
}

fn schemes() -> Type<Vec<String>> {
    Type {
        read: |node| Some(patterns(node, matching::scheme, matching::SCHEME)),
        schema: |_| one_or_more("a scheme", text_like("^[hH][tT][tT][pP][sS]?$")),
    }
}

fn paths() -> Type<Vec<String>> {
    Type {
        read: |node| Some(patterns(node, matching::path, matching::PATH)),
        schema: |_| one_or_more("a path", text_like("^[/*]")),
    }
}

/// Patterns that match requests.
pub(super) fn patterns(
    node: &Node<'_>,
    kept: fn(&str) -> Option<String>,
    wanted: &str,
) -> Vec<String> {
    let read = |node: &Node<'_>| {
        let pattern = kept(node.text()?);
        if pattern.is_none() {
            node.not(wanted);
        }
        pattern
    };
    node.one_or_more().iter().filter_map(read).collect()
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
        if matching.is_open() {
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
