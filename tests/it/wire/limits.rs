//! Attempt timeout and deadline, against a server that stalls.

use super::server::{Act, Answer, FaultServer};
use super::stacks::clients::{
    BoxError, Call, Client, Hyper, SECOND, STACKS, Setup, Stack, Told, drive, drive_to, fixed, get,
    hyper, in_time, post, reqwest,
};
use async_trait::async_trait;
use bytes::Bytes;
use http::{Extensions, Request, Response};
use http_body_util::Full;
use http_retry::{Attempt, AttemptTimeout, ReportSlot, RetryOverride, RetryReport, StopReason};
use reqwest_middleware::{ClientBuilder, Middleware, Next};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tower::{Layer, Service, ServiceExt};

const TIMEOUT: Duration = Duration::from_secs(6);
const DEADLINE: Duration = Duration::from_secs(10);

/// The stacks that can say that an attempt was cut short.
const TELLING: [Stack; 2] = [Stack::Boxed, Stack::Middleware];

/// A request, and where its report will be.
fn reported(request: Request<Bytes>) -> (Request<Bytes>, ReportSlot) {
    let slot = RetryReport::slot();
    let mut request = request;
    request.extensions_mut().insert(slot.clone());
    (request, slot)
}

fn why(slot: &ReportSlot) -> StopReason {
    slot.take().unwrap().stop()
}

fn cut_after(result: Result<Told, BoxError>) -> Duration {
    let error = result.unwrap_err();
    assert!(AttemptTimeout::is(&*error), "{error:?}");
    let own = error.downcast_ref::<AttemptTimeout>();
    let told = own.or_else(|| match error.downcast_ref()? {
        reqwest_middleware::Error::Middleware(inner) => inner.downcast_ref(),
        reqwest_middleware::Error::Reqwest(_) => None,
    });
    told.unwrap().after()
}

/// Lets the time pass that the last attempt, which the server has seen whole, is given.
async fn stall(
    call: &mut Call,
    server: &FaultServer,
    setup: &Setup,
    requests: usize,
    by: Duration,
) {
    drive_to(call, server, requests).await;
    setup.clock.advance(by);
}

#[tokio::test]
async fn a_stalled_attempt_is_cut_and_the_next_one_answers() {
    for stack in STACKS {
        let server = FaultServer::start([Act::StallHead]).await;
        let setup = Setup::new(fixed(1, Duration::ZERO).attempt_timeout(TIMEOUT));
        let client = Client::new(stack, &setup);
        let mut call = client.call(get(server.url("/")));
        stall(&mut call, &server, &setup, 1, TIMEOUT).await;
        let told = in_time(call).await.unwrap();
        assert_eq!((told.status.as_u16(), server.received().len()), (200, 2));
        assert_eq!(setup.tokens(), 18, "a retry after a timeout costs double");
        in_time(server.until(|server| server.open() == 1)).await;
        assert_eq!(setup.clock.alive(), 0);
    }
}

#[tokio::test]
async fn an_attempt_that_is_not_over_its_limit_is_not_cut() {
    for stack in STACKS {
        let mut hand = Hand::new().await;
        let setup = Setup::new(fixed(1, Duration::ZERO).attempt_timeout(TIMEOUT));
        let mut call = Client::new(stack, &setup).call(get(hand.url()));
        let mut stream = hand.accept(&mut call).await;
        setup.clock.advance(TIMEOUT - Duration::from_nanos(1));
        answer(&mut stream).await;
        assert_eq!(in_time(call).await.unwrap().body, "late");
    }
}

#[tokio::test]
async fn the_second_attempt_gets_what_remains_of_the_deadline() {
    for stack in TELLING {
        let server = FaultServer::start([Act::StallHead, Act::StallHead]).await;
        let limits = fixed(5, Duration::ZERO)
            .attempt_timeout(TIMEOUT)
            .deadline(DEADLINE);
        let setup = Setup::new(limits);
        let (request, slot) = reported(get(server.url("/")));
        let mut call = Client::new(stack, &setup).call(request);
        stall(&mut call, &server, &setup, 1, TIMEOUT).await;
        stall(&mut call, &server, &setup, 2, DEADLINE - TIMEOUT).await;
        assert_eq!(cut_after(in_time(call).await), DEADLINE - TIMEOUT);
        let report = slot.take().unwrap();
        assert_eq!(
            (report.stop(), report.attempt_count()),
            (StopReason::DeadlineExceeded, 2)
        );
        assert_eq!((server.received().len(), setup.tokens()), (2, 18));
    }
}

