//! A retry layer over a mock service, driven step by step on a clock that stands still; and over a service that answers
//! from a list, on a clock that jumps.

use bytes::Bytes;
use futures_util::{FutureExt, Stream, StreamExt, stream};
use http::StatusCode;
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use http_retry::runtime::Runtime;
use http_retry::testing::{ManualRuntime, Script, ScriptBody};
use http_retry::tower::marker::{Boxed, CloneBody, Unchanged, Wrapped};
use http_retry::tower::{Retry, RetryLayer};
use http_retry::{
    Backoff, Jitter, ReportSlot, RetryBody, RetryBudget, RetryOverride, RetryPolicy,
    RetryPolicyBuilder, RetryReport,
};
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;
use tower::util::MapErr;
use tower::{BoxError, Layer, Service, ServiceExt};
use tower_test::mock::{Handle, Mock, SendResponse, pair};

pub(super) type Body = UnsyncBoxBody<Bytes, Infallible>;
pub(super) type Request = http::Request<String>;
pub(super) type Response = http::Response<Body>;
pub(super) type Answer<X = Boxed> = http::Response<RetryBody<Body, X>>;

pub(super) const SECOND: Duration = Duration::from_secs(1);
/// The wait before every retry of [`policy`].
pub(super) const DELAY: Duration = Duration::from_secs(2);
/// The tokens that the budget of a stack holds at the start: half of what it could hold.
pub(super) const TOKENS: u64 = 5;

/// Two retries, [`DELAY`] before each, no time limits, and no gate: a 429 counts as an attempt like any other.
pub(super) fn policy() -> RetryPolicyBuilder {
    RetryPolicy::builder()
        .max_retries(2)
        .max_gate_wait(None)
        .backoff(Backoff::fixed(DELAY).jitter(Jitter::None))
}

/// A layer of [`policy`], on a clock that jumps.
pub(super) fn layer() -> RetryLayer {
    RetryLayer::new(policy().build().unwrap()).runtime(ManualRuntime::new())
}

pub(super) type Server = Mock<Request, Response>;

/// An error that nothing of this crate's can be.
#[derive(Debug)]
pub(super) struct Own(pub(super) BoxError);

/// A mock service with such errors.
pub(super) type OwnServer = MapErr<Server, fn(BoxError) -> Own>;

/// A retry layer over a mock service.
pub(super) struct Stack<X = Boxed, S = Server> {
    pub(super) service: Retry<S, CloneBody, Wrapped<X>>,
    pub(super) server: Handle<Request, Response>,
    pub(super) runtime: ManualRuntime,
    pub(super) budget: RetryBudget,
}

impl Stack {
    pub(super) fn new(policy: RetryPolicyBuilder) -> Self {
        Self::layered(policy, |layer| layer)
    }
}

impl Stack<Unchanged, OwnServer> {
    /// Errors keep their type.
    pub(super) fn unchanged(policy: RetryPolicyBuilder) -> Self {
        Self::unchanged_with(policy, |layer| layer)
    }

    pub(super) fn unchanged_with(
        policy: RetryPolicyBuilder,
        settings: impl FnOnce(RetryLayer) -> RetryLayer,
    ) -> Self {
        let own = |server: Server| server.map_err(Own as fn(BoxError) -> Own);
        Self::over(policy, |layer| settings(layer).unchanged_errors(), own)
    }
}

impl<X> Stack<X> {
    pub(super) fn layered(
        policy: RetryPolicyBuilder,
        settings: impl FnOnce(RetryLayer) -> RetryLayer<CloneBody, Wrapped<X>>,
    ) -> Self {
        Self::over(policy, settings, |server| server)
    }
}

impl<X, S> Stack<X, S> {
    fn over(
        policy: RetryPolicyBuilder,
        settings: impl FnOnce(RetryLayer) -> RetryLayer<CloneBody, Wrapped<X>>,
        below: impl FnOnce(Server) -> S,
    ) -> Self
    where
        S: Clone,
    {
        let runtime = ManualRuntime::paused();
        let budget = RetryBudget::builder().capacity(10).initial(5);
        let budget = budget.per_success(0).build().unwrap();
        let layer = RetryLayer::new(policy.build().unwrap())
            .runtime(runtime.clone())
            .budget(budget.clone());
        let (mock, server) = pair();
        Self {
            service: settings(layer).layer(below(mock)),
            server,
            runtime,
            budget,
        }
    }

    /// The next request that reached the server, and the way to answer it.
    pub(super) fn received(&mut self) -> (Request, SendResponse<Response>) {
        match self.server.poll_request() {
            Poll::Ready(Some(received)) => received,
            _ => panic!("nothing was sent"),
        }
    }

    pub(super) fn answer(&mut self, response: Response) {
        self.received().1.send_response(response);
    }

    pub(super) fn fail(&mut self, error: impl Into<BoxError>) {
        self.received().1.send_error(error);
    }

