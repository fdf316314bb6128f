use http_retry_ureq::{Retries, RetryPolicy};
use std::time::Duration;
use ureq::Agent;

pub fn client() -> Agent {
    let retries = Retries::new(RetryPolicy::background());
    retries.build(|config| config.timeout_connect(Some(Duration::from_secs(5))))
}
