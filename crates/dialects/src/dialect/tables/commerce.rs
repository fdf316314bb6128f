//! Payment, orders, accounts and exchanges: Stripe, Shopify, PayPal, Chargebee, Xero, the draft on idempotency keys,
//! Kraken, Binance.
//!
//! Private requests to the exchanges are signed with a nonce or a time, which is good for one attempt: sign them below
//! the retry layer.

use super::{MINUTE, on, seconds};
use crate::dialect::{Interpretation, Row};
use http_retry_core::policy::rules::Value;
use http_retry_core::policy::{Reason, Scope};

pub(super) fn stripe() -> Vec<Row> {
    vec![
        // A replayed response stays the same for ever.
        on(500..=599)
            .head("idempotent-replayed", "true")
            .is(Interpretation::permanent()),
        // "Subsequent requests with the same key return the same result, including 500 errors."
        on([500]).keyed().is(Interpretation::permanent()),
        on([409])
            .json("/error/code", ["idempotency_key_in_use", "lock_timeout"])
            .is(Interpretation::transient()),
    ]
}

pub(super) fn shopify() -> Vec<Row> {
    let code = |code| {
        let graphql = on([200]).path("*/graphql.json");
        graphql.json("/errors/*/extensions/code", code)
    };
    vec![
        // The query was not run: its cost was above the points left.
        code("THROTTLED").is(Interpretation::throttled()),
        code("INTERNAL_SERVER_ERROR").is(Interpretation::transient()),
    ]
}

pub(super) fn paypal() -> Vec<Row> {
    let issue = "PREVIOUS_REQUEST_IN_PROGRESS";
    vec![
        on([409, 422])
            .json("/details/*/issue", issue)
            .is(Interpretation::transient()),
        on([409, 422])
            .json("/name", issue)
            .is(Interpretation::transient()),
    ]
}

pub(super) fn chargebee() -> Vec<Row> {
    vec![
        on(500..=599)
            .head("chargebee-idempotency-replayed", "true")
            .is(Interpretation::permanent()),
    ]
}

pub(super) fn xero() -> Vec<Row> {
    vec![
        // The limit of a day, of one organisation; its `Retry-After` is hours long.
        on([429])
            .head(
                "x-rate-limit-problem",
                Value::starts_with_any(["day", "daily"]),
            )
            .is(Interpretation::permanent().because(Reason::QuotaExhausted)),
    ]
}

pub(super) fn idempotency() -> Vec<Row> {
    let conflict = || on([409]).keyed();
    let codes = || {
        Value::has([
            "idempotencykeyinuse",
            "idempotencyinprogress",
            "requestinprogress",
        ])
    };
    vec![
        // "A request is outstanding for this Idempotency-Key": the first one is still in progress.
        conflict()
            .text("outstanding for this idempotency-key")
            .is(Interpretation::transient()),
        conflict()
            .json("/error/code", codes())
            .is(Interpretation::transient()),
        conflict()
            .json("/code", codes())
            .is(Interpretation::transient()),
    ]
}

pub(super) fn kraken() -> Vec<Row> {
    let error = |value: Value| on([200]).path("/0/*").json("/error/*", value);
    vec![
        // "EService: Throttled: [UNIX timestamp]" names its end inside a text. Of the others: "additional calls will be
        // restricted for a few seconds". Public calls have another limit, for each address, with a text of its own.
        error(Value::has([
            "EAPI:Rate limit exceeded",
            "EGeneral:Too many requests",
            "EService:Throttled",
        ]))
        .is(Interpretation::throttled().at_least(seconds(5))),
        // Orders have a counter of their own.
        error(Value::is(["EOrder:Rate limit exceeded"]))
            .is(Interpretation::throttled().scope(Scope::Route)),
        // "The matching engine or API is offline": an order may have reached it.
        error(Value::is(["EService:Unavailable", "EService:Busy"])).is(Interpretation::transient()),
    ]
}

pub(super) fn binance() -> Vec<Row> {
    let error = |statuses: &[u16], code: &str| on(statuses.iter().copied()).json("/code", code);
    vec![
        // A ban of the address, for 2 minutes to 3 days; `Retry-After` has the seconds "until the ban is over". A ban
        // that names no end is not retried.
        on([418])
            .has_head("retry-after")
            .is(Interpretation::throttled()
                .scope(Scope::Account)
                .because(Reason::RateLimited)),
        // "A timeout has occurred while waiting for a response from the backend server": the order may be there.
        on([408]).is(Interpretation::transient()),
        // The limit of new orders, the only 429 without `Retry-After`; its shortest window is 10 s.
        error(&[429], "-1015").is(Interpretation::throttled()
            .at_least(seconds(10))
            .scope(Scope::MethodRoute)),
        // "Request throttled by system-level protection", "Please try again in a few minutes."
        error(&[400, 429, 500, 503], "-1008").is(Interpretation::throttled().at_least(MINUTE)),
        // "This is a failure API operation", unlike every other 503, of which "the execution status is UNKNOWN".
        on([503])
            .json("/msg", "Service Unavailable.")
            .is(Interpretation::transient().refused()),
    ]
}
