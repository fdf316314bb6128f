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

pub(super) fn aws() -> Dialect {
    let failed = || Row::when().status(400..=599);
    let throttles = || Value::name(AWS_THROTTLES);
    let slow = || Meaning::throttled().refused();
    Dialect::built_in("aws", "boto/botocore retries/standard.py").rows([
        failed().head("x-amzn-errortype", throttles()).is(slow()),
        failed().json("/__type", throttles()).is(slow()),
        failed().json("/code", throttles()).is(slow()),
        failed().json("/Error/Code", throttles()).is(slow()),
        failed().xml("Code", AWS_THROTTLES).is(slow()),
        Row::when()
            .status(400)
            .head("x-amzn-errortype", Value::name(TRANSIENT))
            .is(Meaning::transient()),
        Row::when()
            .status(400)
            .json("/__type", Value::name(TRANSIENT))
            .is(Meaning::transient()),
        Row::when()
            .status(400)
            .xml("Code", TRANSIENT)
            .is(Meaning::transient()),
    ])
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
