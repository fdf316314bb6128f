//! Attempts that go on where the retry layer does not poll them: their redirects count as anybody's.

use super::super::server::{Act, Answer, FaultServer};
use super::client::{Log, State, layer, listener, order, plain};
use super::without_waits;
use crate::in_time::in_time;
use bytes::Bytes;
use http::{Method, StatusCode};
use http_retry::tower::RetryLayer;
use http_retry::{Reach, RetryOverride, RetryPolicy, StopReason};
use reqwest::{Request, Response};
use std::future::Future;
use tower::buffer::Buffer;
use tower::{BoxError, Layer, Service, ServiceExt, service_fn};

/// Redirects a request to its own URL, and is busy then.
async fn round(path: &str) -> FaultServer {
    let back = Answer::new(303).header("location", path);
    FaultServer::start([Act::Answer(back), Act::status(429)]).await
}

/// Is busy once.
async fn busy() -> FaultServer {
    FaultServer::start([Act::status(429)]).await
}

/// Sends each request by a task of its own.
fn spawning<S>(
    service: S,
) -> impl Service<Request, Response = Response, Error = BoxError, Future: Send> + Clone + Send
where
    S: Service<Request, Response = Response> + Clone + Send + 'static,
    S::Error: Into<BoxError> + Send,
    S::Future: Send,
{
    service_fn(move |request| {
        let sent = tokio::spawn(service.clone().oneshot(request));
        async move { sent.await?.map_err(Into::into) }
    })
}

/// How an order ends, and how many requests the server has then.
async fn order_through<S>(
    retries: RetryLayer,
    service: S,
    (server, path): (&FaultServer, &str),
) -> Ended
where
    S: Service<Request, Response = Response> + Clone + Send + 'static,
    S::Error: Into<BoxError> + Send,
    S::Future: Send,
{
    let log = Log::default();
    let service = retries.observe(listener(&log)).layer(service);
    let request = order(Method::POST, &server.url(path));
    let answer = in_time(service.oneshot(request)).await;
    answer.unwrap();
    let report = log.lock().unwrap().take().unwrap();
    (
        report.stop,
        report.attempts[0].reach,
        server.received().len(),
    )
}

type Ended = (StopReason, Reach, usize);

const UNKNOWN: Ended = (StopReason::RedirectsUnknown, Reach::Answered, 2);
const KNOWN: Ended = (StopReason::NotIdempotent, Reach::Answered, 2);
const REPEATED: Ended = (StopReason::Succeeded, Reach::Refused, 2);

fn watched(max_retries: u32) -> RetryLayer {
    layer(State::Watched, without_waits(max_retries))
}

#[tokio::test]
async fn a_redirect_in_another_task_is_not_overlooked() {
    let server = round("/task").await;
    let service = spawning(plain(State::Watched));
    let ended = order_through(watched(3), service, (&server, "/task")).await;
    assert_eq!(ended, UNKNOWN);
}

#[tokio::test]
async fn a_retry_layer_in_the_other_task_hides_no_redirect() {
    for retries in [0, 3] {
        let server = round("/layer").await;
        let service = spawning(watched(retries).layer(plain(State::Watched)));
        let ended = order_through(watched(3), service, (&server, "/layer")).await;
        assert_eq!(ended, UNKNOWN, "{retries}");
    }
}

#[tokio::test]
async fn an_attempt_in_another_task_without_a_redirect_is_repeated() {
    let server = busy().await;
    let service = spawning(plain(State::Watched));
    let ended = order_through(watched(3), service, (&server, "/busy")).await;
    assert_eq!(ended, REPEATED);
}

#[tokio::test]
async fn a_buffer_leaves_the_attempt_where_it_is_polled() {
    let through = async |server: FaultServer| {
        let service = Buffer::new(plain(State::Watched), 4);
        order_through(watched(3), service, (&server, "/buffer")).await
    };
    assert_eq!(through(round("/buffer").await).await, KNOWN);
    assert_eq!(through(busy().await).await, REPEATED);
}

#[tokio::test]
async fn a_layer_further_in_hides_no_redirect() {
    let through = async |inner: RetryPolicy, server: FaultServer| {
        let both = layer(State::Watched, inner).layer(plain(State::Watched));
        order_through(watched(3), both, (&server, "/inner")).await
    };
    for inner in [RetryPolicy::never(), without_waits(3)] {
        let server = round("/inner").await;
        assert_eq!(through(inner.clone(), server).await, KNOWN);
        assert_eq!(through(inner, busy().await).await, REPEATED);
    }
}

