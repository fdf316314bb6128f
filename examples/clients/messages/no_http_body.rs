//! Bodies that are `Clone` and no `http_body::Body`: bytes, as mocks take them.
//> the retry layer does not know how to send `http::Request<Vec<u8>>` a second time
//> `.copy_value(|body: &Vec<u8>| Some(body.clone()))` for a type that is `Clone` and no `http_body::Body`

use http_retry::RetryPolicy;
use http_retry::tower::RetryLayer;
use std::convert::Infallible;
use tower::util::Oneshot;
use tower::{Layer, service_fn};

fn main() {
    let service = service_fn(async |_: http::Request<Vec<u8>>| {
        Ok::<_, Infallible>(http::Response::new(String::new()))
    });
    let service = RetryLayer::new(RetryPolicy::background()).layer(service);
    drop(Oneshot::new(service, http::Request::new(Vec::<u8>::new())));
}
