//~ the trait bound `Session: Clone` is not satisfied
//~ .layer(session);

use http::{Request, Response};
use http_retry::RetryPolicy;
use http_retry::tower::RetryLayer;
use std::convert::Infallible;
use std::future::Pending;
use std::task::{Context, Poll};
use tower::{Layer, Service, ServiceExt};
use ui::Client;

struct Session(Client<Request<String>, Response<String>>);

impl Service<Request<String>> for Session {
    type Response = Response<String>;
    type Error = Infallible;
    type Future = Pending<Result<Response<String>, Infallible>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<String>) -> Self::Future {
        self.0.call(request)
    }
}

fn main() {
    let session = Session(Client::default());
    let service = RetryLayer::new(RetryPolicy::background()).layer(session);
    let _sent = service.oneshot(Request::new(String::new()));
}
