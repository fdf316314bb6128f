//~ expected `RetryBudget`, found `Result<RetryBudget, ConfigError>`

use http_retry::tower::RetryLayer;
use http_retry::{RetryBudget, RetryPolicy};

fn main() {
    let budget = RetryBudget::builder().capacity(10).build();
    let _layer = RetryLayer::new(RetryPolicy::background()).budget(budget);
}
