//~ this is a setting of the policy: set it before the policy is built
//~ write `RetryPolicy::builder()` or `policy.to_builder()`, then this, then `.build()?`

use http_retry::RetryPolicy;
use http_retry::reqwest::RetryMiddleware;
use http_retry::tower::RetryLayer;

fn main() {
    let _retries = RetryMiddleware::new(RetryPolicy::background()).max_retries(2);
    let _layer = RetryLayer::new(RetryPolicy::background()).max_retries(2);
}
