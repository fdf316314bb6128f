//! What each stack makes of a case.

use super::random::{Case, Order};
use futures_util::FutureExt;
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use http_body_util::BodyExt;
use http_retry::config::RetryConfig;
use http_retry::report::RequestFailed;
use http_retry::reqwest::RetryMiddleware;
use http_retry::testing::{ManualRuntime, Script, ScriptBody};
use http_retry::tower::marker::{CloneBody, Wrapped};
use http_retry::tower::{Retry, RetryLayer};
use http_retry::{RetryBody, RetryOverride, RetryReport};
use reqwest::ResponseBuilderExt;
use reqwest_middleware::ClientBuilder;
use std::convert::Infallible;
use std::future::ready;
use std::io;
use std::sync::LazyLock;
use std::time::Duration;
use tower::{BoxError, Layer, Service, ServiceExt, service_fn};

/// What came of one request.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Ending {
    Answer(StatusCode, HeaderMap, String),
    /// The policy's own error.
    Failed(RetryReport),
    Error(io::ErrorKind),
}

/// What one stack made of a case.
#[derive(Debug, PartialEq)]
pub(super) struct Played {
    pub(super) reports: Vec<RetryReport>,
    pub(super) endings: Vec<Ending>,
    pub(super) sleeps: Vec<Duration>,
    pub(super) calls: Vec<(Method, Uri)>,
}

/// What a stack is made of: its own document in force, its own clock and its own script.
struct Bench {
    config: RetryConfig,
    runtime: ManualRuntime,
    script: Script,
}