/// Writes down how long each attempt is given.
#[derive(Debug, Clone, Default)]
struct Limits(Arc<Mutex<Vec<Option<Duration>>>>);

impl Limits {
    fn note(&self, extensions: &Extensions) {
        let limit = extensions.get::<Attempt>().and_then(Attempt::limit);
        self.0.lock().unwrap().push(limit);
    }
}

#[derive(Clone)]
struct Noting(Hyper, Limits);

impl Service<Request<Full<Bytes>>> for Noting {
    type Response = Response<hyper::body::Incoming>;
    type Error = hyper_util::client::legacy::Error;
    type Future = hyper_util::client::legacy::ResponseFuture;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Full<Bytes>>) -> Self::Future {
        self.1.note(request.extensions());
        self.0.request(request)
    }
}

#[async_trait]
impl Middleware for Limits {
    async fn handle(
        &self,
        request: reqwest::Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> reqwest_middleware::Result<reqwest::Response> {
        self.note(extensions);
        next.run(request, extensions).await
    }
}

/// A stall of six seconds, a wait of three, and one second that remains.
struct Tight {
    server: FaultServer,
    setup: Setup,
    limits: Limits,
}

const WAIT: Duration = Duration::from_secs(3);

impl Tight {
    async fn start() -> Self {
        let limits = fixed(5, WAIT).attempt_timeout(TIMEOUT).deadline(DEADLINE);
        Self {
            server: FaultServer::start([Act::StallHead]).await,
            setup: Setup::new(limits),
            limits: Limits::default(),
        }
    }

