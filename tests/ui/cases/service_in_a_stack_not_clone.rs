//~ the trait `Clone` is not implemented for `BoxService<
//~ .service(client);

use http::{Request, Response};
use http_retry::RetryPolicy;
use http_retry::tower::RetryLayer;
use tower::util::BoxService;
use tower::{ServiceBuilder, ServiceExt};
use ui::Client;

fn main() {
    let client: Client<Request<String>, Response<String>> = Client::default();
    let client = BoxService::new(client);
    let service = ServiceBuilder::new()
        .layer(RetryLayer::new(RetryPolicy::background()))
        .service(client);
    let _sent = service.oneshot(Request::new(String::new()));
}
