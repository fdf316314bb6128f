use http_retry::RetryPolicy;
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use opentelemetry::trace::TracerProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use opentelemetry_stdout::SpanExporter;
use tower::{Layer, ServiceExt};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

#[tokio::main]
async fn main() -> Result<(), tower::BoxError> {
    let exporter = SpanExporter::default(); // yours: that of opentelemetry-otlp, with a batch
    let provider = SdkTracerProvider::builder()
        .with_simple_exporter(exporter)
        .build();
    let spans = tracing_opentelemetry::layer().with_tracer(provider.tracer("shop"));
    tracing_subscriber::registry().with(spans).init();

    let server = Script::new().status(503).status(200); // yours: a client
    let retries = RetryLayer::new(RetryPolicy::background()).runtime(ManualRuntime::new());
    let request = http::Request::get("http://api.example/").body(String::new())?;
    retries.layer(server).oneshot(request).await?;

    provider.shutdown()?;
    Ok(())
}
