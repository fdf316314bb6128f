//! Amazon: the JSON, query and EC2 protocols, and S3.

use crate::dialect::{Dialect, Meaning, Row};
use crate::policy::AWS_THROTTLES;
use crate::policy::rules::Value;
use http::Method;

/// Failures that a moment later are none.
///
/// # Source
///
/// botocore, `retries/standard.py`, `TransientRetryableChecker`.
const TRANSIENT: [&str; 2] = ["RequestTimeout", "RequestTimeoutException"];

/// Where the JSON protocols name an error.
///
/// # Source
///
/// botocore, `parsers.py`, `BaseJSONParser` and `RestJSONParser`; `Error` holds the code where the query protocol answers
/// in JSON.
const NAMED_AT: [&str; 4] = ["/__type", "/code", "/Code", "/Error/Code"];

pub(super) fn aws() -> Dialect {
    let failed = || Row::when().status(400..=599);
    let refused = || Row::when().status(400);
    let throttles = || Value::name(AWS_THROTTLES);
    let transient = || Value::name(TRANSIENT);
    let slow = || Meaning::throttled().refused();
    let throttled_at = NAMED_AT.map(|at| failed().json(at, throttles()).is(slow()));
    let transient_at = NAMED_AT.map(|at| refused().json(at, transient()).is(Meaning::transient()));
    let throttled = [
        failed().head("x-amzn-errortype", throttles()).is(slow()),
        failed().xml("Code", AWS_THROTTLES).is(slow()),
    ];
    let late = [
        refused()
            .head("x-amzn-errortype", transient())
            .is(Meaning::transient()),
        refused().xml("Code", TRANSIENT).is(Meaning::transient()),
    ];
    Dialect::built_in("aws", "boto/botocore retries/standard.py")
        .rows(throttled)
        .rows(throttled_at)
        .rows(late)
        .rows(transient_at)
}

pub(super) fn s3() -> Dialect {
    let failed = || Row::when().status(400..=599);
    // Only copies and completed uploads answer 200 before they know how it ends; an object of the user is never judged
    // by its text.
    let written = |method| Row::when().status(200).method(method);
    let slow = || Meaning::throttled().refused();
    let inside = ["InternalError", "ServiceUnavailable", "RequestTimeout"];
    let busy = ["SlowDown", "RequestLimitExceeded", "BandwidthLimitExceeded"];
    Dialect::built_in(
        "s3",
        "docs.aws.amazon.com/AmazonS3, ErrorBestPractices and error codes",
    )
    .rows([
        failed().xml("Code", busy).is(slow()),
        failed()
            .xml("Code", ["RequestTimeout", "OperationAborted"])
            .is(Meaning::transient()),
        written(Method::PUT).xml("Code", busy).is(slow()),
        written(Method::PUT)
            .xml("Code", inside)
            .is(Meaning::transient()),
        written(Method::POST).xml("Code", busy).is(slow()),
        written(Method::POST)
            .xml("Code", inside)
            .is(Meaning::transient()),
    ])
}
