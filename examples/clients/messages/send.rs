//! A service that stays on its thread.
//> `Rc<i32>` cannot be sent between threads safely

use http_retry::RetryPolicy;
use http_retry::tower::RetryLayer;
use std::convert::Infallible;
use std::rc::Rc;
use tower::util::Oneshot;
use tower::{Layer, service_fn};

fn main() {
    let count = Rc::new(0_i32);
    let service = service_fn(move |_: http::Request<String>| {
        let count = Rc::clone(&count);
        async move { Ok::<_, Infallible>(http::Response::new(count.to_string())) }
    });
    let service = RetryLayer::new(RetryPolicy::background()).layer(service);
    drop(Oneshot::new(service, http::Request::new(String::new())));
}
