//! Nothing that is told of a request holds a query string, user info, a header value or a body.

use super::journal::Journal;
use super::*;
use ::metrics::with_local_recorder;
use async_trait::async_trait;
use http::{Extensions, HeaderValue, Response};
use http_retry::llm::LlmPreset;
use http_retry::llm::{HoldStreams, Truncation};
use http_retry::policy::Moment;
use http_retry::report::{MetricsObserver, RetryEventKind};
use http_retry::{AttemptTimeout, ErrorKind, Outcome, ReplayBody, RequestFacts};
use http_retry::{RetryPolicy, StopReason};
use metrics_util::debugging::DebuggingRecorder;
use reqwest::{Method, Request};
use reqwest_middleware::{ClientWithMiddleware, Error, Middleware, Next};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

const SECRET: &str = "hunter2";

/// All that is told of a run: events, reports, spans, log lines, metric labels, and errors made here.
#[derive(Debug, Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    fn add(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }

    /// Runs with everybody listening.
    fn listen(&self, run: impl FnOnce()) {
        let recorder = DebuggingRecorder::new();
        let snapshotter = recorder.snapshotter();
        let (lines, ()) = Journal::of(|| with_local_recorder(&recorder, run));
        self.0.lock().unwrap().extend(lines);
        self.add(format!("{:?}", snapshotter.snapshot()));
    }

    fn assert_is_public(&self, known: &[&str]) {
        let all = self.0.lock().unwrap().join("\n");
        assert!(!all.contains(SECRET), "{all}");
        for word in known {
            assert!(all.contains(word), "nothing of {word} in\n{all}");
        }
    }
}

impl Observer for Told {
    fn on_event(&self, event: &RetryEvent<'_>) {
        self.add(format!("{event:?}"));
        match event.kind {
            RetryEventKind::AttemptEnded(attempt) => self.add(attempt.to_string()),
            RetryEventKind::Stopped(report) => self.add(format!("{report}\n{report:?}")),
            _ => {}
        }
    }
}

fn url() -> String {
    format!("http://{SECRET}:{SECRET}@api.example:8080/{SECRET}?key={SECRET}")
}

fn refusal() -> Response<String> {
    let mut response = Response::new(SECRET.to_owned());
    *response.status_mut() = http::StatusCode::SERVICE_UNAVAILABLE;
    for name in [
        "set-cookie",
        "retry-after",
        "ratelimit",
        "x-ratelimit-reset",
        "x-detail",
        "location",
    ] {
        let value = HeaderValue::from_static(SECRET);
        response.headers_mut().insert(name, value);
    }
    response
}

/// First an answer full of secrets, then an error full of them, then a success full of them.
fn leak(calls: &AtomicUsize) -> io::Result<Response<String>> {
    match calls.fetch_add(1, Ordering::SeqCst) {
        0 => Ok(refusal()),
        1 => Err(io::Error::new(io::ErrorKind::ConnectionReset, SECRET)),
        _ => Ok(Response::new(SECRET.to_owned())),
    }
}

fn by_tower(layer: &RetryLayer, request: http::request::Builder) {
    let calls = Arc::new(AtomicUsize::new(0));
    let leaky = tower::service_fn(move |_| std::future::ready(leak(&calls)));
    let request = request
        .header("authorization", SECRET)
        .header("idempotency-key", SECRET)
        .body(SECRET.to_owned())
        .unwrap();
    let call = layer.layer(leaky).oneshot(request);
    assert_eq!(call.now_or_never().unwrap().unwrap().status(), 200);
}

#[test]
fn the_tower_layer_tells_no_secret() {
    let told = Told::default();
    let layer = layer()
        .observer(told.clone())
        .observer(MetricsObserver::new());
    told.listen(|| {
        by_tower(&layer, http::Request::post(url()));
        let origin_form = format!("/{SECRET}?key={SECRET}");
        let host = format!("{SECRET}:{SECRET}@API.example:8080");
        by_tower(
            &layer,
            http::Request::post(origin_form).header("host", host),
        );
    });
    told.add(format!("{layer:?}"));
    told.assert_is_public(&[
        "api.example",
        "unreadable: [\"retry-after\"",
        "http_retry_requests_total",
        "http.attempt",
        "reset",
        "WARN",
    ]);
}

#[derive(Default)]
struct Leaky(AtomicUsize);

#[async_trait]
impl Middleware for Leaky {
    async fn handle(
        &self,
        _: Request,
        _: &mut Extensions,
        _: Next<'_>,
    ) -> reqwest_middleware::Result<reqwest::Response> {
        leak(&self.0).map(Into::into).map_err(Error::middleware)
    }
}

struct Hanging;

#[async_trait]
impl Middleware for Hanging {
    async fn handle(
        &self,
        _: Request,
        _: &mut Extensions,
        _: Next<'_>,
    ) -> reqwest_middleware::Result<reqwest::Response> {
        std::future::pending().await
    }
}

fn client(retries: RetryMiddleware, inner: impl Middleware) -> ClientWithMiddleware {
    let plain = reqwest_middleware::ClientBuilder::new(reqwest::Client::new());
    plain.with(retries).with(inner).build()
}

