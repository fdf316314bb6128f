//! Google: Workspace, BigQuery, YouTube and Cloud APIs.

use super::on;
use crate::dialect::{Interpretation, Location, Row};
use http_retry_core::policy::rules::Value;
use http_retry_core::policy::{Reason, Unit};

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
