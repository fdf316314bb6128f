//! Errors that cannot be boxed, since they stay on their thread.
//> the retry layer cannot put the error `Lost` into a `Box<dyn Error + Send + Sync>`
//> this error is no `Error + Send + Sync + 'static`
//> `.unchanged_errors()` on the layer returns errors as they are

use http_retry::RetryPolicy;
use http_retry::tower::RetryLayer;
use std::rc::Rc;
use tower::util::Oneshot;
use tower::{Layer, service_fn};

struct Lost(Rc<str>);

fn main() {
    let service = service_fn(async |_: http::Request<String>| {
        Err::<http::Response<String>, _>(Lost("lost".into()))
    });
    let service = RetryLayer::new(RetryPolicy::background()).layer(service);
    drop(Oneshot::new(service, http::Request::new(String::new())));
}
