//~ doesn't satisfy `Failure: std::error::Error`

use http::{Request, Response};
use http_retry::RetryPolicy;
use http_retry::tower::RetryLayer;
use tower::{Layer, ServiceExt};
use ui::Client;

struct Failure;

fn main() {
    let client: Client<Request<String>, Response<String>, Failure> = Client::default();
    let service = RetryLayer::new(RetryPolicy::background()).layer(client);
    let _sent = service.oneshot(Request::new(String::new()));
}
