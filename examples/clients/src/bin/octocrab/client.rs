use http::Uri;
use http_retry::RetryPolicy;
use http_retry::tower::RetryLayer;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use octocrab::service::middleware::base_uri::BaseUriLayer;
use octocrab::{AuthState, OctoBody, Octocrab, OctocrabBuilder};

pub fn client(url: Uri) -> Octocrab {
    let retries = RetryLayer::new(RetryPolicy::background()).record_body(OctoBody::new);
    let built = OctocrabBuilder::new_empty()
        .with_service(Client::builder(TokioExecutor::new()).build_http())
        .with_layer(&retries)
        .with_layer(&BaseUriLayer::new(url))
        .with_auth(AuthState::None)
        .build();
    built.unwrap_or_else(|never| match never {})
}
