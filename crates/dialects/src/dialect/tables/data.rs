//! Open data, sport, games and chains: the SEC, Crossref, MusicBrainz, Firecrawl, Strava, EVE Online, Infura, Alchemy,
//! Etherscan.

use super::{on, seconds};
use crate::dialect::{Interpretation, Location, Row};
use http_retry_core::policy::{Reason, Scope, Unit};
use http_retry_rules::Value;

pub(super) fn sec() -> Vec<Row> {
    // "Once the rate of requests has dropped below the threshold for 10 minutes, the user may resume." Requests in the
    // block extend it.
    let blocked = Interpretation::throttled().at_least(seconds(10 * 60));
    vec![
        on([403, 429])
            .message("request rate threshold exceeded")
            .is(blocked.because(Reason::RateLimited)),
    ]
}

pub(super) fn crossref() -> Vec<Row> {
    // The window of the limit, such as `1s`.
    let interval = "x-rate-limit-interval";
    vec![
        on([429])
            .has_header(interval)
            .is(Interpretation::throttled().at_least_from(Location::header(interval), Unit::S)),
    ]
}

pub(super) fn musicbrainz() -> Vec<Row> {
    // "Your requests are exceeding the allowable rate limit", which is one in a second.
    vec![
        on([503])
            .message("exceeding the allowable rate limit")
            .is(Interpretation::throttled().at_least(seconds(1))),
    ]
}

pub(super) fn firecrawl() -> Vec<Row> {
    // "Please retry after 30s, resets at ..": each kind of job has a limit of its own.
    let slow = Interpretation::throttled().delay(Location::prose(), Unit::Auto);
    vec![on([429]).is(slow.scope(Scope::Route))]
}

pub(super) fn strava() -> Vec<Row> {
    let (usage, limit) = ("x-ratelimit-usage", "x-ratelimit-limit");
    let (reads, limit_of_reads) = ("x-readratelimit-usage", "x-readratelimit-limit");
    let spent = || Interpretation::permanent().because(Reason::QuotaExhausted);
    vec![
        // The day ends at midnight, UTC.
        on([429]).used_up(usage, limit, 1).is(spent()),
        on([429]).used_up(reads, limit_of_reads, 1).is(spent()),
        // "The 15-minute limit is reset at natural 15-minute intervals corresponding to 0, 15, 30 and 45 minutes after
        // the hour."
        on([429]).is(Interpretation::throttled().until_next(seconds(15 * 60))),
    ]
}

pub(super) fn esi() -> Vec<Row> {
    let reset = Location::header("x-esi-error-limit-reset");
    let slow = Interpretation::throttled().delay(reset, Unit::S);
    vec![
        // Too many errors in a minute: "it will return 420s on all ESI routes".
        on([420]).is(slow.scope(Scope::Account)),
        on([429])
            .has_header("x-ratelimit-group")
            .is(Interpretation::throttled().scope_from(Location::header("x-ratelimit-group"))),
    ]
}

pub(super) fn infura() -> Vec<Row> {
    let delay = "/error/data/rate/backoff_seconds";
    let slow = Interpretation::throttled().delay(Location::json(delay), Unit::S);
    vec![on([429]).json(delay, Value::any()).is(slow)]
}

pub(super) fn alchemy() -> Vec<Row> {
    vec![
        on([429])
            .message("monthly capacity limit exceeded")
            .is(Interpretation::permanent().because(Reason::QuotaExhausted)),
    ]
}

pub(super) fn etherscan() -> Vec<Row> {
    let said = |part: &str| {
        let failed = on([200]).path("*/api").json("/status", "0");
        failed.json("/result", Value::has([part]))
    };
    vec![
        said("daily rate limit reached")
            .is(Interpretation::permanent().because(Reason::QuotaExhausted)),
        // "Max calls per sec rate limit reached (5/sec)"
        said("rate limit reached").is(Interpretation::throttled().at_least(seconds(1))),
    ]
}
