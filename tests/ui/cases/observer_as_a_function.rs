//~ is not a function of an event
//~ pass an observer, such as `MetricsObserver`, to `.observer(..)`

use http_retry::RetryPolicy;
use http_retry::report::{Observer, RetryEvent};
use http_retry::tower::RetryLayer;

struct Log;

impl Observer for Log {
    fn on_event(&self, event: &RetryEvent<'_>) {
        println!("{}: {:?}", event.service, event.kind);
    }
}

fn main() {
    let _layer = RetryLayer::new(RetryPolicy::background()).observe(Log);
}
