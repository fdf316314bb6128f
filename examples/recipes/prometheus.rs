use http_retry::report::MetricsObserver;
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use http_retry::{RetryOverride, RetryPolicy};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};
use tower::{Layer, ServiceExt};

#[tokio::main]
async fn main() -> Result<(), tower::BoxError> {
    // Before the first request. With the feature `http-listener`, `install` serves the metrics.
    let seconds = Matcher::Suffix("_seconds".to_owned()); // without buckets they are summaries
    let bounds = MetricsObserver::BUCKETS.map(|bound| bound.as_secs_f64());
    let metrics = PrometheusBuilder::new()
        .set_buckets_for_metric(seconds, &bounds)?
        .install_recorder()?;

    let retries = RetryLayer::new(RetryPolicy::background())
        .observer(MetricsObserver::new())
        .runtime(ManualRuntime::new()); // yours: without this line
    let server = Script::new().status(503).status(200); // yours: a client
    let request = http::Request::get("http://api.example/")
        .extension(RetryOverride::new().service("orders")) // the label `service`
        .body(String::new())?;
    retries.layer(server).oneshot(request).await?;

    println!("{}", metrics.render());
    Ok(())
}
