use http_body_util::BodyExt;
use http_retry::RetryPolicy;
use http_retry::tower::{Retry, RetryLayer};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use object_store::client::{
    ClientOptions, HttpClient, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
    HttpResponse, HttpResponseBody, HttpService,
};
use object_store::http::{HttpBuilder, HttpStore};
use object_store::{Result, RetryConfig};
use tower::{BoxError, Layer, ServiceExt};

#[derive(Debug)]
struct Retries(Retry<Client<HttpConnector, HttpRequestBody>>);

#[async_trait::async_trait]
impl HttpService for Retries {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let response = self.0.clone().oneshot(request).await.map_err(failed)?;
        Ok(response.map(|body| HttpResponseBody::new(body.map_err(failed))))
    }
}

fn failed(error: impl Into<BoxError>) -> HttpError {
    HttpError::new_boxed(HttpErrorKind::Unknown, error.into())
}

#[derive(Debug)]
struct Connector;

impl object_store::client::HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> Result<HttpClient> {
        let http = Client::builder(TokioExecutor::new()).build_http();
        let retries = RetryLayer::new(RetryPolicy::background()).layer(http);
        Ok(HttpClient::new(Retries(retries)))
    }
}

pub fn store(url: &str) -> Result<HttpStore> {
    let own = RetryConfig {
        max_retries: 0,
        ..RetryConfig::default()
    };
    let store = HttpBuilder::new().with_url(url).with_retry(own);
    store.with_http_connector(Connector).build()
}
