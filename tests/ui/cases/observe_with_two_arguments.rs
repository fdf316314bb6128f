//~ closure is expected to take 1 argument, but it takes 2 arguments

use http_retry::RetryPolicy;
use http_retry::tower::RetryLayer;

fn main() {
    let _layer = RetryLayer::new(RetryPolicy::background())
        .observe(|service, event| println!("{service}: {event:?}"));
}
