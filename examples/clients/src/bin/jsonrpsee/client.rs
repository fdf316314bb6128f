use http_retry::tower::RetryLayer;
use http_retry::{Methods, RetryPolicy};
use jsonrpsee::core::client::ClientT;
use jsonrpsee::http_client::{HttpBody, HttpClient};
use jsonrpsee::rpc_params;
use tower::{BoxError, ServiceBuilder};

pub async fn sum(url: &str) -> Result<u64, BoxError> {
    // Every call of JSON-RPC is a POST: say that this server's methods may be repeated.
    let policy = RetryPolicy::background()
        .to_builder()
        .methods(Methods::All)
        // jsonrpsee wraps hyper's errors, and asks for its own: look into them.
        .classify_error(|_: &jsonrpsee::http_client::transport::Error| ())
        .build()?;
    let retries = RetryLayer::new(policy)
        .record_body(HttpBody::new)
        .unchanged_errors();
    let client = HttpClient::builder()
        .set_http_middleware(ServiceBuilder::new().layer(retries))
        .build(url)?;
    Ok(client.request("sum", rpc_params![1, 2]).await?)
}
