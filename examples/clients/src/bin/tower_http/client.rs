use bytes::Bytes;
use http::{Method, Request};
use http_body_util::{BodyExt, Full};
use http_retry::RetryPolicy;
use http_retry::tower::RetryLayer;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use tower::{BoxError, ServiceBuilder, ServiceExt};
use tower_http::auth::AddAuthorizationLayer;
use tower_http::decompression::DecompressionLayer;
use tower_http::follow_redirect::FollowRedirectLayer;
use tower_http::trace::TraceLayer;

pub async fn send(method: Method, url: String, text: &'static str) -> Result<Bytes, BoxError> {
    let service = ServiceBuilder::new()
        .layer(TraceLayer::new_for_http())
        .layer(FollowRedirectLayer::new())
        .layer(AddAuthorizationLayer::bearer("token"))
        .layer(DecompressionLayer::new())
        .layer(RetryLayer::new(RetryPolicy::background()))
        .service(Client::builder(TokioExecutor::new()).build_http());
    let request = Request::builder().method(method).uri(url);
    let request = request.body(Full::<Bytes>::from(text))?;
    let response = service.oneshot(request).await?;
    Ok(response.into_body().collect().await?.to_bytes())
}
