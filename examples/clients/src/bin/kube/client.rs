use http_retry::RetryPolicy;
use http_retry::tower::RetryLayer;
use kube::client::{Body, ClientBuilder};
use tower::buffer::BufferLayer;

pub fn client(mut config: kube::Config) -> kube::Result<kube::Client> {
    config.default_retry = false;
    let retries = RetryLayer::new(RetryPolicy::background()).copy_body(Body::try_clone);
    let builder = ClientBuilder::try_from(config)?;
    // kube's own client is not `Clone`; a buffer is.
    Ok(builder
        .with_layer(&BufferLayer::new(64))
        .with_layer(&retries)
        .build())
}
