//~ expected `ClientBuilder`, found `Client`

use http_retry::RetryPolicy;
use http_retry::reqwest::{RetryMiddleware, build};
use reqwest::redirect::Policy;

fn main() {
    let retries = RetryMiddleware::new(RetryPolicy::background());
    let _client = build(reqwest::Client::default(), Policy::default(), retries);
}
