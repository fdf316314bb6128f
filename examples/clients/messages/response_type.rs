//! A client that asks for the type of its responses: alloy on hyper, without `keep_response_type`.
//> expected `Response<Incoming>`, found `Response<RetryBody<Incoming

use alloy_rpc_client::RpcClient;
use alloy_transport_http::{Http, HyperClient};
use bytes::Bytes;
use http_body_util::Full;
use http_retry::RetryPolicy;
use http_retry::tower::RetryLayer;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tower::Layer;

fn main() {
    let url = reqwest::Url::parse("http://127.0.0.1").expect("a URL");
    let http = Client::builder(TokioExecutor::new()).build_http();
    let retries = RetryLayer::new(RetryPolicy::background())
        .unchanged_errors()
        .layer(http);
    let hyper = HyperClient::<Full<Bytes>, _>::with_service(retries);
    RpcClient::new(Http::with_client(hyper, url), false);
}
