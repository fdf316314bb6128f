//! Who keeps customers, tickets, tables and files: HubSpot, Zendesk, Airtable, Salesforce, Dropbox, MediaWiki, mod.io,
//! Prisjakt.

use super::{on, seconds};
use crate::dialect::{At, Meaning, Row};
use http_retry_core::policy::rules::Value;
use http_retry_core::policy::{Reason, Scope, Unit};

pub(super) fn hubspot() -> Vec<Row> {
    let limit = |name| on([429]).json("/policyName", name);
    vec![
        limit("DAILY").is(Meaning::permanent().because(Reason::QuotaExhausted)),
        limit("TEN_SECONDLY_ROLLING").is(Meaning::throttled().at_least(seconds(10))),
        limit("SECONDLY").is(Meaning::throttled().at_least(seconds(1))),
        // "477 Migration in Progress": Retry-After says when.
        on([477]).is(Meaning::throttled()),
        // "423 Locked": a lock lasts 2 seconds.
        on([423]).is(Meaning::transient().refused().at_least(seconds(2))),
    ]
}

pub(super) fn zendesk() -> Vec<Row> {
    let endpoint = "zendesk-ratelimit-endpoint";
    let slow = Meaning::throttled().delay(At::head_part(endpoint, "resets"), Unit::S);
    vec![
        on([429])
            .head_part(endpoint, "remaining", 0)
            .is(slow.scope(Scope::Route)),
        on([409])
            .json("/error", "DatabaseConflict")
            .is(Meaning::transient()),
    ]
}

pub(super) fn airtable() -> Vec<Row> {
    let billed = "PUBLIC_API_BILLING_LIMIT_EXCEEDED";
    let spent = || Meaning::permanent().because(Reason::QuotaExhausted);
    let refused = || on([429]);
    vec![
        refused().json("/errors/*/error", billed).is(spent()),
        refused().json("/error/type", billed).is(spent()),
        // "You will need to wait 30 seconds before subsequent requests will succeed."
        refused().is(Meaning::throttled().at_least(seconds(30))),
    ]
}

pub(super) fn salesforce() -> Vec<Row> {
    let code = |place| {
        on([400, 403, 503])
            .json(place, "REQUEST_LIMIT_EXCEEDED")
            // The same code stands for the day's limit, which only the message tells.
            .text("concurrent")
    };
    vec![
        code("/*/errorCode").is(Meaning::throttled()),
        code("/errorCode").is(Meaning::throttled()),
        on([400])
            .json("/*/errorCode", "UNABLE_TO_LOCK_ROW")
            .is(Meaning::transient()),
    ]
}

pub(super) fn dropbox() -> Vec<Row> {
    let delay = || Meaning::throttled().delay(At::json("/error/retry_after"), Unit::S);
    vec![
        on([429]).is(delay()),
        on([409])
            .json("/error_summary", Value::has(["too_many_write_operations"]))
            .is(delay()),
    ]
}

pub(super) fn mediawiki() -> Vec<Row> {
    // It answers so instead of doing what was asked.
    let said = |place, codes: &[&str]| {
        let codes = Value::is(codes.iter().copied());
        on([200]).path("*/api.php").json(place, codes)
    };
    let slow = ["maxlag", "ratelimited"];
    vec![
        said("/error/code", &slow).is(Meaning::throttled()),
        said("/errors/*/code", &slow).is(Meaning::throttled()),
        said("/error/code", &["readonly"]).is(Meaning::transient().refused()),
    ]
}

pub(super) fn mod_io() -> Vec<Row> {
    let code = |code| on([429]).json("/error/error_ref", Value::number(code));
    vec![
        code(11_008).is(Meaning::throttled().scope(Scope::Account)),
        code(11_009).is(Meaning::throttled().scope(Scope::Route)),
    ]
}

pub(super) fn prisjakt() -> Vec<Row> {
    // Milliseconds from now: read as seconds, nobody would wait for it.
    let reset = At::head("x-rate-limit-reset");
    vec![on([429]).is(Meaning::throttled().delay(reset, Unit::Ms))]
}
