//! A service that is no longer ready when the retry is due.

use super::super::server::{Act, Answer, FaultServer};
use super::clients::{Hyper, SECOND, Setup, fixed, get, hyper, told};
use crate::in_time::in_time;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use http_retry::tower::{Retry, RetryLayer};
use http_retry::{RetryBody, RetryReport, StopReason};
use hyper::body::Incoming;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tower::{BoxError, Layer, Service, ServiceExt};

/// Ready for one call, and broken from then on.
#[derive(Clone)]
struct Once {
    client: Hyper,
    used: Arc<AtomicBool>,
}

impl Once {
    fn new() -> Self {
        Self {
            client: hyper(),
            used: Arc::default(),
        }
    }
}

impl Service<Request<Full<Bytes>>> for Once {
    type Response = Response<Incoming>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Incoming>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        if self.used.load(Ordering::Relaxed) {
            Poll::Ready(Err("not ready any more".into()))
        } else {
            Poll::Ready(Ok(()))
        }
    }

    fn call(&mut self, request: Request<Full<Bytes>>) -> Self::Future {
        self.used.store(true, Ordering::Relaxed);
        let call = self.client.request(request);
        Box::pin(async { call.await.map_err(Into::into) })
    }
}

/// Sends one request, and gives its report too.
async fn call(
    layer: RetryLayer,
    server: &FaultServer,
) -> (Result<Response<RetryBody<Incoming>>, BoxError>, RetryReport) {
    let service: Retry<Once> = layer.layer(Once::new());
    let slot = RetryReport::slot();
    let mut request = get(server.url("/")).map(Full::new);
    request.extensions_mut().insert(slot.clone());
    let result = in_time(service.oneshot(request)).await;
    (result, slot.take().unwrap())
}

#[tokio::test]
async fn the_caller_gets_the_last_answer_whole_and_the_token_is_back() {
    let sorry = Answer::new(503).header("x-why", "busy").body("sorry");
    let server = FaultServer::start([Act::Answer(sorry)]).await;
    let setup = Setup::new(fixed(2, Duration::ZERO));
    let (result, report) = call(setup.layer(), &server).await;
    let response = result.unwrap();
    assert_eq!(response.headers()["x-why"], "busy");
    assert_eq!(response.extensions().get(), Some(&report));
    let told = told(response).await.unwrap();
    assert_eq!((told.status.as_u16(), &told.body[..]), (503, &b"sorry"[..]));
    assert_eq!(
        (report.stop, report.attempt_count),
        (StopReason::NotReady, 1)
    );
    assert_eq!((setup.tokens(), server.received().len()), (20, 1));
}

#[tokio::test]
async fn so_it_does_where_nobody_asked_for_a_report() {
    let server = FaultServer::start([Act::status(503)]).await;
    let setup = Setup::new(fixed(2, Duration::ZERO));
    let service = setup.layer().layer(Once::new());
    let request = get(server.url("/")).map(Full::new);
    let response = in_time(service.oneshot(request)).await.unwrap();
    let told = told(response).await.unwrap();
    assert_eq!(
        (told.status.as_u16(), &told.body[..]),
        (503, &b"answer"[..])
    );
    assert_eq!(told.report.unwrap().stop, StopReason::NotReady);
    assert_eq!(setup.tokens(), 20);
}

#[tokio::test]
async fn the_caller_gets_the_last_error_as_it_was() {
    let server = FaultServer::start([Act::CloseAfterRequest]).await;
    let setup = Setup::new(fixed(2, Duration::ZERO));
    let (result, report) = call(setup.layer(), &server).await;
    let error = result.unwrap_err();
    assert!(error.is::<hyper_util::client::legacy::Error>(), "{error:?}");
    assert_eq!(report.stop, StopReason::NotReady);
    assert_eq!(setup.tokens(), 20);
}

#[tokio::test]
async fn after_a_dropped_answer_the_caller_gets_the_services_word() {
    let server = FaultServer::start([Act::status(503)]).await;
    let setup = Setup::new(fixed(2, Duration::ZERO));
    let layer = setup.layer().drain_before_retry("answer".len() - 1, SECOND);
    let (result, report) = call(layer, &server).await;
    assert_eq!(result.unwrap_err().to_string(), "not ready any more");
    assert_eq!(report.stop, StopReason::NotReady);
    assert_eq!(setup.tokens(), 20);
}
