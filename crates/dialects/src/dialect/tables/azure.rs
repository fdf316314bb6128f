//! Azure: Resource Manager, Cosmos DB, Storage, and Microsoft Graph.

use super::on;
use crate::dialect::{Interpretation, Row};

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
