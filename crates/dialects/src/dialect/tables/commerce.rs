//! Payment, orders, accounts and exchanges: Stripe, Shopify, PayPal, Chargebee, Xero, the draft on idempotency keys,
//! Kraken, Binance, Bybit, OKX, KuCoin, Gate, CoinMarketCap.
//!
//! Private requests to the exchanges are signed with a nonce or a time, which is good for one attempt: sign them below
//! the retry layer.

use super::{MINUTE, on, seconds};
use crate::dialect::{Interpretation, Location, Row};
use http_retry_core::policy::{Reason, Scope, Unit};
use http_retry_rules::Value;
use std::time::Duration;

/// The shortest ban of an address by Bybit.
const TEN_MINUTES: Duration = seconds(10 * 60);

pub(super) fn stripe() -> Vec<Row> {
    let limited = |by| on([429]).header("stripe-rate-limited-reason", by);
    let slow = |scope| Interpretation::throttled().scope(scope);
    vec![
        // A replayed response stays the same for ever.
        on(500..=599)
            .header("idempotent-replayed", "true")
            .is(Interpretation::permanent()),
        // "Subsequent requests with the same key return the same result, including 500 errors."
        on([500]).keyed().is(Interpretation::permanent()),
        on([409])
            .json("/error/code", ["idempotency_key_in_use", "lock_timeout"])
            .is(Interpretation::transient()),
        // The limit of one object, such as the updates of a payment, or its lock; others are free.
        limited("resource-specific").is(slow(Scope::Request)),
        on([429])
            .json("/error/code", "lock_timeout")
            .is(slow(Scope::Request)),
        // "Each named API operation is a separate endpoint."
        limited("endpoint-rate").is(slow(Scope::MethodRoute)),
        limited("endpoint-concurrency").is(slow(Scope::MethodRoute)),
    ]
}

pub(super) fn shopify() -> Vec<Row> {
    let code = |code| {
        let graphql = on([200]).path("*/graphql.json");
        graphql.json("/errors/*/extensions/code", code)
    };
    vec![
        // The query was not run: its cost was above the points left, which the REST API does not share.
        code("THROTTLED").is(Interpretation::throttled().scope(Scope::Route)),
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
            .header("chargebee-idempotency-replayed", "true")
            .is(Interpretation::permanent()),
    ]
}

pub(super) fn xero() -> Vec<Row> {
    vec![
        // The limit of a day, of one organisation; its `Retry-After` is hours long.
        on([429])
            .header(
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
            .message("outstanding for this idempotency-key")
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
            .has_header("retry-after")
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

pub(super) fn bybit() -> Vec<Row> {
    let error = |code: &str| on([200]).path("/v5/*").json("/retCode", code);
    let reset = Location::header("x-bapi-limit-reset-timestamp");
    vec![
        // "403, access too frequent": the address is banned for "at least 10 minutes".
        on([403])
            .message("access too frequent")
            .is(Interpretation::throttled()
                .at_least(TEN_MINUTES)
                .because(Reason::RateLimited)),
        // "Too many visits. Exceeded the API rate limit", which each endpoint has.
        error("10006").is(Interpretation::throttled()
            .delay(reset, Unit::UnixMs)
            .scope(Scope::MethodRoute)),
        error("10016").is(Interpretation::transient()),
    ]
}

pub(super) fn okx() -> Vec<Row> {
    vec![
        // "Rate limit reached", of one endpoint.
        on([429])
            .json("/code", "50011")
            .is(Interpretation::throttled().scope(Scope::MethodRoute)),
        // "Endpoint request timeout (does not mean that the request was successful or failed)."
        on([400])
            .json("/code", "50004")
            .is(Interpretation::transient()),
    ]
}

pub(super) fn kucoin() -> Vec<Row> {
    // The milliseconds until the quota is full again.
    let reset = "gw-ratelimit-reset";
    let slow = Interpretation::throttled().delay(Location::header(reset), Unit::Ms);
    vec![on([429]).has_header(reset).is(slow)]
}

pub(super) fn gate() -> Vec<Row> {
    // "The timestamp indicating when your request limit resets", of one endpoint.
    let reset = "x-gate-ratelimit-reset-timestamp";
    let slow = Interpretation::throttled().delay(Location::header(reset), Unit::Unix);
    vec![
        on([429])
            .has_header(reset)
            .is(slow.scope(Scope::MethodRoute)),
    ]
}

pub(super) fn coinmarketcap() -> Vec<Row> {
    // The credits of a day and of a month; the other limits are of a minute.
    let spent = Interpretation::permanent().because(Reason::QuotaExhausted);
    vec![
        on([429])
            .json("/status/error_code", ["1009", "1010"])
            .is(spent),
    ]
}
