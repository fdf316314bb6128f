//! Clouds: Amazon (the JSON, query and EC2 protocols, and S3), Azure (Resource Manager, Cosmos DB, Storage, Microsoft
//! Graph), Google (Workspace, BigQuery, YouTube, Maps, Cloud APIs), Oracle Cloud, Alibaba Cloud, Tencent Cloud.

use super::{MINUTE, on, says};
use crate::dialect::{Interpretation, Location, Row, RowBuilder};
use http::{HeaderName, Method};
use http_retry_core::policy::{AWS_THROTTLES, Reason, Scope, Unit};
use http_retry_rules::{Condition, Value};

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

/// Throttles of one table, shard, hosted zone or transaction, which leave other calls of the account alone.
const OF_ONE_RESOURCE: [&str; 3] = [
    "ProvisionedThroughputExceededException",
    "PriorRequestNotComplete",
    "TransactionInProgressException",
];

/// Holds for errors with one of these names, wherever a protocol has them.
fn is_named(names: [&'static str; 3]) -> Condition {
    let head = HeaderName::from_static("x-amzn-errortype");
    let in_the_head = Condition::head(head, Value::name(names));
    let at = NAMED_AT.map(|at| Condition::json(at, Value::name(names)));
    let all = at
        .into_iter()
        .chain([in_the_head, Condition::xml("Code", names)]);
    Condition::any(all.flatten())
}

pub(super) fn aws() -> Vec<Row> {
    let failed = || on(400..=599);
    let throttles = || Value::name(AWS_THROTTLES);
    let transient = || Value::name(TRANSIENT);
    let slow = || {
        let slow = Interpretation::throttled().refused();
        slow.scope_where(is_named(OF_ONE_RESOURCE), Scope::Request)
    };
    let mut rows = vec![
        failed().header("x-amzn-errortype", throttles()).is(slow()),
        failed().xml("Code", AWS_THROTTLES).is(slow()),
    ];
    rows.extend(NAMED_AT.map(|at| failed().json(at, throttles()).is(slow())));
    rows.extend([
        on([400])
            .header("x-amzn-errortype", transient())
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
    // "You can send 3,500 PUT/COPY/POST/DELETE or 5,500 GET/HEAD requests per second per partitioned prefix."
    let slow = || Interpretation::throttled().refused().scope(Scope::Request);
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
            .header("x-ms-error-code", "ServerBusy")
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
            .has_header("x-ms-substatus")
            .is(Interpretation::transient()),
        // Microsoft Graph: "Your app has been throttled for exceeding the maximum bandwidth cap."
        on([509]).is(Interpretation::throttled().refused()),
        on([409])
            .json("/error/code", "AnotherOperationInProgress")
            .is(Interpretation::transient()),
        // Cosmos DB: the request units of one container.
        on([429])
            .path("/dbs/*/colls/*")
            .is(Interpretation::throttled().scope_from(Location::path_segment(3))),
        // Resource Manager: the limits of one subscription.
        on([429])
            .path("/subscriptions/*")
            .is(Interpretation::throttled().scope_from(Location::path_segment(1))),
    ]
}

pub(super) fn google() -> Vec<Row> {
    let reason = "/error/errors/*/reason";
    // A list of responses, as some methods stream them.
    let listed = "/*/error/errors/*/reason";
    let delay = "/error/details/*/retryDelay";
    let timed = |meaning: Interpretation| {
        let meaning = meaning.delay(Location::json(delay), Unit::S);
        // The last is that of Google Ads.
        meaning
            .delay(Location::json("/*/error/details/*/retryDelay"), Unit::S)
            .delay(Location::prose(), Unit::Auto)
            .delay(
                Location::json("/error/details/*/errors/*/details/quotaErrorDetails/retryDelay"),
                Unit::S,
            )
    };
    // Cloud Storage: "one update per second" of an object, and a bucket in two seconds for a project.
    let object = says(["rate limit for object mutation"]);
    let buckets = says(["creating and deleting buckets"]);
    let slow = || {
        let slow = timed(Interpretation::throttled()).scope_where(object.clone(), Scope::Request);
        slow.scope_where(buckets.clone(), Scope::MethodRoute)
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
    let mut rows = maps();
    rows.extend([
        refused().json(reason, quotas()).is(spent()),
        // The name of the quota, such as `ReadsPerDayPerProject`.
        refused()
            .json(
                "/error/details/*/metadata/quota_limit",
                Value::has(["PerDay"]),
            )
            .is(spent()),
        // Cloud Messaging: "Use exponential backoff with a minimum initial delay of 1 minute."
        on([429])
            .json("/error/details/*/errorCode", "QUOTA_EXCEEDED")
            .is(slow().at_least(MINUTE)),
        refused().json(reason, rates()).is(slow()),
        refused().json(listed, rates()).is(slow()),
        refused()
            .json("/error/details/*/reason", "RATE_LIMIT_EXCEEDED")
            .is(slow()),
        refused()
            .json("/error/status", "RESOURCE_EXHAUSTED")
            .is(slow()),
        on([429]).json(delay, Value::any()).is(slow()),
        // The XML API of Cloud Storage.
        on([429]).xml("Code", ["SlowDown"]).is(slow()),
        on([500, 503])
            .json(delay, Value::any())
            .is(timed(Interpretation::transient())),
        on([400, 403])
            .json(reason, inside())
            .is(Interpretation::transient()),
    ]);
    rows
}

/// The web services of Maps, which respond with 200 to a failure.
fn maps() -> Vec<Row> {
    let status =
        |status: &str| -> RowBuilder { on([200]).path("/maps/api/*").json("/status", status) };
    let spent = Interpretation::permanent().because(Reason::QuotaExhausted);
    vec![
        // No billing, or a cap of the caller's own.
        status("OVER_DAILY_LIMIT").is(spent),
        status("OVER_QUERY_LIMIT").is(Interpretation::throttled()),
        // "The request may succeed if you try again."
        status("UNKNOWN_ERROR").is(Interpretation::transient()),
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

pub(super) fn alibaba_cloud() -> Vec<Row> {
    vec![
        // "Request was denied due to user flow control.", at 400 and other statuses.
        on(400..=599)
            .json("/Code", Value::starts("Throttling"))
            .is(Interpretation::throttled()),
    ]
}

pub(super) fn tencent_cloud() -> Vec<Row> {
    // "The HTTP status code is 200 regardless of whether the call succeeds."
    let error = |code: &str| {
        let called = on([200]);
        called.json("/Response/Error/Code", Value::starts(code))
    };
    vec![
        error("RequestLimitExceeded").is(Interpretation::throttled()),
        error("InternalError").is(Interpretation::transient()),
    ]
}
