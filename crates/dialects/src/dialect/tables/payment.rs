//! Payment, order and accounting services: Stripe, Shopify, PayPal, Chargebee, Xero, and the draft on idempotency keys.

use super::on;
use crate::dialect::{Interpretation, Row};
use http_retry_core::policy::Reason;
use http_retry_core::policy::rules::Value;

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