    async fn runs<F>(self, mut call: F)
    where
        F: Future<Output = Option<u16>> + Unpin,
    {
        drive_to(&mut call, &self.server, 1).await;
        self.setup.clock.advance(TIMEOUT);
        drive(&mut call, || self.setup.clock.begun().contains(&WAIT)).await;
        self.setup.clock.advance(WAIT);
        assert_eq!(in_time(call).await, Some(200));
        let noted = self.limits.0.lock().unwrap().clone();
        assert_eq!(noted, [Some(TIMEOUT), Some(DEADLINE - TIMEOUT - WAIT)]);
    }
}

#[tokio::test]
async fn services_further_in_see_what_remains_after_the_wait() {
    let tight = Tight::start().await;
    let inner = Noting(hyper(), tight.limits.clone());
    let service = tight.setup.layer().across_tasks().layer(inner);
    let request = get(tight.server.url("/")).map(Full::new);
    let call = async {
        service
            .oneshot(request)
            .await
            .ok()
            .map(|told| told.status().as_u16())
    };
    tight.runs(Box::pin(call)).await;
}

#[tokio::test]
async fn middlewares_further_in_see_what_remains_after_the_wait() {
    let tight = Tight::start().await;
    let client = ClientBuilder::new(reqwest())
        .with(tight.setup.middleware().across_tasks())
        .with(tight.limits.clone())
        .build();
    let request = client.get(tight.server.url("/"));
    let call = async { request.send().await.ok().map(|told| told.status().as_u16()) };
    tight.runs(Box::pin(call)).await;
}

#[tokio::test]
async fn a_delay_too_long_ends_at_once_with_the_answer() {
    let sorry = || Answer::new(503).header("x-why", "busy").body("sorry");
    let asking = sorry().header("retry-after", "4");
    for stack in STACKS {
        for (act, own) in [(sorry(), SECOND * 4), (asking.clone(), SECOND)] {
            let server = FaultServer::start([Act::Answer(act)]).await;
            let setup = Setup::new(fixed(2, own).deadline(SECOND * 4));
            let (request, slot) = reported(get(server.url("/")));
            let told = Client::new(stack, &setup).send(request).await.unwrap();
            assert_eq!((told.status.as_u16(), &told.body[..]), (503, &b"sorry"[..]));
            let report = told.report.unwrap();
            assert_eq!(report.stop(), StopReason::DeadlineExceeded);
            assert_eq!(
                (report.waited(), slot.take()),
                (Duration::ZERO, Some(report))
            );
            assert_eq!((server.received().len(), setup.tokens()), (1, 20));
        }
    }
}

#[tokio::test]
async fn a_delay_too_long_ends_at_once_with_the_error() {
    for stack in STACKS {
        let server = FaultServer::start([Act::CloseAfterRequest]).await;
        let setup = Setup::new(fixed(2, SECOND * 4).deadline(SECOND * 4));
        let (request, slot) = reported(get(server.url("/")));
        let error = Client::new(stack, &setup).send(request).await.unwrap_err();
        assert!(!AttemptTimeout::is(&*error), "{error:?}");
        assert!(
            format!("{error:?}").contains("IncompleteMessage"),
            "{error:?}"
        );
        assert_eq!(why(&slot), StopReason::DeadlineExceeded);
        assert_eq!((server.received().len(), setup.tokens()), (1, 20));
    }
}

#[tokio::test]
async fn a_deadline_of_the_requests_own_comes_first() {
    for stack in STACKS {
        let server = FaultServer::start([Act::status(503)]).await;
        let setup = Setup::new(fixed(2, SECOND * 4).deadline(SECOND * 60));
        let (mut request, slot) = reported(get(server.url("/")));
        let own = RetryOverride::new().deadline(SECOND * 4);
        request.extensions_mut().insert(own);
        let told = Client::new(stack, &setup).send(request).await.unwrap();
        assert_eq!(told.status.as_u16(), 503);
        assert_eq!(why(&slot), StopReason::DeadlineExceeded);
    }
}

#[tokio::test]
async fn time_that_ran_out_in_the_wait_leaves_the_answer_whole() {
    for stack in STACKS {
        let sorry = Answer::new(503).body("sorry");
        let server = FaultServer::start([Act::Answer(sorry)]).await;
        let setup = Setup::new(fixed(2, SECOND * 3).deadline(SECOND * 4));
        let (request, slot) = reported(get(server.url("/")));
        let mut call = Client::new(stack, &setup).call(request);
        drive(&mut call, || {
            setup.clock.begun().last() == Some(&(SECOND * 3))
        })
        .await;
        setup.clock.advance(SECOND * 4);
        let told = in_time(call).await.unwrap();
        assert_eq!((told.status.as_u16(), &told.body[..]), (503, &b"sorry"[..]));
        assert_eq!(told.report.unwrap().stop(), StopReason::DeadlineExceeded);
        assert_eq!(why(&slot), StopReason::DeadlineExceeded);
        assert_eq!((server.received().len(), setup.tokens()), (1, 20));
    }
}

#[tokio::test]
async fn time_that_ran_out_in_an_error_body_is_a_timeout() {
    for stack in TELLING {
        let server = FaultServer::start([Act::StallBody(503)]).await;
        let setup = Setup::new(fixed(2, Duration::ZERO).deadline(SECOND / 2));
        let (request, slot) = reported(get(server.url("/")));
        let mut call = Client::new(stack, &setup).call(request);
        drive(&mut call, || drains_until_the_deadline(&setup)).await;
        setup.clock.advance(SECOND);
        assert_eq!(cut_after(in_time(call).await), SECOND / 2);
        assert_eq!(why(&slot), StopReason::DeadlineExceeded);
        assert_eq!((server.received().len(), setup.tokens()), (1, 20));
    }
}

#[tokio::test]
async fn without_a_timeout_error_a_last_attempt_goes_out() {
    let server = FaultServer::start([Act::StallBody(503)]).await;
    let setup = Setup::new(fixed(2, Duration::ZERO).deadline(SECOND / 2));
    let mut call = Client::new(Stack::Tower, &setup).call(get(server.url("/")));
    drive(&mut call, || drains_until_the_deadline(&setup)).await;
    setup.clock.advance(SECOND);
    assert_eq!(in_time(call).await.unwrap().status.as_u16(), 200);
    assert_eq!((server.received().len(), setup.tokens()), (2, 19));
}

/// The attempt was given all of the time, and so is the reading of its body, since none has passed.
fn drains_until_the_deadline(setup: &Setup) -> bool {
    let all = setup
        .clock
        .begun()
        .into_iter()
        .filter(|begun| *begun == SECOND / 2);
    all.count() == 2
}

/// A server whose answers the test gives by hand.
struct Hand(TcpListener);

impl Hand {
    async fn new() -> Self {
        Self(TcpListener::bind(("127.0.0.1", 0)).await.unwrap())
    }

    fn url(&self) -> String {
        format!("http://{}/", self.0.local_addr().unwrap())
    }

