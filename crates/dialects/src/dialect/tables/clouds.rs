//! Clouds: Amazon (the JSON, query and EC2 protocols, and S3), Azure (Resource Manager, Cosmos DB, Storage, Microsoft
//! Graph), Google (Workspace, BigQuery, YouTube, Cloud APIs), Oracle Cloud.

use super::on;
use crate::dialect::{Interpretation, Location, Row};
use http::Method;
use http_retry_core::policy::rules::Value;
use http_retry_core::policy::{AWS_THROTTLES, Reason, Unit};

/// Transient failures, which may succeed a moment later.
///
/// # Source
///
/// botocore, `retries/standard.py`, `TransientRetryableChecker`.
const TRANSIENT: [&str; 2] = ["RequestTimeout", "RequestTimeoutException"];

/// Members that hold the error code in the JSON protocols.
///
/// # Source
///
/// botocore, `parsers.py`, `BaseJSONParser` and `RestJSONParser`; `Error` holds the code if the query protocol responds
/// in JSON.
const NAMED_AT: [&str; 4] = ["/__type", "/code", "/Code", "/Error/Code"];

pub(super) fn aws() -> Vec<Row> {
    let failed = || on(400..=599);
    let throttles = || Value::name(AWS_THROTTLES);
    let transient = || Value::name(TRANSIENT);
    let slow = || Interpretation::throttled().refused();
    let mut rows = vec![
        failed().head("x-amzn-errortype", throttles()).is(slow()),
        failed().xml("Code", AWS_THROTTLES).is(slow()),
    ];
    rows.extend(NAMED_AT.map(|at| failed().json(at, throttles()).is(slow())));
    rows.extend([
        on([400])
            .head("x-amzn-errortype", transient())
            .is(Interpretation::transient()),
        on([400])
            .xml("Code", TRANSIENT)
            .is(Interpretation::transient()),
    ]);
    rows.extend(NAMED_AT.map(|at| {
        on([400])
            .json(at, transient())
            .is(Interpretation::transient())
    }));
    rows
}

pub(super) fn s3() -> Vec<Row> {
    let failed = || on(400..=599);
    // Only copies and completed uploads respond 200 before their result is known; an object of the user is never judged
    // by its text.
    let written = |method| on([200]).method(method);
    let slow = || Interpretation::throttled().refused();
    let inside = ["InternalError", "ServiceUnavailable", "RequestTimeout"];
    let busy = ["SlowDown", "RequestLimitExceeded", "BandwidthLimitExceeded"];
    vec![
        failed().xml("Code", busy).is(slow()),
        failed()
            .xml("Code", ["RequestTimeout", "OperationAborted"])
            .is(Interpretation::transient()),
        written(Method::PUT).xml("Code", busy).is(slow()),
        written(Method::PUT)
            .xml("Code", inside)
            .is(Interpretation::transient()),
        written(Method::POST).xml("Code", busy).is(slow()),
        written(Method::POST)
            .xml("Code", inside)
            .is(Interpretation::transient()),
    ]
}

pub(super) fn azure() -> Vec<Row> {
    vec![
        // The server is at capacity; it does not report whether it has begun the request.
        on([503])
            .head("x-ms-error-code", "ServerBusy")
            .is(Interpretation::throttled().answered()),
        on([503])
            .xml("Code", ["ServerBusy"])
            .is(Interpretation::throttled().answered()),
        // Cosmos DB, "449 Retry With": the write conflicted with another and was not done; "it is safe to retry the
        // operation".
        on([449]).is(Interpretation::transient().refused()),
        // Cosmos DB moves a replica, or splits a partition: "these errors should always be transient". The substatus
        // distinguishes this from a resource that is gone for good.
        on([410])
            .has_head("x-ms-substatus")
            .is(Interpretation::transient()),
        // Microsoft Graph: "Your app has been throttled for exceeding the maximum bandwidth cap."
        on([509]).is(Interpretation::throttled().refused()),
        on([409])
            .json("/error/code", "AnotherOperationInProgress")
            .is(Interpretation::transient()),
    ]
}

pub(super) fn google() -> Vec<Row> {
    let reason = "/error/errors/*/reason";
    // A list of responses, as some methods stream them.
    let listed = "/*/error/errors/*/reason";
    let delay = "/error/details/*/retryDelay";
    let timed = |meaning: Interpretation| {
        let meaning = meaning.delay(Location::json(delay), Unit::S);
        meaning
            .delay(Location::json("/*/error/details/*/retryDelay"), Unit::S)
            .delay(Location::prose(), Unit::Auto)
    };
    let refused = || on([403, 429]);
    // "rateLimitExceeded", "userRateLimitExceeded": wait, and try again.
    let rates = || {
        Value::is([
            "rateLimitExceeded",
            "userRateLimitExceeded",
            "servingLimitExceeded",
            "concurrentLimitExceeded",
        ])
    };
    // A daily quota, or one that must be requested; not among the reasons that the official clients retry.
    let quotas = || {
        Value::is([
            "quotaExceeded",
            "dailyLimitExceeded",
            "dailyLimitExceededUnreg",
        ])
    };
    let spent = || Interpretation::permanent().because(Reason::QuotaExhausted);
    let inside = || Value::is(["backendError", "internalError", "badGateway"]);
    vec![
        refused().json(reason, quotas()).is(spent()),
        refused()
            .json(reason, rates())
            .is(timed(Interpretation::throttled())),
        refused()
            .json(listed, rates())
            .is(timed(Interpretation::throttled())),
        refused()
            .json("/error/details/*/reason", "RATE_LIMIT_EXCEEDED")
            .is(timed(Interpretation::throttled())),
        refused()
            .json("/error/status", "RESOURCE_EXHAUSTED")
            .is(timed(Interpretation::throttled())),
        on([429])
            .json(delay, Value::any())
            .is(timed(Interpretation::throttled())),
        on([500, 503])
            .json(delay, Value::any())
            .is(timed(Interpretation::transient())),
        on([400, 403])
            .json(reason, inside())
            .is(Interpretation::transient()),
    ]
}

pub(super) fn oci() -> Vec<Row> {
    vec![
        // A state that is expected to become right after a while. Other conflicts are not transient.
        on([409])
            .json("/code", ["IncorrectState", "ExternalServerIncorrectState"])
            .is(Interpretation::transient()),
    ]
}
