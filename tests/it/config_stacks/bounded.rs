//! What a look into an error body costs at most: 64 KiB and one frame, and two seconds.

use super::stacks::CLIENT;
use bytes::Bytes;
use futures_util::FutureExt;
use http::{Extensions, Response};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use http_retry::config::RetryConfig;
use http_retry::reqwest::RetryMiddleware;
use http_retry::runtime::{Runtime, Sleep, TokioRuntime};
use http_retry::testing::ManualRuntime;
use http_retry::tower::RetryLayer;
use reqwest_middleware::{ClientBuilder, Middleware, Next};
use serde_json::json;
use std::convert::Infallible;
use std::future::ready;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tower::{Layer, ServiceExt, service_fn};

const KIB: usize = 1024;
const LIMIT: usize = 64 * KIB;

/// A body that never ends, a frame at a time, and how many of its frames were taken.
struct Endless {
    frame: Bytes,
    taken: Arc<AtomicUsize>,
    every: Duration,
    /// Behind a lock, since reqwest wants bodies that are `Sync`.
    next: Mutex<Option<Sleep>>,
}

impl Endless {
    fn new(frame: usize, every: Duration) -> (Self, Arc<AtomicUsize>) {
        let taken = Arc::new(AtomicUsize::new(0));
        let body = Self {
            frame: vec![b'x'; frame].into(),
            taken: Arc::clone(&taken),
            every,
            next: Mutex::default(),
        };
        (body, taken)
    }
}

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if !self.every.is_zero() {
            let every = self.every;
            let next = self.next.get_mut().unwrap();
            let wait = next.get_or_insert_with(|| TokioRuntime.sleep(every));
            ready!(wait.as_mut().poll(cx));
            *next = None;
        }
        self.taken.fetch_add(1, Ordering::SeqCst);
        Poll::Ready(Some(Ok(Frame::data(self.frame.clone()))))
    }
}

/// A rule that holds only by what the body says, which is nothing.
fn config() -> RetryConfig {
    let document = json!({
        "version": 1,
        "retry": {"max_retries": 0},
        "rules": [{"when": {"message": "never", "status": [200, 400]}, "do": "fail"}],
    });
    RetryConfig::load(&serde_json::from_value(document).unwrap()).unwrap()
}

fn response<B>(status: u16, body: B) -> Response<B> {
    Response::builder().status(status).body(body).unwrap()
}

/// A middleware that answers once.
struct Once(Mutex<Option<reqwest::Response>>);

#[async_trait::async_trait]
impl Middleware for Once {
    async fn handle(
        &self,
        _: reqwest::Request,
        _: &mut Extensions,
        _: Next<'_>,
    ) -> reqwest_middleware::Result<reqwest::Response> {
        Ok(self.0.lock().unwrap().take().unwrap())
    }
}

type AnyBody =
    http_body_util::combinators::UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// What each stack makes of an answer with such a body.
async fn through(
    stack: &str,
    status: u16,
    body: Endless,
    set: impl Fn(RetryLayer, RetryMiddleware) -> (RetryLayer, RetryMiddleware),
) -> Response<AnyBody> {
    let config = config();
    let (layer, middleware) = set(
        RetryLayer::from_config(&config),
        RetryMiddleware::from_config(&config),
    );
    if stack == "tower" {
        let answer = Mutex::new(Some(response(status, body)));
        let answer = Arc::new(answer);
        let client = service_fn(move |_: http::Request<String>| {
            ready(Ok::<_, Infallible>(answer.lock().unwrap().take().unwrap()))
        });
        let request = http::Request::get("http://a.example/").body(String::new());
        let sent = layer.layer(client).oneshot(request.unwrap()).await.unwrap();
        return sent.map(|body| body.map_err(Into::into).boxed_unsync());
    }
    let answer = reqwest::Response::from(response(status, reqwest::Body::wrap(body)));
    let client = ClientBuilder::new(CLIENT.clone()).with(middleware);
    let client = client.with(Once(Mutex::new(Some(answer)))).build();
    let sent = client.get("http://a.example/").send().await.unwrap();
    Response::<reqwest::Body>::from(sent).map(|body| body.map_err(Into::into).boxed_unsync())
}

const STACKS: [&str; 2] = ["tower", "middleware"];

#[test]
fn no_more_is_read_than_the_limit_and_one_frame() {
    for (stack, frame) in STACKS.into_iter().flat_map(|stack| {
        [1, 7, 1_000, 16 * KIB, LIMIT, LIMIT + 1, 1024 * KIB].map(|frame| (stack, frame))
    }) {
        let (body, taken) = Endless::new(frame, Duration::ZERO);
        let paused = |layer: RetryLayer, middleware: RetryMiddleware| {
            let runtime = ManualRuntime::paused();
            (layer.runtime(runtime.clone()), middleware.runtime(runtime))
        };
        let answer = through(stack, 400, body, paused).now_or_never();
        let mut body = answer.expect("no time passes").into_body();
        let read = taken.load(Ordering::SeqCst);
        assert!(
            read > 0 && read * frame <= LIMIT + frame,
            "{stack} {frame}: {read} frames"
        );
        // Nor are there more of them, however short they are.
        assert!(read <= 10_000, "{stack} {frame}: {read} frames");
        // What was read comes in frames of any length.
        let mut got = 0;
        while got < (read + 3) * frame {
            let next = body.frame().now_or_never().unwrap().unwrap().unwrap();
            got += next.into_data().unwrap().len();
        }
        assert_eq!(got, (read + 3) * frame, "{stack} {frame}: every byte");
        assert_eq!(
            taken.load(Ordering::SeqCst),
            read + 3,
            "{stack} {frame}: none is lost"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_trickles_is_read_for_two_seconds() {
    for stack in STACKS {
        let (body, taken) = Endless::new(10, Duration::from_millis(300));
        let before = TokioRuntime.now();
        let mut body = through(stack, 400, body, |layer, middleware| (layer, middleware))
            .await
            .into_body();
        let took = TokioRuntime.now() - before;
        assert!(
            took >= Duration::from_secs(2) && took < Duration::from_millis(2_010),
            "{stack}: {took:?}"
        );
        assert_eq!(taken.load(Ordering::SeqCst), 6, "{stack}");
        let mut got = Vec::new();
        while got.len() < 80 {
            let next = body.frame().await.unwrap().unwrap();
            got.extend_from_slice(&next.into_data().unwrap());
        }
        assert_eq!(got, [b'x'; 80], "{stack}");
        assert!(
            (TokioRuntime.now() - before) < Duration::from_millis(2_410),
            "{stack}: the caller goes on where the look ended"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_success_starts_at_once() {
    for stack in STACKS {
        let (body, taken) = Endless::new(10, Duration::from_millis(300));
        let before = TokioRuntime.now();
        let body = through(stack, 200, body, |layer, middleware| (layer, middleware))
            .await
            .into_body();
        assert_eq!(
            ((TokioRuntime.now() - before), taken.load(Ordering::SeqCst)),
            (Duration::ZERO, 0),
            "{stack}"
        );
        drop(body);
    }
}
