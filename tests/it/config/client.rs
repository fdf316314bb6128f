//! Requests through what is made of a document, on both stacks: over answers from a list, on a clock that jumps.

use bytes::Bytes;
use futures_util::FutureExt;
use http::{Extensions, HeaderMap, Method, Request, Uri};
use http_body_util::BodyExt;
use http_retry::config::RetryConfig;
use http_retry::report::RequestFailed;
use http_retry::reqwest::RetryMiddleware;
use http_retry::testing::{ManualRuntime, Script};
use http_retry::tower::RetryLayer;
use http_retry::{RetryOverride, RetryPolicy, RetryReport, StopReason};
use reqwest_middleware::{ClientBuilder, Middleware, Next};
use std::sync::{Arc, LazyLock, Mutex};
use std::task::{Context, Poll};
use tower::{BoxError, Layer, Service, ServiceExt};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stack {
    Tower,
    Reqwest,
}

pub(super) const STACKS: [Stack; 2] = [Stack::Tower, Stack::Reqwest];

/// What came of a request.
pub(super) struct Ended {
    /// Nothing where it ended with an error.
    pub(super) status: Option<u16>,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
    /// Whether the error says that the policy calls it a failure.
    pub(super) failed: bool,
    pub(super) report: RetryReport,
}

impl Ended {
    /// The statuses that were met, one for each attempt.
    pub(super) fn statuses(&self) -> Vec<u16> {
        let statuses = self.report.attempts.iter().map(|attempt| attempt.status);
        statuses
            .map(|status| status.map_or(0, |status| status.as_u16()))
            .collect()
    }

    /// The rules that judged the attempts.
    pub(super) fn rules(&self) -> Vec<Option<&str>> {
        let attempts = self.report.attempts.iter();
        attempts.map(|attempt| attempt.rule.as_deref()).collect()
    }

    pub(super) fn attempts(&self) -> u32 {
        self.report.attempt_count
    }

    pub(super) fn stop(&self) -> StopReason {
        self.report.stop
    }
}

/// A client that answers from a list and keeps the heads of the requests that reach it.
#[derive(Clone, Default)]
pub(super) struct Client {
    script: Script,
    heads: Arc<Mutex<Vec<(Method, Uri, HeaderMap)>>>,
}

impl Client {
    pub(super) fn new(script: Script) -> Self {
        Self {
            script,
            ..Self::default()
        }
    }

    pub(super) fn uris(&self) -> Vec<String> {
        let heads = self.heads.lock().unwrap();
        heads.iter().map(|(_, uri, _)| uri.to_string()).collect()
    }

    /// The values of one header in each request.
    pub(super) fn header(&self, name: &str) -> Vec<Vec<String>> {
        let heads = self.heads.lock().unwrap();
        let values = |headers: &HeaderMap| {
            let values = headers.get_all(name).iter();
            values.map(|v| v.to_str().unwrap().to_owned()).collect()
        };
        heads.iter().map(|(.., headers)| values(headers)).collect()
    }

    fn keep(&self, method: &Method, uri: Uri, headers: &HeaderMap) {
        let head = (method.clone(), uri, headers.clone());
        self.heads.lock().unwrap().push(head);
    }
}

impl Service<Request<String>> for Client {
    type Response = <Script as Service<Request<String>>>::Response;
    type Error = std::io::Error;
    type Future = <Script as Service<Request<String>>>::Future;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<String>) -> Self::Future {
        self.keep(request.method(), request.uri().clone(), request.headers());
        Service::call(&mut self.script, request)
    }
}

