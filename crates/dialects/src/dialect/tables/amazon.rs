//! Amazon: the JSON, query and EC2 protocols, and S3.

use super::on;
use crate::dialect::{Interpretation, Row};
use http::Method;
use http_retry_core::policy::AWS_THROTTLES;
use http_retry_core::policy::rules::Value;

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