    /// Whether nothing was sent since the last request that was received.
    pub(super) fn is_idle(&mut self) -> bool {
        self.server.poll_request().is_pending()
    }

    pub(super) fn tokens(&self) -> u64 {
        self.budget.available(self.runtime.now())
    }
}

impl<X, S, E> Stack<X, S>
where
    Retry<S, CloneBody, Wrapped<X>>:
        Service<Request, Response = Answer<X>, Error = E, Future: 'static>,
    E: std::fmt::Debug,
{
    /// Sends a request as far as it goes by itself.
    pub(super) fn start(&mut self, request: Request) -> Call<E, X> {
        let ready = self.service.ready().now_or_never();
        let service = ready.expect("ready").unwrap();
        let mut call = Call(Box::pin(service.call(request)));
        assert!(call.is_pending());
        call
    }

    /// A call whose first attempt was answered.
    pub(super) fn answered(&mut self, request: Request, response: Response) -> Call<E, X> {
        let call = self.start(request);
        self.answer(response);
        call
    }

    /// Lets the time of the next retry come, and the retry go out.
    pub(super) fn next_retry(&mut self, call: &mut Call<E, X>) {
        assert!(call.is_pending());
        self.runtime.advance(DELAY);
        assert!(call.is_pending());
    }
}

/// A call that goes on only when it is polled by hand.
pub(super) struct Call<E = BoxError, X = Boxed>(
    Pin<Box<dyn Future<Output = Result<Answer<X>, E>>>>,
);

impl<E, X> Call<E, X> {
    pub(super) fn is_pending(&mut self) -> bool {
        self.0.as_mut().now_or_never().is_none()
    }

    pub(super) fn end(mut self) -> Result<Answer<X>, E> {
        self.0.as_mut().now_or_never().expect("the call is over")
    }
}

pub(super) fn get() -> Request {
    http::Request::get("http://api.example/a")
        .body(String::new())
        .unwrap()
}

pub(super) fn post() -> Request {
    http::Request::post("http://api.example/a")
        .body("b".into())
        .unwrap()
}

/// The same request, and where its report will be.
pub(super) fn with_slot<B>(mut request: http::Request<B>) -> (http::Request<B>, ReportSlot) {
    let slot = RetryReport::slot();
    request.extensions_mut().insert(slot.clone());
    (request, slot)
}

/// The same request with settings of its own.
pub(super) fn with_own<B>(mut request: http::Request<B>, own: RetryOverride) -> http::Request<B> {
    request.extensions_mut().insert(own);
    request
}

pub(super) fn status(status: u16) -> Response {
    text(status, "")
}

pub(super) fn text(status: u16, text: &'static str) -> Response {
    let mut response = http::Response::new(Full::from(text).boxed_unsync());
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response
}

pub(super) fn asking(status: u16, seconds: &'static str) -> Response {
    let mut response = text(status, "later");
    let value = http::HeaderValue::from_static(seconds);
    response.headers_mut().insert("retry-after", value);
    response
}

/// A response whose body never comes to an end, and a sign of whether somebody still holds it.
pub(super) fn endless(status: u16) -> (Response, Weak<()>) {
    streamed(status, stream::pending())
}

/// A response, and a sign of whether somebody still holds its body.
pub(super) fn guarded(status: u16, text: &'static str) -> (Response, Weak<()>) {
    let frame = Frame::data(Bytes::from(text));
    streamed(status, stream::iter([Ok(frame)]))
}

fn streamed<S>(status: u16, frames: S) -> (Response, Weak<()>)
where
    S: Stream<Item = Result<Frame<Bytes>, Infallible>> + Send + 'static,
{
    let held = Arc::new(());
    let sign = Arc::downgrade(&held);
    let frames = frames.inspect(move |_| {
        let _held = &held;
    });
    let body = StreamBody::new(frames).boxed_unsync();
    (text(status, "").map(|_| body), sign)
}

pub(super) fn report<B>(response: &http::Response<B>) -> &RetryReport {
    response.extensions().get().expect("a report")
}

/// The whole body as text.
pub(super) fn body_of<B>(response: http::Response<B>) -> String
where
    B: http_body::Body<Data = Bytes, Error: std::fmt::Debug>,
{
    let whole = response.into_body().collect().now_or_never();
    let whole = whole.expect("a body at its end").unwrap().to_bytes();
    String::from_utf8(whole.to_vec()).unwrap()
}

/// What comes of one request through a layer over a list of answers, on a clock that jumps.
pub(super) fn sent_through<X>(
    layer: RetryLayer<CloneBody, Wrapped<X>>,
    client: &Script,
    request: Request,
) -> Result<http::Response<RetryBody<ScriptBody, X>>, BoxError>
where
    Retry<Script, CloneBody, Wrapped<X>>:
        Service<Request, Response = http::Response<RetryBody<ScriptBody, X>>, Error = BoxError>,
{
    let service = layer.runtime(ManualRuntime::new()).layer(client.clone());
    let sent = service.oneshot(request).now_or_never();
    sent.expect("the call is over")
}
