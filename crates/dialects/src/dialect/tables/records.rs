//! Records and content: HubSpot, HighLevel, Zendesk, Airtable, monday.com, Notion, Smartsheet, DocuSign, QuickBooks,
//! MoySklad, Salesforce, Dropbox, MediaWiki, mod.io, Prisjakt, Spotify, Riot Games, Contentful, Cloudinary.

use super::{MINUTE, on, seconds, unless_head};
use crate::dialect::{Interpretation, Location, Row};
use http::header::RETRY_AFTER;
use http_retry_core::policy::{Reason, Scope, Unit};
use http_retry_rules::Value;

pub(super) fn hubspot() -> Vec<Row> {
    let limit = |name| on([429]).json("/policyName", name);
    vec![
        limit("DAILY").is(Interpretation::permanent().because(Reason::QuotaExhausted)),
        limit("TEN_SECONDLY_ROLLING").is(Interpretation::throttled().at_least(seconds(10))),
        // The limit of searches alone.
        limit("SECONDLY").is(Interpretation::throttled()
            .at_least(seconds(1))
            .scope(Scope::Route)),
        // "477 Migration in Progress": `Retry-After` has the delay.
        on([477]).is(Interpretation::throttled()),
        // "423 Locked": a lock lasts 2 seconds.
        on([423]).is(Interpretation::transient().refused().at_least(seconds(2))),
    ]
}

pub(super) fn zendesk() -> Vec<Row> {
    let endpoint = "zendesk-ratelimit-endpoint";
    let slow =
        Interpretation::throttled().delay(Location::header_part(endpoint, "resets"), Unit::S);
    vec![
        on([429])
            .header_part(endpoint, "remaining", 0)
            .is(slow.scope(Scope::Route)),
        on([409])
            .json("/error", "DatabaseConflict")
            .is(Interpretation::transient()),
    ]
}

pub(super) fn airtable() -> Vec<Row> {
    let billed = "PUBLIC_API_BILLING_LIMIT_EXCEEDED";
    let spent = || Interpretation::permanent().because(Reason::QuotaExhausted);
    let refused = || on([429]);
    vec![
        refused().json("/errors/*/error", billed).is(spent()),
        refused().json("/error/type", billed).is(spent()),
        // "You will need to wait 30 seconds before subsequent requests will succeed." The limit is that of one base,
        // which the path names: `/v0/appX/Orders`.
        refused().is(Interpretation::throttled()
            .at_least(seconds(30))
            .scope_from(Location::path_segment(1))),
    ]
}

pub(super) fn monday() -> Vec<Row> {
    let error = || on([200, 429]).path("/v2*");
    let code = "/errors/*/extensions/code";
    let after = || Location::json("/errors/*/extensions/retry_in_seconds");
    // A limit of one field may leave the rest of a query done.
    let field = || Interpretation::throttled().answered();
    vec![
        // It resets at midnight, UTC.
        error()
            .json(code, "DAILY_LIMIT_EXCEEDED")
            .is(Interpretation::permanent().because(Reason::QuotaExhausted)),
        // The query was not run: its cost was above the points left, or the address had too many.
        error()
            .json(
                code,
                ["COMPLEXITY_BUDGET_EXHAUSTED", "IP_RATE_LIMIT_EXCEEDED"],
            )
            .is(Interpretation::throttled().delay(after(), Unit::S)),
        error()
            .json(code, "FIELD_LIMIT_EXCEEDED")
            .is(field().delay(after(), Unit::S)),
        // Versions before 2025: "Complexity budget exhausted, .. reset in 3 seconds".
        error()
            .json("/error_code", "ComplexityException")
            .is(Interpretation::throttled().delay(Location::prose(), Unit::Auto)),
        error()
            .json("/error_code", "FIELD_LIMIT_EXCEEDED")
            .is(field().delay(Location::json("/error_data/retry_in_seconds"), Unit::S)),
    ]
}

pub(super) fn salesforce() -> Vec<Row> {
    let code = |place| {
        on([400, 403, 503])
            .json(place, "REQUEST_LIMIT_EXCEEDED")
            // The daily limit has the same code; only the message tells them apart.
            .message("concurrent")
    };
    vec![
        code("/*/errorCode").is(Interpretation::throttled()),
        code("/errorCode").is(Interpretation::throttled()),
        on([400])
            .json("/*/errorCode", "UNABLE_TO_LOCK_ROW")
            .is(Interpretation::transient()),
    ]
}

