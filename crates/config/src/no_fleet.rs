//! A replacement for `fleet` without the feature: a document that names a fleet is rejected.

use super::builder::RetryConfigBuilder;
use super::document::FleetKeys;
use super::problems::{Diagnostics, Path};
use http_retry_core::budget::{RetryBudget, RetryBudgetBuilder};
use http_retry_services::ServicesBuilder;

#[derive(Clone)]
pub(super) enum Fleet {}

pub(super) fn join(_: &FleetKeys, _: &RetryConfigBuilder, problems: &Diagnostics) -> Option<Fleet> {
    let cause =
        "needs the feature redis of the crate http-retry, which this program was built without";
    problems.add(&Path::default().key("fleet"), &"", cause);
    None
}

pub(super) fn budget(_: Option<&Fleet>, _: &str, numbers: RetryBudgetBuilder) -> RetryBudget {
    numbers.build().unwrap_or_default()
}

pub(super) fn share(services: ServicesBuilder, _: &Fleet) -> ServicesBuilder {
    services
}
