use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::uri::PathAndQuery;
use http_retry::RetryPolicy;
use http_retry::tower::RetryLayer;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tower::{Layer, ServiceExt};

pub fn proxy(upstream: String) -> Router {
    let http = Client::builder(TokioExecutor::new()).build_http();
    let retries = RetryLayer::new(RetryPolicy::user_facing()).record_body(Body::new);
    let retries = retries.layer(http);
    Router::new().fallback(async move |mut request: Request| -> Response {
        let target = request
            .uri()
            .path_and_query()
            .map_or("/", PathAndQuery::as_str);
        match format!("{upstream}{target}").parse() {
            Ok(uri) => *request.uri_mut() = uri,
            Err(_) => return StatusCode::BAD_REQUEST.into_response(),
        }
        match retries.clone().oneshot(request).await {
            Ok(response) => response.map(Body::new),
            Err(_) => StatusCode::BAD_GATEWAY.into_response(),
        }
    })
}
