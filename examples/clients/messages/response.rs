//! Responses that the layer cannot read: their body is no `Unpin`.
//> is not a response that the retry layer can read
//> `BodyExt::boxed_unsync` makes any body `Unpin`

use http_retry::RetryPolicy;
use http_retry::tower::RetryLayer;
use std::convert::Infallible;
use tower::util::Oneshot;
use tower::{Layer, service_fn};

fn main() {
    let service = service_fn(async |_: http::Request<String>| {
        Ok::<_, Infallible>(http::Response::new(vec![1_u8]))
    });
    let service = RetryLayer::new(RetryPolicy::background()).layer(service);
    drop(Oneshot::new(service, http::Request::new(String::new())));
}
