//! A circuit breaker outside of the retry layer, and one inside for comparison.

use super::super::server::{Act, FaultServer};
use super::clients::{Setup, fixed, get, hyper, reqwest};
use super::clock::Clock;
use crate::in_time::in_time;
use async_trait::async_trait;
use bytes::Bytes;
use http::{Extensions, Request, Response};
use http_body_util::Full;
use http_retry::runtime::Runtime;
use reqwest_middleware::{ClientBuilder, Middleware, Next};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tower::{BoxError, Layer, Service, ServiceExt};

/// Opens after three failures in a row, and lets a request through again after a rest.
#[derive(Debug, Clone)]
struct Circuit {
    clock: Clock,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    results: Vec<bool>,
    failures: usize,
    opened: Option<Duration>,
}

const MOST_FAILURES: usize = 3;
const REST: Duration = Duration::from_secs(30);

#[derive(Debug)]
struct Open;

impl fmt::Display for Open {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the circuit is open")
    }
}

impl std::error::Error for Open {}

impl Circuit {
    fn new(clock: &Clock) -> Self {
        Self {
            clock: clock.clone(),
            state: Arc::default(),
        }
    }

    fn enter(&self) -> Result<(), Open> {
        match self.state.lock().unwrap().opened {
            Some(opened) if self.clock.now() < opened + REST => Err(Open),
            _ => Ok(()),
        }
    }

    fn record(&self, ok: bool) {
        let mut state = self.state.lock().unwrap();
        state.results.push(ok);
        state.failures = if ok { 0 } else { state.failures + 1 };
        state.opened = (state.failures >= MOST_FAILURES).then(|| self.clock.now());
    }

    fn results(&self) -> Vec<bool> {
        self.state.lock().unwrap().results.clone()
    }

    fn is_open(&self) -> bool {
        self.enter().is_err()
    }
}

impl<S> Layer<S> for Circuit {
    type Service = Breaker<S>;

    fn layer(&self, inner: S) -> Breaker<S> {
        Breaker {
            inner,
            circuit: self.clone(),
        }
    }
}

#[derive(Clone)]
struct Breaker<S> {
    inner: S,
    circuit: Circuit,
}

impl<S, B> Service<Request<Full<Bytes>>> for Breaker<S>
where
    S: Service<Request<Full<Bytes>>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
{
    type Response = Response<B>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<B>, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Full<Bytes>>) -> Self::Future {
        let circuit = self.circuit.clone();
        if let Err(open) = circuit.enter() {
            return Box::pin(async { Err(open.into()) });
        }
        let attempt = self.inner.call(request);
        Box::pin(async move {
            let result = attempt.await.map_err(Into::into);
            circuit.record(
                result
                    .as_ref()
                    .is_ok_and(|response| response.status().is_success()),
            );
            result
        })
    }
}

#[async_trait]
impl Middleware for Circuit {
    async fn handle(
        &self,
        request: reqwest::Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> reqwest_middleware::Result<reqwest::Response> {
        self.enter()
            .map_err(reqwest_middleware::Error::middleware)?;
        let result = next.run(request, extensions).await;
        self.record(
            result
                .as_ref()
                .is_ok_and(|response| response.status().is_success()),
        );
        result
    }
}

/// A request's status, or that there was none.
type SendOne<'a> = &'a dyn Fn() -> Pin<Box<dyn Future<Output = Option<u16>>>>;

/// Two requests that fail at every attempt, one that succeeds at its third, and three more that fail.
fn acts() -> impl Iterator<Item = Act> {
    let third_time = [503, 503, 200];
    let failing = |attempts| std::iter::repeat_n(503, attempts);
    failing(6)
        .chain(third_time)
        .chain(failing(9))
        .map(Act::status)
}

async fn the_circuit_sees_one_result_for_each_request(
    server: &FaultServer,
    circuit: &Circuit,
    send: SendOne<'_>,
) {
    for status in [503, 503, 200, 503, 503] {
        assert_eq!(in_time(send()).await, Some(status));
        assert!(!circuit.is_open());
    }
    assert_eq!(in_time(send()).await, Some(503));
    assert_eq!(circuit.results(), [false, false, true, false, false, false]);
    assert!(circuit.is_open() && server.received().len() == 18);

    assert_eq!(in_time(send()).await, None, "refused, and not sent");
    assert_eq!((server.received().len(), circuit.results().len()), (18, 6));
    circuit.clock.advance(REST);
    assert_eq!(in_time(send()).await, Some(200));
    assert!(!circuit.is_open());
}

#[tokio::test]
async fn a_breaker_outside_sees_one_result_for_each_request() {
    let server = FaultServer::start(acts()).await;
    let setup = Setup::new(fixed(2, Duration::ZERO));
    let circuit = Circuit::new(&setup.clock);
    let service = circuit.layer(setup.layer().layer(hyper()));
    the_circuit_sees_one_result_for_each_request(&server, &circuit, &|| {
        let call = service.clone().oneshot(get(server.url("/")).map(Full::new));
        Box::pin(async { call.await.ok().map(|response| response.status().as_u16()) })
    })
    .await;
}

#[tokio::test]
async fn a_breaker_middleware_outside_sees_one_result_per_request() {
    let server = FaultServer::start(acts()).await;
    let setup = Setup::new(fixed(2, Duration::ZERO));
    let circuit = Circuit::new(&setup.clock);
    let client = ClientBuilder::new(reqwest())
        .with(circuit.clone())
        .with(setup.middleware())
        .build();
    the_circuit_sees_one_result_for_each_request(&server, &circuit, &|| {
        let call = client.get(server.url("/")).send();
        Box::pin(async { call.await.ok().map(|response| response.status().as_u16()) })
    })
    .await;
}

#[tokio::test]
async fn a_breaker_inside_counts_attempts_and_ends_the_retries() {
    let server = FaultServer::start([(); 9].map(|()| Act::status(503))).await;
    let setup = Setup::new(fixed(8, Duration::ZERO));
    let circuit = Circuit::new(&setup.clock);
    let service = setup.layer().layer(circuit.layer(hyper()));
    let call = service.oneshot(get(server.url("/")).map(Full::new));
    let error = in_time(call).await.unwrap_err();
    assert!(error.is::<Open>(), "{error:?}");
    assert_eq!(circuit.results(), [false; 3]);
    assert_eq!(server.received().len(), 3);
}
