//~ doesn't satisfy `Failure: std::error::Error`

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_retry::RetryPolicy;
use http_retry::tower::RetryLayer;
use tower::{Layer, ServiceExt};
use ui::Client;

struct Failure;

fn main() {
    let client: Client<Request<String>, Response<UnsyncBoxBody<Bytes, Failure>>> =
        Client::default();
    let service = RetryLayer::new(RetryPolicy::background()).layer(client);
    let _sent = service.oneshot(Request::new(String::new()));
}