#[async_trait::async_trait]
impl Middleware for Client {
    async fn handle(
        &self,
        request: reqwest::Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> reqwest_middleware::Result<reqwest::Response> {
        let uri = request.url().as_str().parse().unwrap();
        self.keep(request.method(), uri, request.headers());
        self.script.handle(request, extensions, next).await
    }
}

pub(super) fn get() -> Request<String> {
    Request::get("http://api.example/v1/items")
        .body(String::new())
        .unwrap()
}

pub(super) fn post() -> Request<String> {
    Request::post("http://api.example/v1/items")
        .body("b".into())
        .unwrap()
}

pub(super) fn with_own(mut request: Request<String>, own: RetryOverride) -> Request<String> {
    request.extensions_mut().insert(own);
    request
}

/// Answers with these statuses, and then with the last one for ever.
pub(super) fn statuses(list: &[u16]) -> Script {
    list.iter()
        .fold(Script::new(), |script, status| script.status(*status))
}

/// What comes of a GET on the tower stack.
pub(super) fn on_tower(config: &RetryConfig, script: Script) -> Ended {
    send(Stack::Tower, config, &Client::new(script), get())
}

/// What a layer and a middleware are made of.
pub(super) trait Decides {
    fn layer(&self) -> RetryLayer;
    fn middleware(&self) -> RetryMiddleware;
}

impl Decides for RetryConfig {
    fn layer(&self) -> RetryLayer {
        RetryLayer::from_config(self)
    }

    fn middleware(&self) -> RetryMiddleware {
        RetryMiddleware::from_config(self)
    }
}

impl Decides for RetryPolicy {
    fn layer(&self) -> RetryLayer {
        RetryLayer::new(self.clone())
    }

    fn middleware(&self) -> RetryMiddleware {
        RetryMiddleware::new(self.clone())
    }
}

pub(super) fn send(
    stack: Stack,
    decides: &impl Decides,
    client: &Client,
    mut request: Request<String>,
) -> Ended {
    let slot = RetryReport::slot();
    request.extensions_mut().insert(slot.clone());
    let result = match stack {
        Stack::Tower => by_tower(decides.layer(), client, request),
        Stack::Reqwest => by_reqwest(decides.middleware(), client, request),
    };
    let report = slot.take().expect("a report");
    match result {
        Ok((head, body)) => Ended {
            status: Some(head.status.as_u16()),
            headers: head.headers,
            body,
            failed: false,
            report,
        },
        Err(error) => Ended {
            status: None,
            headers: HeaderMap::new(),
            body: String::new(),
            failed: RequestFailed::of(&*error).is_some(),
            report,
        },
    }
}

/// Sends nothing by itself, and takes its time to be made.
static PLAIN: LazyLock<reqwest::Client> = LazyLock::new(|| {
    let client = reqwest::Client::builder().no_proxy().build();
    client.expect("a client")
});

type Answered = Result<(http::response::Parts, String), BoxError>;

fn by_tower(layer: RetryLayer, client: &Client, request: Request<String>) -> Answered {
    let layer = layer.runtime(ManualRuntime::new());
    let service = layer.layer(client.clone());
    let sent = service.oneshot(request).now_or_never();
    let (head, body) = sent.expect("the call is over")?.into_parts();
    let whole = body.collect().now_or_never().expect("a body at its end")?;
    Ok((head, text(&whole.to_bytes())))
}

fn by_reqwest(retries: RetryMiddleware, client: &Client, mut request: Request<String>) -> Answered {
    let mut extensions = std::mem::take(request.extensions_mut());
    let retries = retries.runtime(ManualRuntime::new());
    let client = ClientBuilder::new(PLAIN.clone())
        .with(retries)
        .with(client.clone())
        .build();
    let request = reqwest::Request::try_from(request)?;
    let sent = client.execute_with_extensions(request, &mut extensions);
    let response = sent.now_or_never().expect("the call is over")?;
    let mut head = http::Response::new(());
    *head.status_mut() = response.status();
    *head.headers_mut() = response.headers().clone();
    let whole = response
        .bytes()
        .now_or_never()
        .expect("a body at its end")?;
    Ok((head.into_parts().0, text(&whole)))
}

fn text(bytes: &Bytes) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