impl Bench {
    fn of(case: &Case) -> Self {
        let runtime = ManualRuntime::new();
        Self {
            config: RetryConfig::load(&case.document).unwrap(),
            // A success that nobody asks about draws no number: there the same one comes every time.
            runtime: if case.is_plain() {
                runtime.with_random(case.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
            } else {
                runtime.seeded(case.seed)
            },
            script: case.script(),
        }
    }

    fn layer(&self) -> RetryLayer {
        RetryLayer::from_config(&self.config)
            .redirects_off()
            .runtime(self.runtime.clone())
    }

    fn played(self, ends: Vec<(Option<RetryReport>, Ending)>) -> Played {
        let (reports, endings) = ends.into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
        Played {
            reports: reports.into_iter().flatten().collect(),
            endings,
            sleeps: self.runtime.sleeps(),
            calls: self.script.calls(),
        }
    }
}

fn request(order: &Order) -> Request<String> {
    let request = Request::builder().method(&order.method).uri(&order.uri);
    request.body("order".to_owned()).unwrap()
}

/// Through the tower layer, whose errors are made into an ending by this.
pub(super) fn by_tower<X, E>(
    case: &Case,
    settings: impl Fn(RetryLayer) -> RetryLayer<CloneBody, Wrapped<X>>,
    ending: impl Fn(E) -> Ending,
) -> Played
where
    Retry<Script, CloneBody, Wrapped<X>>:
        Service<Request<String>, Response = Response<RetryBody<ScriptBody, X>>, Error = E>,
    RetryBody<ScriptBody, X>: http_body::Body<Data = bytes::Bytes, Error: std::fmt::Debug>,
{
    let bench = Bench::of(case);
    let service = settings(bench.layer()).layer(bench.script.clone());
    let ends = case.orders.iter().map(|order| {
        let slot = RetryReport::slot();
        let mut request = request(order);
        request.extensions_mut().insert(slot.clone());
        request.extensions_mut().extend(order.own());
        let sent = service.clone().oneshot(request).now_or_never();
        let ending = match sent.expect("nothing waits") {
            Ok(response) => answer(response),
            Err(error) => ending(error),
        };
        (slot.take(), ending)
    });
    let ends = ends.collect();
    bench.played(ends)
}

pub(super) fn boxed_ending(error: BoxError) -> Ending {
    match error.downcast::<io::Error>() {
        Ok(error) => Ending::Error(error.kind()),
        Err(error) => {
            let failed = error.downcast_ref::<RequestFailed>();
            Ending::Failed(failed.expect("an own error").report().clone())
        }
    }
}

fn answer<B>(response: Response<B>) -> Ending
where
    B: http_body::Body<Data = bytes::Bytes, Error: std::fmt::Debug>,
{
    let (head, body) = response.into_parts();
    let body = body.collect().now_or_never().expect("a body that is there");
    let body = body.unwrap().to_bytes().to_vec();
    Ending::Answer(head.status, head.headers, String::from_utf8(body).unwrap())
}

/// Made once, since that takes longer than all the rest of a case.
pub(super) static CLIENT: LazyLock<reqwest::Client> = LazyLock::new(|| {
    reqwest::Client::builder()
        .tls_certs_only([])
        .build()
        .unwrap()
});

pub(super) fn by_middleware(case: &Case) -> Played {
    let bench = Bench::of(case);
    let retries = RetryMiddleware::from_config(&bench.config)
        .redirects_off()
        .runtime(bench.runtime.clone());
    let client = ClientBuilder::new(CLIENT.clone());
    let client = client.with(retries).with(bench.script.clone()).build();
    let ends = case.orders.iter().map(|order| {
        let slot = RetryReport::slot();
        let mut extensions = http::Extensions::new();
        extensions.insert(slot.clone());
        extensions.extend(order.own());
        let request = request(order).try_into().unwrap();
        let sent = client.execute_with_extensions(request, &mut extensions);
        let ending = match sent.now_or_never().expect("nothing waits") {
            Ok(response) => answer(Response::<reqwest::Body>::from(response)),
            Err(reqwest_middleware::Error::Middleware(error)) => middleware_ending(&error),
            Err(error) => panic!("reqwest has sent nothing: {error}"),
        };
        (slot.take(), ending)
    });
    let ends = ends.collect();
    bench.played(ends)
}

fn middleware_ending(error: &anyhow::Error) -> Ending {
    match (
        error.downcast_ref::<io::Error>(),
        error.downcast_ref::<RequestFailed>(),
    ) {
        (Some(error), _) => Ending::Error(error.kind()),
        (_, Some(failed)) => Ending::Failed(failed.report().clone()),
        _ => panic!("an own error: {error:?}"),
    }
}

/// Through the tower layer over a client of `reqwest::Request`, which can neither fail by itself nor have extensions;
/// its reports are those in the responses.
pub(super) fn directly(case: &Case) -> Played {
    let bench = Bench::of(case);
    let script = bench.script.clone();
    let client = service_fn(move |request: reqwest::Request| {
        let url = request.url().clone();
        let order = Request::builder()
            .method(request.method())
            .uri(url.as_str());
        let answer = script.clone().oneshot(order.body(String::new()).unwrap());
        let (head, body) = answer.now_or_never().unwrap().unwrap().into_parts();
        let mut response = Response::builder()
            .url(url)
            .body(reqwest::Body::wrap(body))
            .unwrap();
        (*response.status_mut(), *response.headers_mut()) = (head.status, head.headers);
        ready(Ok::<_, Infallible>(reqwest::Response::from(response)))
    });
    let service = bench.layer().unchanged_errors().layer(client);
    let ends = case.orders.iter().map(|order| {
        let request = reqwest::Request::try_from(request(order)).unwrap();
        let sent = service.clone().oneshot(request).now_or_never();
        let response = Response::<reqwest::Body>::from(sent.expect("nothing waits").unwrap());
        (response.extensions().get().cloned(), answer(response))
    });
    let ends = ends.collect();
    bench.played(ends)
}

impl Order {
    fn own(&self) -> http::Extensions {
        let mut own = http::Extensions::new();
        if let Some(settings) = self.own.clone() {
            own.insert::<RetryOverride>(settings);
        }
        own
    }
}
