//~ no `MetricsObserver` in `report`
//~ gated behind the `metrics` feature

use http_retry::report::MetricsObserver;

fn main() {
    let _observer = MetricsObserver::new();
}