    /// The next connection, once its request's head is there.
    async fn accept(&mut self, call: &mut Call) -> TcpStream {
        let head = async {
            let (mut stream, _) = self.0.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            stream
        };
        in_time(async {
            tokio::select! {
                biased;
                ended = call => panic!("the call ended: {ended:?}"),
                stream = head => stream,
            }
        })
        .await
    }
}

async fn answer(stream: &mut TcpStream) {
    let late = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nlate";
    stream.write_all(late).await.unwrap();
}

#[tokio::test]
async fn without_a_timeout_error_the_last_attempt_runs_out() {
    let mut hand = Hand::new().await;
    let setup = Setup::new(fixed(1, Duration::ZERO).attempt_timeout(TIMEOUT));
    let (request, slot) = reported(get(hand.url()));
    let mut call = Client::new(Stack::Tower, &setup).call(request);
    let _stalled = hand.accept(&mut call).await;
    setup.clock.advance(TIMEOUT);
    let mut second = hand.accept(&mut call).await;
    setup.clock.advance(TIMEOUT);
    drive(&mut call, || setup.clock.alive() == 0).await;
    answer(&mut second).await;
    let told = in_time(call).await.unwrap();
    assert_eq!((told.status.as_u16(), &told.body[..]), (200, &b"late"[..]));
    assert_eq!(why(&slot), StopReason::Succeeded);
}

#[tokio::test]
async fn where_it_can_be_told_the_last_attempt_is_cut_too() {
    for stack in TELLING {
        let server = FaultServer::start([Act::StallHead, Act::StallHead]).await;
        let setup = Setup::new(fixed(1, Duration::ZERO).attempt_timeout(TIMEOUT));
        let (request, slot) = reported(get(server.url("/")));
        let mut call = Client::new(stack, &setup).call(request);
        stall(&mut call, &server, &setup, 1, TIMEOUT).await;
        stall(&mut call, &server, &setup, 2, TIMEOUT).await;
        assert_eq!(cut_after(in_time(call).await), TIMEOUT);
        assert_eq!(why(&slot), StopReason::AttemptsExhausted);
        in_time(server.until(|server| server.open() == 0)).await;
    }
}

#[tokio::test]
async fn an_ambiguous_request_is_not_repeated_after_a_timeout() {
    for stack in TELLING {
        let server = FaultServer::start([Act::StallHead]).await;
        let setup = Setup::new(fixed(3, Duration::ZERO).attempt_timeout(TIMEOUT));
        let (request, slot) = reported(post(server.url("/")));
        let mut call = Client::new(stack, &setup).call(request);
        stall(&mut call, &server, &setup, 1, TIMEOUT).await;
        assert_eq!(cut_after(in_time(call).await), TIMEOUT);
        assert_eq!(why(&slot), StopReason::NotIdempotent);
        assert_eq!((server.received().len(), setup.tokens()), (1, 20));
    }
}

#[tokio::test]
async fn such_a_request_is_waited_for_where_a_timeout_cannot_be_told() {
    let mut hand = Hand::new().await;
    let setup = Setup::new(fixed(3, Duration::ZERO).attempt_timeout(TIMEOUT));
    let mut call = Client::new(Stack::Tower, &setup).call(post(hand.url()));
    let mut stream = hand.accept(&mut call).await;
    setup.clock.advance(TIMEOUT);
    drive(&mut call, || setup.clock.alive() == 0).await;
    answer(&mut stream).await;
    assert_eq!(in_time(call).await.unwrap().body, "late");
    assert_eq!(setup.tokens(), 20);
}

#[tokio::test]
async fn a_limit_ends_with_the_head_so_that_a_long_body_is_not_cut() {
    for stack in STACKS {
        let mut hand = Hand::new().await;
        let setup = Setup::new(
            fixed(1, Duration::ZERO)
                .attempt_timeout(TIMEOUT)
                .deadline(DEADLINE),
        );
        let mut call = Client::new(stack, &setup).call(get(hand.url()));
        let mut stream = hand.accept(&mut call).await;
        let head = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n";
        stream.write_all(head).await.unwrap();
        drive(&mut call, || setup.clock.alive() == 0).await;
        setup.clock.advance(DEADLINE * 2);
        drive(&mut call, || true).await;
        stream.write_all(b"late").await.unwrap();
        assert_eq!(in_time(call).await.unwrap().body, "late");
    }
}
