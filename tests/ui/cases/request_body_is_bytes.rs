//~ doesn't satisfy `bytes::Bytes: http_body::Body`

use bytes::Bytes;
use http::{Request, Response};
use http_retry::RetryPolicy;
use http_retry::tower::RetryLayer;
use tower::{Layer, ServiceExt};
use ui::Client;

fn main() {
    let client: Client<Request<Bytes>, Response<String>> = Client::default();
    let service = RetryLayer::new(RetryPolicy::background()).layer(client);
    let _sent = service.oneshot(Request::new(Bytes::from("text")));
}
