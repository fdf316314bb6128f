//! Two ways to copy a body.
//> no method named `copy_body` found for struct `RetryLayer<RecordBody<

use http_retry::RetryPolicy;
use http_retry::tower::RetryLayer;
use jsonrpsee::http_client::HttpBody;

fn main() {
    let retries = RetryLayer::new(RetryPolicy::background()).record_body(HttpBody::new);
    drop(retries.copy_body(|_: &HttpBody| None));
}
