//~ expected `RetryPolicy`, found `RetryPolicyBuilder`

use http_retry::RetryPolicy;
use http_retry::tower::RetryLayer;

fn main() {
    let _layer = RetryLayer::new(RetryPolicy::builder().max_retries(2));
}
