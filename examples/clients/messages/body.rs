//! Bodies that are no `Clone`: kube's.
//> the retry layer does not know how to send `http::
//> Request<kube::client::Body>` a second time
//> this request's body is not `Clone + http_body::Body`
//> tell it how, on the layer: `.copy_body(Body::try_clone)` where the body can copy itself (kube)
//> `.record_body(Body::new)` where a body can be made of any other (tonic, jsonrpsee, axum, octocrab)

use http_retry::RetryPolicy;
use http_retry::tower::RetryLayer;
use kube::client::ClientBuilder;
use tower::buffer::BufferLayer;

fn main() -> kube::Result<()> {
    let config = kube::Config::new("http://127.0.0.1".parse().expect("a URL"));
    let retries = RetryLayer::new(RetryPolicy::background());
    let builder = ClientBuilder::try_from(config)?.with_layer(&BufferLayer::new(64));
    builder.with_layer(&retries).build();
    Ok(())
}
