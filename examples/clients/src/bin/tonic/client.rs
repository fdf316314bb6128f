use http_retry::dialect::Dialect;
use http_retry::tower::RetryLayer;
use http_retry::{Methods, RetryPolicy};
use tonic::body::Body;
use tonic::transport::Channel;
use tonic_health::pb::health_client::HealthClient;
use tonic_health::pb::{HealthCheckRequest, health_check_response::ServingStatus};
use tower::{BoxError, Layer};

pub async fn check(url: String, service: &str) -> Result<ServingStatus, BoxError> {
    let policy = RetryPolicy::background().to_builder();
    // Every call of gRPC is a POST: say that this service's calls may be repeated.
    let policy = policy
        .dialect(Dialect::grpc())
        .methods(Methods::All)
        .build()?;
    let retries = RetryLayer::new(policy).record_body(Body::new);
    let channel = Channel::from_shared(url)?.connect_lazy();
    let mut client = HealthClient::new(retries.layer(channel));
    let service = service.to_owned();
    let answer = client.check(HealthCheckRequest { service }).await?;
    Ok(answer.into_inner().status())
}
