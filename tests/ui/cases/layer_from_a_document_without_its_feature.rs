//~ named `from_config` found for struct `RetryLayer

use http_retry::tower::RetryLayer;

fn main() {
    let _layer = RetryLayer::from_config(&());
}