pub(super) fn dropbox() -> Vec<Row> {
    let delay = || Interpretation::throttled().delay(Location::json("/error/retry_after"), Unit::S);
    vec![
        on([429]).is(delay()),
        on([409])
            .json("/error_summary", Value::has(["too_many_write_operations"]))
            .is(delay()),
    ]
}

pub(super) fn mediawiki() -> Vec<Row> {
    // It responds like this instead of processing the request.
    let said = |place, codes: &[&str]| {
        let codes = Value::is(codes.iter().copied());
        on([200]).path("*/api.php").json(place, codes)
    };
    let slow = ["maxlag", "ratelimited"];
    vec![
        said("/error/code", &slow).is(Interpretation::throttled()),
        said("/errors/*/code", &slow).is(Interpretation::throttled()),
        said("/error/code", &["readonly"]).is(Interpretation::transient().refused()),
    ]
}

pub(super) fn mod_io() -> Vec<Row> {
    let code = |code| on([429]).json("/error/error_ref", Value::number(code));
    vec![
        code(11_008).is(Interpretation::throttled().scope(Scope::Account)),
        code(11_009).is(Interpretation::throttled().scope(Scope::Route)),
    ]
}

pub(super) fn prisjakt() -> Vec<Row> {
    // Milliseconds from now: read as seconds, no call would wait for it.
    let reset = Location::header("x-rate-limit-reset");
    vec![on([429]).is(Interpretation::throttled().delay(reset, Unit::Ms))]
}

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
    let limit = |name: &str| on([429]).header("x-rate-limit-type", name);
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
            .has_header(reset)
            .is(Interpretation::throttled().delay(Location::header(reset), Unit::S)),
    ]
}

pub(super) fn cloudinary() -> Vec<Row> {
    // "Rate Limit Exceeded. Limit of 500 api operations reached. Try again on 2026-08-21 13:00:00 UTC"
    let reset = Location::header("x-featureratelimit-reset");
    vec![
        on([420, 429]).is(Interpretation::throttled()
            .delay(reset, Unit::HttpDate)
            .delay(Location::prose(), Unit::Auto)),
    ]
}

pub(super) fn notion() -> Vec<Row> {
    // `service_overload`: "retried for all HTTP methods", by the contract of a 429.
    vec![on([529]).is(Interpretation::throttled())]
}

pub(super) fn highlevel() -> Vec<Row> {
    let interval = "x-ratelimit-interval-milliseconds";
    vec![
        on([429])
            .header("x-ratelimit-daily-remaining", 0)
            .is(Interpretation::permanent().because(Reason::QuotaExhausted)),
        // A burst, of 100 requests in 10 seconds.
        on([429])
            .has_header(interval)
            .is(Interpretation::throttled().at_least_from(Location::header(interval), Unit::Ms)),
    ]
}

pub(super) fn moysklad() -> Vec<Row> {
    // Milliseconds.
    let after = "x-lognex-retry-after";
    let slow = Interpretation::throttled().delay(Location::header(after), Unit::Ms);
    vec![on([429]).has_header(after).is(slow)]
}

pub(super) fn quickbooks() -> Vec<Row> {
    // 500 requests in a minute "per realm ID", which is in the path: `/v3/company/REALM`.
    let slow = Interpretation::throttled().at_least(MINUTE);
    vec![
        on([429])
            .path("/v3/company/*")
            .is(slow.scope_from(Location::path_segment(2))),
    ]
}

pub(super) fn docusign() -> Vec<Row> {
    let limit = |code: &str| on([400, 429]).json("/errorCode", code);
    let reset = Location::header("x-ratelimit-reset");
    vec![
        limit("HOURLY_APIINVOCATION_LIMIT_EXCEEDED")
            .is(Interpretation::throttled().delay(reset, Unit::Unix)),
        // 500 requests in 30 seconds.
        limit("BURST_APIINVOCATION_LIMIT_EXCEEDED")
            .is(Interpretation::throttled().at_least(seconds(30))),
    ]
}

pub(super) fn smartsheet() -> Vec<Row> {
    // 300 requests in a minute: "sleep for 60 seconds".
    vec![
        on([429])
            .json("/errorCode", "4003")
            .is(Interpretation::throttled().at_least(MINUTE)),
    ]
}
