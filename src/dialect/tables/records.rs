//! Who keeps customers, tickets, tables and files: HubSpot, Zendesk, Airtable, Salesforce, Dropbox, MediaWiki, mod.io,
//! Prisjakt.

use super::seconds;
use crate::dialect::{At, Dialect, Meaning, Row};
use crate::policy::rules::Value;
use crate::policy::{Reason, Scope, Unit};

pub(super) fn hubspot() -> Dialect {
    let limit = |name| Row::when().status(429).json("/policyName", name);
    Dialect::built_in(
        "hubspot",
        "HubSpot/hubspot-api-nodejs RetryDecorator; developers.hubspot.com, error handling",
    )
    .rows([
        limit("DAILY").is(Meaning::permanent().because(Reason::QuotaExhausted)),
        limit("TEN_SECONDLY_ROLLING").is(Meaning::throttled().at_least(seconds(10))),
        limit("SECONDLY").is(Meaning::throttled().at_least(seconds(1))),
        // "477 Migration in Progress": Retry-After says when.
        Row::when().status(477).is(Meaning::throttled()),
        // "423 Locked": a lock lasts 2 seconds.
        Row::when()
            .status(423)
            .is(Meaning::transient().refused().at_least(seconds(2))),
    ])
}

pub(super) fn zendesk() -> Dialect {
    let endpoint = "zendesk-ratelimit-endpoint";
    let slow = Meaning::throttled().delay(At::head_part(endpoint, "resets"), Unit::S);
    Dialect::built_in("zendesk", "developer.zendesk.com, rate limits").rows([
        Row::when()
            .status(429)
            .head_part(endpoint, "remaining", 0)
            .is(slow.scope(Scope::Route)),
        Row::when()
            .status(409)
            .json("/error", "DatabaseConflict")
            .is(Meaning::transient()),
    ])
}

pub(super) fn airtable() -> Dialect {
    let billed = "PUBLIC_API_BILLING_LIMIT_EXCEEDED";
    let spent = || Meaning::permanent().because(Reason::QuotaExhausted);
    let refused = || Row::when().status(429);
    Dialect::built_in("airtable", "airtable.com/developers, rate limits").rows([
        refused().json("/errors/*/error", billed).is(spent()),
        refused().json("/error/type", billed).is(spent()),
        // "You will need to wait 30 seconds before subsequent requests will succeed."
        refused().is(Meaning::throttled().at_least(seconds(30))),
    ])
}

pub(super) fn salesforce() -> Dialect {
    let code = |place| {
        Row::when()
            .status([400, 403, 503])
            .json(place, "REQUEST_LIMIT_EXCEEDED")
            // The same code stands for the day's limit, which only the message tells.
            .text("concurrent")
    };
    Dialect::built_in(
        "salesforce",
        "developer.salesforce.com, API request limits and status codes",
    )
    .rows([
        code("/*/errorCode").is(Meaning::throttled()),
        code("/errorCode").is(Meaning::throttled()),
        Row::when()
            .status(400)
            .json("/*/errorCode", "UNABLE_TO_LOCK_ROW")
            .is(Meaning::transient()),
    ])
}

pub(super) fn dropbox() -> Dialect {
    let delay = || Meaning::throttled().delay(At::json("/error/retry_after"), Unit::S);
    Dialect::built_in(
        "dropbox",
        "dropbox.com/developers, error handling; WriteError",
    )
    .rows([
        Row::when().status(429).is(delay()),
        Row::when()
            .status(409)
            .json("/error_summary", Value::has(["too_many_write_operations"]))
            .is(delay()),
    ])
}

pub(super) fn mediawiki() -> Dialect {
    // It answers so instead of doing what was asked.
    let said = |place, codes: &[&str]| {
        let codes = Value::is(codes.iter().copied());
        Row::when().status(200).path("*/api.php").json(place, codes)
    };
    let slow = ["maxlag", "ratelimited"];
    Dialect::built_in(
        "mediawiki",
        "mediawiki.org: Manual:Maxlag parameter, API:Errors and warnings",
    )
    .rows([
        said("/error/code", &slow).is(Meaning::throttled()),
        said("/errors/*/code", &slow).is(Meaning::throttled()),
        said("/error/code", &["readonly"]).is(Meaning::transient().refused()),
    ])
}

pub(super) fn mod_io() -> Dialect {
    let code = |code| {
        Row::when()
            .status(429)
            .json("/error/error_ref", Value::number(code))
    };
    Dialect::built_in("mod_io", "docs.mod.io, rate limiting").rows([
        code(11_008).is(Meaning::throttled().scope(Scope::Account)),
        code(11_009).is(Meaning::throttled().scope(Scope::Route)),
    ])
}

pub(super) fn prisjakt() -> Dialect {
    // Milliseconds from now: read as seconds, nobody would wait for it.
    let reset = At::head("x-rate-limit-reset");
    Dialect::built_in("prisjakt", "developer.prisjakt.nu, rate limit").rows([Row::when()
        .status(429)
        .is(Meaning::throttled().delay(reset, Unit::Ms))])
}
