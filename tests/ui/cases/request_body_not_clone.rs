//~ doesn't satisfy `UnsyncBoxBody<bytes::Bytes, Infallible>: Clone`

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use http_retry::RetryPolicy;
use http_retry::tower::RetryLayer;
use std::convert::Infallible;
use tower::{Layer, ServiceExt};
use ui::Client;

type Body = UnsyncBoxBody<Bytes, Infallible>;

fn main() {
    let client: Client<Request<Body>, Response<String>> = Client::default();
    let service = RetryLayer::new(RetryPolicy::background()).layer(client);
    let request = Request::new(Full::new(Bytes::from("text")).boxed_unsync());
    let _sent = service.oneshot(request);
}
