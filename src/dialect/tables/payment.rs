//! Who takes money and orders: Stripe, Shopify, PayPal, Chargebee, and the draft on keys of idempotency.

use crate::dialect::{Dialect, Meaning, Row};
use crate::policy::rules::Value;
use http::HeaderName;

pub(super) fn stripe() -> Dialect {
    Dialect::built_in(
        "stripe",
        "docs.stripe.com, low-level errors and idempotent requests",
    )
    .rows([
        // A saved answer comes back for ever.
        Row::when()
            .status(500..=599)
            .head("idempotent-replayed", "true")
            .is(Meaning::permanent()),
        // "Subsequent requests with the same key return the same result, including 500 errors."
        Row::when().status(500).keyed().is(Meaning::permanent()),
        Row::when()
            .status(409)
            .json("/error/code", ["idempotency_key_in_use", "lock_timeout"])
            .is(Meaning::transient()),
    ])
}

pub(super) fn shopify() -> Dialect {
    let code = |code| {
        let graphql = Row::when().status(200).path("*/graphql.json");
        graphql.json("/errors/*/extensions/code", code)
    };
    Dialect::built_in(
        "shopify",
        "shopify.dev, API limits and GraphQL status codes",
    )
    .rows([
        // The query was not run: it would have cost more than is left.
        code("THROTTLED").is(Meaning::throttled()),
        code("INTERNAL_SERVER_ERROR").is(Meaning::transient()),
    ])
}

pub(super) fn paypal() -> Dialect {
    let issue = "PREVIOUS_REQUEST_IN_PROGRESS";
    Dialect::built_in(
        "paypal",
        "developer.paypal.com, idempotency and error messages",
    )
    .key_header(HeaderName::from_static("paypal-request-id"))
    .rows([
        Row::when()
            .status([409, 422])
            .json("/details/*/issue", issue)
            .is(Meaning::transient()),
        Row::when()
            .status([409, 422])
            .json("/name", issue)
            .is(Meaning::transient()),
    ])
}

pub(super) fn chargebee() -> Dialect {
    Dialect::built_in("chargebee", "apidocs.chargebee.com, idempotent requests")
        .key_header(HeaderName::from_static("chargebee-idempotency-key"))
        .rows([Row::when()
            .status(500..=599)
            .head("chargebee-idempotency-replayed", "true")
            .is(Meaning::permanent())])
}

pub(super) fn idempotency() -> Dialect {
    let conflict = || Row::when().status(409).keyed();
    Dialect::built_in(
        "idempotency",
        "draft-ietf-httpapi-idempotency-key-header, section 2.7",
    )
    .rows([
        // "A request is outstanding for this Idempotency-Key": the first one is still under way.
        conflict()
            .text("outstanding for this idempotency-key")
            .is(Meaning::transient()),
        conflict()
            .json(
                "/error/code",
                Value::has([
                    "idempotencykeyinuse",
                    "idempotencyinprogress",
                    "requestinprogress",
                ]),
            )
            .is(Meaning::transient()),
        conflict()
            .json(
                "/code",
                Value::has([
                    "idempotencykeyinuse",
                    "idempotencyinprogress",
                    "requestinprogress",
                ]),
            )
            .is(Meaning::transient()),
    ])
}
