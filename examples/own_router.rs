//! A router of one's own: hosts in a map, each with its policy and its budget.
//!
//! Run it: `cargo run --all-features --example own_router`.
#![expect(clippy::print_stdout, reason = "an example prints")]

use futures_util::FutureExt;
use http_retry::route::{RequestHead, Route, Router};
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use http_retry::{RetryBudget, RetryPolicy, RetryReport};
use std::collections::HashMap;
use std::sync::Arc;
use tower::{Layer, ServiceExt};

/// The routes by host and port, and that of all other hosts.
struct ByHost {
    routes: HashMap<&'static str, Arc<Route>>,
    rest: Arc<Route>,
}

impl Router for ByHost {
    fn route(&self, head: &RequestHead<'_>, _: Option<&str>) -> Arc<Route> {
        let found = head.authority().and_then(|host| self.routes.get(host));
        Arc::clone(found.unwrap_or(&self.rest))
    }
}

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let few = RetryBudget::builder().capacity(5).build()?;
    let payments = Route::new(RetryPolicy::never()).service("payments");
    let reports = Route::new(RetryPolicy::background())
        .service("reports")
        .budget(few);
    let router = ByHost {
        routes: HashMap::from([
            ("payments.example", Arc::new(payments)),
            ("reports.example:8080", Arc::new(reports)),
        ]),
        rest: Arc::new(Route::new(RetryPolicy::user_facing())),
    };
    let layer = RetryLayer::routed(router).runtime(ManualRuntime::new());
    for (url, attempts) in [
        ("https://payments.example/", 1),
        ("http://reports.example:8080/", 5),
        ("https://elsewhere.example/", 2),
    ] {
        let script = (0..attempts).fold(Script::new(), |script, _| script.status(503));
        let request = http::Request::get(url).body(String::new())?;
        let call = layer.layer(script).oneshot(request).now_or_never();
        let response = call.ok_or("the script waits for nothing")??;
        let report = response
            .extensions()
            .get::<RetryReport>()
            .ok_or("no report")?;
        assert_eq!(report.attempt_count, attempts);
        println!("{url} {report}");
    }
    Ok(())
}
