//! The layer among other layers, on other runtimes and on real clients.

use super::stack::*;
use crate::listening::nobody;
use futures_util::FutureExt;
use http_retry::policy::Moment;
use http_retry::runtime::{Runtime, Sleep};
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use http_retry::{Class, Reach, RetryReport};
use std::future::pending;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;
use tower::timeout::error::Elapsed;
use tower::{BoxError, Layer, Service, ServiceBuilder, ServiceExt, service_fn};
use tower_test::mock::{Handle, SendResponse};
use wiremock::matchers::{body_string, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

#[test]
fn a_limit_inside_holds_no_permit_while_a_retry_waits() {
    for request in [get(), with_slot(get()).0] {
        let runtime = ManualRuntime::paused();
        let (mock, mut server) = tower_test::mock::pair::<Request, Response>();
        let mut service = ServiceBuilder::new()
            .layer(RetryLayer::new(policy().build().unwrap()).runtime(runtime.clone()))
            .concurrency_limit(1)
            .service(mock);

        let mut first = Box::pin(service.clone().oneshot(request));
        assert!((&mut first).now_or_never().is_none());
        assert!(service.ready().now_or_never().is_none());
        reply(&mut server).send_response(status(503));
        assert!((&mut first).now_or_never().is_none());
        assert!(service.ready().now_or_never().is_some());
    }
}

#[test]
fn a_retry_takes_its_turn_at_a_concurrency_limit_inside() {
    let runtime = ManualRuntime::paused();
    let (mock, mut server) = tower_test::mock::pair::<Request, Response>();
    let service = ServiceBuilder::new()
        .layer(RetryLayer::new(policy().build().unwrap()).runtime(runtime.clone()))
        .concurrency_limit(1)
        .service(mock);

    let mut first = Box::pin(service.clone().oneshot(get()));
    assert!((&mut first).now_or_never().is_none());
    reply(&mut server).send_response(status(503));
    assert!((&mut first).now_or_never().is_none());
    let mut second = Box::pin(service.oneshot(get()));
    assert!((&mut second).now_or_never().is_none());
    let second_reply = reply(&mut server);
    runtime.advance(DELAY);
    assert!((&mut first).now_or_never().is_none());
    assert!(server.poll_request().is_pending());

    second_reply.send_response(status(200));
    assert!(second.now_or_never().unwrap().is_ok());
    assert!((&mut first).now_or_never().is_none());
    reply(&mut server).send_response(status(200));
    assert_eq!(first.now_or_never().unwrap().unwrap().status(), 200);
}

#[tokio::test(start_paused = true)]
async fn a_timeout_inside_bounds_an_attempt_once_it_is_known() {
    let policy = policy().classify_error(|_: &Elapsed| (Class::Transient, Reach::Ambiguous));
    let attempts = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&attempts);
    let service = ServiceBuilder::new()
        .layer(RetryLayer::new(policy.build().unwrap()))
        .timeout(SECOND)
        .service(service_fn(move |_: Request| {
            counted.fetch_add(1, Ordering::Relaxed);
            pending::<Result<Response, BoxError>>()
        }));
    assert!(service.oneshot(get()).await.unwrap_err().is::<Elapsed>());
    assert_eq!(attempts.load(Ordering::Relaxed), 3);
}

#[test]
fn a_runtime_of_ones_own_needs_no_tokio() {
    assert!(tokio::runtime::Handle::try_current().is_err());
    let clock = Clock::default();
    let client = Script::new()
        .status(503)
        .error(std::io::ErrorKind::BrokenPipe)
        .status(200);
    let service = ServiceBuilder::new()
        .layer(
            RetryLayer::new(policy().deadline(SECOND * 60).build().unwrap()).runtime(clock.clone()),
        )
        .service(client.clone());
    let response = service.oneshot(get()).now_or_never().unwrap().unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(client.calls().len(), 3);
    assert_eq!(clock.now(), DELAY * 2);
}

#[tokio::test]
async fn a_reqwest_client_is_a_service_to_retry_on() {
    let server = MockServer::start().await;
    answer_once(&server, 503, "sorry").await;
    answer_once(&server, 200, "done").await;
    let mut service = ServiceBuilder::new()
        .layer(RetryLayer::new(policy().build().unwrap()).runtime(ManualRuntime::new()))
        .service(client());
    let url = format!("{}/a", server.uri()).parse().unwrap();
    let mut request = reqwest::Request::new(reqwest::Method::PUT, url);
    *request.body_mut() = Some("all of it".into());

    let sent = service.ready().await.unwrap().call(request);
    let response: reqwest::Response = sent.await.unwrap();
    let report = response.extensions().get::<RetryReport>().unwrap();
    assert_eq!(report.attempt_count, 2);
    assert_eq!(response.url().path(), "/a");
    assert_eq!(response.text().await.unwrap(), "done");
    assert_eq!(server.received_requests().await.unwrap().len(), 2);
}

#[tokio::test]
async fn the_last_failure_of_a_reqwest_client_comes_back_whole() {
    let server = MockServer::start().await;
    for body in ["a", "b", "c"] {
        answer_once(&server, 503, body).await;
    }
    let layer = RetryLayer::new(policy().build().unwrap()).runtime(ManualRuntime::new());
    let url = format!("{}/a", server.uri()).parse().unwrap();
    let mut request = reqwest::Request::new(reqwest::Method::PUT, url);
    *request.body_mut() = Some("all of it".into());
    let response = layer.layer(client()).oneshot(request).await.unwrap();
    assert_eq!(response.status(), 503);
    assert_eq!(response.text().await.unwrap(), "c");
}

#[tokio::test]
async fn an_error_of_a_reqwest_client_comes_back_as_it_was() {
    let layer = RetryLayer::new(policy().build().unwrap()).runtime(ManualRuntime::new());
    let (_socket, address) = nobody();
    let url = format!("http://{address}/");
    let request = reqwest::Request::new(reqwest::Method::GET, url.parse().unwrap());
    let again = request.try_clone().unwrap();
    let error = layer.layer(client()).oneshot(request).await.unwrap_err();
    let error = error.downcast::<reqwest::Error>().unwrap();
    assert!(error.is_connect());
    let unchanged = layer.unchanged_errors().layer(client());
    let error: reqwest::Error = unchanged.oneshot(again).await.unwrap_err();
    assert!(error.is_connect());
}

/// A clock in the style of one's own: a wait is over at once, and time has passed.
#[derive(Clone, Default)]
struct Clock(Arc<Mutex<Duration>>);

impl Runtime for Clock {
    fn now(&self) -> Duration {
        *self.0.lock().unwrap()
    }

    fn moment(&self) -> Moment {
        Moment::new(self.now())
    }

    fn sleep(&self, duration: Duration) -> Sleep {
        let clock = self.clone();
        Box::pin(async move { *clock.0.lock().unwrap() += duration })
    }
}

fn client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

async fn answer_once(server: &MockServer, status: u16, text: &str) {
    Mock::given(method("PUT"))
        .and(path("/a"))
        .and(body_string("all of it"))
        .respond_with(ResponseTemplate::new(status).set_body_string(text))
        .up_to_n_times(1)
        .mount(server)
        .await;
}

fn reply(server: &mut Handle<Request, Response>) -> SendResponse<Response> {
    match server.poll_request() {
        Poll::Ready(Some((_, reply))) => reply,
        _ => panic!("nothing was sent"),
    }
}
