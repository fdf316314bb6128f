use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use http_retry::reqwest::{RetryMiddleware, build};
use http_retry::tower::RetryLayer;
use http_retry::{ReplayBody, RetryBudget, RetryPolicy};
use reqwest::redirect::Policy;
use std::convert::Infallible;
use std::error::Error;
use tower::util::BoxCloneService;
use tower::{Layer, Service, ServiceBuilder, ServiceExt};
use ui::Client;

type Body = UnsyncBoxBody<Bytes, Box<dyn Error + Send + Sync>>;

struct Failure;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let policy = RetryPolicy::background()
        .to_builder()
        .max_retries(2)
        .build()?;
    let budget = RetryBudget::builder().capacity(10).build()?;
    let layer = RetryLayer::new(policy.clone())
        .budget(budget)
        .observe(|event| println!("{}: {:?}", event.service, event.kind));
    let retries = RetryMiddleware::new(policy);
    build(reqwest::Client::builder(), Policy::default(), retries)?.build();

    let client: Client<Request<Body>, Response<String>> = Client::default();
    let service = layer
        .clone()
        .record_body(|record: ReplayBody<Body>| record.boxed_unsync());
    let body = Full::new(Bytes::from("text"))
        .map_err(Into::into)
        .boxed_unsync();
    service.layer(client).oneshot(Request::new(body)).await?;

    let client: Client<Request<Bytes>, Response<String>> = Client::default();
    let service = layer.clone().copy_value(|body: &Bytes| Some(body.clone()));
    service
        .layer(client)
        .oneshot(Request::new(Bytes::from("text")))
        .await?;

    let client: Client<Request<String>, Response<Vec<u8>>> = Client::default();
    let client = client.map_response(|response| response.map(Bytes::from).map(Full::new));
    layer
        .layer(client)
        .oneshot(Request::new(String::new()))
        .await?;

    let client: Client<Request<String>, Response<String>, Failure> = Client::default();
    let sent = layer
        .clone()
        .unchanged_errors()
        .layer(client)
        .oneshot(Request::new(String::new()));
    let _: Result<_, Failure> = sent.await;

    let client: Client<Request<String>, Response<String>, Infallible> = Client::default();
    let client = BoxCloneService::new(client);
    let mut service = ServiceBuilder::new().layer(layer).service(client);
    // The request's type is known from the client alone.
    service
        .ready()
        .await?
        .call(Request::new(String::new()))
        .await?;
    Ok(())
}
