//! Azure: Resource Manager, Cosmos DB, Storage, and Microsoft Graph.

use crate::dialect::{Dialect, Meaning, Row};

pub(super) fn azure() -> Dialect {
    Dialect::built_in(
        "azure",
        "learn.microsoft.com: Cosmos DB status codes, Storage error codes, Resource Manager throttling; azure-sdk-for-java, \
         azure-cosmos/docs/StatusCodes.md; microsoft-graph-docs, concepts/errors.md",
    )
    .rows([
        // The server cannot take more; whether it has begun it does not say.
        Row::when()
            .status(503)
            .head("x-ms-error-code", "ServerBusy")
            .is(Meaning::throttled().answered()),
        Row::when()
            .status(503)
            .xml("Code", ["ServerBusy"])
            .is(Meaning::throttled().answered()),
        // Cosmos DB, "449 Retry With": the write met another and was not done; "it is safe to retry the operation".
        Row::when().status(449).is(Meaning::transient().refused()),
        // Cosmos DB moves a replica, or splits a partition: "these errors should always be transient". The substatus tells it
        // from what is gone for good.
        Row::when()
            .status(410)
            .has_head("x-ms-substatus")
            .is(Meaning::transient()),
        // Microsoft Graph: "Your app has been throttled for exceeding the maximum bandwidth cap."
        Row::when().status(509).is(Meaning::throttled().refused()),
        Row::when()
            .status(409)
            .json("/error/code", "AnotherOperationInProgress")
            .is(Meaning::transient()),
    ])
}
