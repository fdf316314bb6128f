use alloy_rpc_client::RpcClient;
use alloy_transport_http::{Http, HyperClient};
use bytes::Bytes;
use http_body_util::Full;
use http_retry::tower::RetryLayer;
use http_retry::{ConfigError, Methods, RetryPolicy};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use reqwest::Url;
use tower::Layer;

pub fn client(url: Url) -> Result<RpcClient, ConfigError> {
    // Every call of JSON-RPC is a POST: say that this node's methods may be repeated.
    let policy = RetryPolicy::background()
        .to_builder()
        .methods(Methods::All)
        .build()?;
    let http = Client::builder(TokioExecutor::new()).build_http();
    let retries = RetryLayer::new(policy)
        .keep_response_type()
        .unchanged_errors()
        .layer(http);
    let hyper = HyperClient::<Full<Bytes>, _>::with_service(retries);
    Ok(RpcClient::new(Http::with_client(hyper, url), false))
}
