//! Music, games and content: Spotify, Riot Games, Contentful.

use super::{on, seconds, unless_head};
use crate::dialect::{Interpretation, Location, Row};
use http::header::RETRY_AFTER;
use http_retry_core::policy::{Reason, Scope, Unit};

pub(super) fn spotify() -> Vec<Row> {
    let refused = || on([429]);
    vec![
        // The quota of a developer's account, which is no rate limit.
        refused()
            .json("/error/reason", "QUOTA_EXCEEDED")
            .is(Interpretation::permanent().because(Reason::QuotaExhausted)),
        // Calls are counted "in a rolling 30 second window"; most responses name the delay.
        refused()
            .and(unless_head(RETRY_AFTER))
            .is(Interpretation::throttled().at_least(seconds(30))),
    ]
}

pub(super) fn riot() -> Vec<Row> {
    let limit = |name: &str| on([429]).head("x-rate-limit-type", name);
    vec![
        // Of all calls with this key in this region, which is a host.
        limit("application").is(Interpretation::throttled().scope(Scope::Account)),
        limit("method").is(Interpretation::throttled().scope(Scope::Route)),
        // Of a service, for all its clients together; without a type, of a system behind the API.
        on([429]).is(Interpretation::throttled().scope(Scope::Request)),
    ]
}

pub(super) fn contentful() -> Vec<Row> {
    let reset = "x-contentful-ratelimit-reset";
    vec![
        // The seconds until the next request.
        on([429])
            .has_head(reset)
            .is(Interpretation::throttled().delay(Location::head(reset), Unit::S)),
    ]
}
