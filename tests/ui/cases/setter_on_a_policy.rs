//~ a `RetryPolicy` does not change: set this on its builder
//~ write `policy.to_builder()`, then the setters, then `.build()?`

use http_retry::RetryPolicy;

fn main() {
    let _policy = RetryPolicy::background().max_retries(2);
}