/// How an order for `/beside` ends, while which another request is sent and ends.
async fn beside<F>(other: impl Fn() -> F + Clone + Send + 'static) -> Ended
where
    F: Future<Output = ()> + Send + 'static,
{
    let client = plain(State::Watched);
    let service = service_fn(move |request| {
        let (client, other) = (client.clone(), other.clone());
        async move {
            tokio::spawn(other()).await.unwrap();
            client.execute(request).await
        }
    });
    let server = busy().await;
    order_through(watched(3), service, (&server, "/beside")).await
}

/// Asks for a page that is elsewhere, by a client that marks redirects.
async fn get(retries: Option<RetryLayer>, path: &str) {
    let moved = Answer::new(302).header("location", "/elsewhere");
    let server = FaultServer::start([Act::Answer(moved)]).await;
    let request = Request::new(Method::GET, server.url(path).parse().unwrap());
    let client = plain(State::Watched);
    let answer = match retries {
        Some(retries) => retries.layer(client).oneshot(request).await,
        None => client.execute(request).await.map_err(Into::into),
    };
    assert_eq!(answer.unwrap().url().path(), "/elsewhere");
}

#[tokio::test]
async fn a_redirect_that_may_be_another_orders_may_be_the_orders() {
    let unknown = (StopReason::RedirectsUnknown, Reach::Answered, 1);
    assert_eq!(beside(|| get(None, "/beside")).await, unknown);
    assert_eq!(beside(|| get(Some(watched(3)), "/beside")).await, unknown);
}

#[tokio::test]
async fn redirects_of_other_paths_leave_an_order_alone() {
    assert_eq!(beside(|| get(None, "/page")).await, REPEATED);
    assert_eq!(beside(|| get(Some(watched(3)), "/page")).await, REPEATED);
}

#[tokio::test]
async fn redirects_of_the_same_layer_leave_an_order_alone() {
    let retries = watched(3);
    let same = retries.clone();
    let service = service_fn(move |request: Request| {
        let same = same.clone();
        async move {
            if request.method() == Method::POST {
                tokio::spawn(get(Some(same), "/same")).await.unwrap();
            }
            plain(State::Watched).execute(request).await
        }
    });
    let server = busy().await;
    let request = order(Method::POST, &server.url("/same"));
    let answer = in_time(retries.layer(service).oneshot(request)).await;
    assert_eq!(answer.unwrap().status(), 200);
}

#[tokio::test]
async fn a_redirect_before_the_order_is_none_of_its_own() {
    get(None, "/before").await;
    let server = busy().await;
    let ended = order_through(watched(3), plain(State::Watched), (&server, "/before")).await;
    assert_eq!(ended, REPEATED);
}

/// A client of `http::Request` that sends through reqwest.
fn converting(
    client: reqwest::Client,
) -> impl Service<
    http::Request<Bytes>,
    Response = http::Response<reqwest::Body>,
    Error = BoxError,
    Future: Send,
> + Clone
+ Send {
    service_fn(move |request: http::Request<Bytes>| {
        let client = client.clone();
        async move {
            let request = Request::try_from(request)?;
            let answer = client.execute(request).await?;
            Ok(http::Response::from(answer))
        }
    })
}

#[tokio::test]
async fn a_service_that_sends_through_reqwest_is_one_that_redirects() {
    let ended = async |state, server: FaultServer| {
        let log = Log::default();
        let retries = layer(state, without_waits(3)).observe(listener(&log));
        let retries = retries.copy_value(|body: &Bytes| Some(body.clone()));
        let service = retries.layer(converting(plain(state)));
        let request = http::Request::post(server.url("/converted"));
        let request = request.extension(RetryOverride::new());
        let answer = service.oneshot(request.body(Bytes::new()).unwrap()).await;
        let report = log.lock().unwrap().take().unwrap();
        assert!(answer.unwrap().status() <= StatusCode::TOO_MANY_REQUESTS);
        let reach = report.attempts[0].reach;
        (report.stop, reach, server.received().len())
    };
    assert_eq!(
        ended(State::Unknown, round("/converted").await).await,
        UNKNOWN
    );
    assert_eq!(
        ended(State::Watched, round("/converted").await).await,
        KNOWN
    );
    assert_eq!(ended(State::Watched, busy().await).await, REPEATED);
    assert_eq!(ended(State::Off, busy().await).await, REPEATED);
}
