//! Services and their routes.

use super::place::{PlaceSpec, place_keys};
use crate::config::block::Node;
use crate::config::fields::{Fields, Type, block, object, table, told};
use crate::config::fleet::Membership;
use crate::config::gating::{Gating, gate};
use crate::config::given::Given;
use crate::config::matching::{Matches, of_route, of_service};
use crate::config::retry::Retry;
use crate::config::schema::{list, text_like};
use crate::config::types::{name, word};
use crate::config::words::words;
use crate::route::matching::{self, Matching};
use crate::services::RequestOverrides;
use http::Uri;
use std::collections::BTreeSet;
use std::sync::Arc;

place_keys! {
    /// What is called, and how.
    Service("service", "A service") {
    } {
        /// The budget that pays for its retries, by its name under budgets. Default: one of its own.
        budget: Given<Arc<str>> = told(name());
        /// One pause for all callers of the service after a 429.
        gate: Given<Gating> = gate();
        /// Whether its budget and its gate are in the fleet, where there is one: on (default) or off.
        fleet: Membership = word::<Membership>(), default(&"on");
        /// Which requests belong to it. Without it, only those that name it with RetryOverride::service, and those that
        /// fail over to it.
        matching as "match": Matching = of_service();
        /// Where it is: http:// or https://, a host and perhaps a path, without user info and query. A failover goes
        /// there.
        base_url: Uri = base_url();
        /// What a request may set for itself (RetryOverride): allow (default), fill_only (what the document leaves open),
        /// deny (nothing but the service's name).
        request_overrides: RequestOverrides = word::<RequestOverrides>(), default(&"allow");
        /// Parts of the service with settings of their own; the first that matches wins.
        routes: Vec<RouteSpec> = Type { read: |node| Some(routes(node)), schema: |defs| list(&object::<Route>(defs)) };
    }
}

place_keys! {
    /// Requests of a service that are treated in their own way. The first route that matches wins.
    Route("route", "A route") {
        /// Its name, which is there once in its service.
        name: Arc<str> = name(), write("name: NAME");
        /// Which requests of the service.
        matching as "match": Matching = of_route(), write("match: {method: METHOD, path: \"/PATH\"}");
    } {
    }
}

#[derive(Debug, Clone, Default)]
pub(in crate::config) struct ServiceSpec {
    pub(in crate::config) place: PlaceSpec,
    pub(in crate::config) fleet: Membership,
    pub(in crate::config) matching: Option<Matching>,
    pub(in crate::config) base_url: Option<Uri>,
    pub(in crate::config) overrides: RequestOverrides,
    pub(in crate::config) routes: Vec<RouteSpec>,
}

#[derive(Debug, Clone)]
pub(in crate::config) struct RouteSpec {
    pub(in crate::config) name: Arc<str>,
    pub(in crate::config) place: PlaceSpec,
    pub(in crate::config) matching: Matching,
}

words! { RequestOverrides:
    "allow" => Self::Allow, "fill_only" => Self::FillOnly, "deny" => Self::Deny
}

pub(super) fn service() -> Type<ServiceSpec> {
    Type {
        read: |node| {
            let Some(mut block) = node.block() else {
                return Some(ServiceSpec::default());
            };
            let mut service = Service::take(&mut block);
            let mut place = service.take_place();
            if let Some(budget) = service.budget {
                let own = &mut place.retry.get_or_insert_default().budget;
                if own.is_some() {
                    let cause = "retry.budget is set too: give one of the two";
                    block.wrong_at("budget", &budget.text, cause);
                }
                *own = Some(budget);
            }
            block.end();
            Some(ServiceSpec {
                place: place.with(&Retry {
                    gate: service.gate,
                    ..Retry::default()
                }),
                fleet: service.fleet.unwrap_or_default(),
                matching: service.matching,
                base_url: service.base_url,
                overrides: service.request_overrides.unwrap_or_default(),
                routes: service.routes.unwrap_or_default(),
            })
        },
        schema: object::<Service>,
    }
}

fn routes(node: &Node<'_>) -> Vec<RouteSpec> {
    let mut routes: Vec<RouteSpec> = Vec::new();
    let mut names = BTreeSet::new();
    let mut matches = Matches::default();
    for node in node.items() {
        let Some(mut route) = (block::<Route>().read)(&node) else {
            continue;
        };
        let place = route.take_place();
        let (Some(name), Some(matching)) = (route.name, route.matching) else {
            continue;
        };
        matches.add(&matching, &name, node.path.key("match"), node.problems);
        if !names.insert(Arc::clone(&name)) {
            let cause = format!("{name} is there twice");
            node.problems.add(&node.path.key("name"), &name, cause);
        }
        routes.push(RouteSpec {
            name,
            place,
            matching,
        });
    }
    routes
}

fn base_url() -> Type<Uri> {
    Type {
        read: |node| {
            let base = matching::base_url(node.text()?);
            if base.is_none() {
                let cause = format!("is no base URL: {}", matching::BASE_URL);
                // It may hold a password.
                node.wrong_unseen(cause);
            }
            base
        },
        schema: |_| text_like("^[hH][tT][tT][pP][sS]?://[^/?#@\\s]+(?:[/#][^?\\s]*)?$"),
    }
}
