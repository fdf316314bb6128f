//~ `Vec<u8>: http_body::Body`

use http::{Request, Response};
use http_retry::RetryPolicy;
use http_retry::tower::RetryLayer;
use tower::{Layer, ServiceExt};
use ui::Client;

fn main() {
    let client: Client<Request<String>, Response<Vec<u8>>> = Client::default();
    let service = RetryLayer::new(RetryPolicy::background()).layer(client);
    let _sent = service.oneshot(Request::new(String::new()));
}