fn request() -> Request {
    let mut request = Request::new(Method::POST, url().parse().unwrap());
    for name in ["authorization", "idempotency-key", "cookie"] {
        let value = HeaderValue::from_static(SECRET);
        request.headers_mut().insert(name, value);
    }
    *request.body_mut() = Some(SECRET.into());
    request
}

#[test]
fn the_reqwest_middleware_tells_no_secret() {
    let told = Told::default();
    let retries = middleware()
        .observer(told.clone())
        .observer(MetricsObserver::new());
    told.add(format!("{retries:?}"));
    told.listen(|| {
        let call = async { client(retries, Leaky::default()).execute(request()).await };
        assert_eq!(call.now_or_never().unwrap().unwrap().status(), 200);
    });
    told.assert_is_public(&[
        "api.example",
        "unreadable: [\"retry-after\"",
        "http_retry_requests_total",
        "http.attempt",
        "reset",
        "WARN",
    ]);
}

#[test]
fn an_attempt_that_is_cut_tells_no_secret() {
    let told = Told::default();
    let policy = every_second().to_builder().attempt_timeout(SECOND);
    let retries = RetryMiddleware::new(policy.build().unwrap())
        .runtime(ManualRuntime::new())
        .observer(told.clone());
    told.listen(|| {
        let call = async { client(retries, Hanging).execute(request()).await };
        let error = call.now_or_never().unwrap().unwrap_err();
        assert!(AttemptTimeout::is(&error));
        told.add(format!("{error} {error:?}"));
    });
    let exhausted = StopReason::AttemptsExhausted.as_str();
    told.assert_is_public(&["no response head within 1s", "timeout", exhausted]);
}

#[test]
fn what_is_public_shows_no_secret_in_its_debug_output() {
    let told = Told::default();
    let head = refusal().into_parts().0;
    let unavailable = Outcome::response(head.status, &head.headers);
    told.add(format!("{unavailable:?}"));
    let refused = Outcome::error(ErrorKind::Connect);
    told.add(format!("{refused:?}"));

    let facts = RequestFacts::of(&http::Method::GET, &head.headers);
    let session = every_second().session(facts, Duration::ZERO);
    let plan = session.plan(&unavailable, Moment::new(Duration::ZERO));
    told.add(format!("{session:?} {plan:?}"));

    let server = Script::new()
        .status(503)
        .header("x-why", SECRET)
        .body(SECRET);
    let layer = layer().copy_body(|body: &String| Some(body.clone()));
    let request = http::Request::get(url()).body(SECRET.to_owned()).unwrap();
    let service = layer.layer(server.clone());
    told.add(format!("{server:?} {layer:?} {service:?}"));
    let answer = service.oneshot(request).now_or_never().unwrap().unwrap();
    told.add(format!("{server:?} {:?}", answer.body()));
    told.add(format!("{:?}", ReplayBody::new(SECRET.to_owned())));
    told.assert_is_public(&["503", "Connect", "RetrySession", "RetryBody", "ReplayBody"]);
}

/// A rate limit, a prompt that is too long, and an answer, each with the secret in it.
fn model(calls: &AtomicUsize) -> Response<String> {
    let error = |status: u16, code: &str, words: &str| {
        let body = format!(r#"{{"error": {{"code": "{code}", "message": "{SECRET} {words}"}}}}"#);
        Response::builder().status(status).body(body).unwrap()
    };
    match calls.fetch_add(1, Ordering::SeqCst) {
        0 => error(429, "rate_limit_exceeded", "try again in 2s"),
        1 => error(400, "context_length_exceeded", "is too long"),
        _ => Response::new(SECRET.to_owned()),
    }
}

#[test]
fn what_is_said_to_a_language_model_and_by_it_is_told_to_nobody() {
    let told = Told::default();
    let policy = RetryPolicy::llm()
        .to_builder()
        .rewrite(Truncation::keep_tail())
        .hold_streams(HoldStreams::new())
        .build()
        .unwrap();
    let layer = RetryLayer::new(policy)
        .runtime(ManualRuntime::new())
        .observer(told.clone())
        .observer(MetricsObserver::new());
    told.listen(|| {
        let calls = Arc::new(AtomicUsize::new(0));
        let leaky = tower::service_fn(move |_: http::Request<String>| {
            std::future::ready(Ok::<_, io::Error>(model(&calls)))
        });
        let prompt = format!("{SECRET} {SECRET}");
        let prompt = format!(r#"{{"messages": [{{"role": "user", "content": "{prompt}"}}]}}"#);
        let request = http::Request::post(url())
            .header("authorization", SECRET)
            .body(prompt);
        let call = layer.layer(leaky).oneshot(request.unwrap());
        assert_eq!(call.now_or_never().unwrap().unwrap().status(), 200);
    });
    told.add(format!("{layer:?}"));
    told.assert_is_public(&[
        "rate_limited",
        "context_length",
        "characters",
        "http_retry_text_cuts_total",
    ]);
}
