//! A client that responds from a script.

use crate::{ManualRuntime, ScriptBody};
use bytes::{Buf, Bytes};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body::Body;
use http_retry_core::runtime::Runtime;
use std::collections::VecDeque;
use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

/// A client that gives the responses of a script in order, and then repeats the last one; 200 if there is none.
///
/// It is a tower service for `http::Request<B>` and a last middleware for reqwest-middleware (feature
/// `reqwest`), so tests need no network. Clones share the script and the record. It is always ready, reads the whole body
/// of a request, and responds at once, except where [`delay`](Self::delay) or [`hang`](Self::hang) says otherwise. It
/// follows no redirects, and a retry middleware above knows that: a POST that gets a 429 is sent again.
///
/// ```
/// use http::Request;
/// use http_retry::RetryPolicy;
/// use http_retry::testing::{ManualRuntime, Script};
/// use http_retry::tower::RetryLayer;
/// use std::io::ErrorKind;
/// use tower::{Layer, ServiceExt};
///
/// # async fn get() -> Result<(), tower::BoxError> {
/// let client = Script::new()
///     .status(503)
///     .header("retry-after", "2")
///     .error(ErrorKind::ConnectionReset)
///     .status(200)
///     .body("done");
/// let layer = RetryLayer::new(RetryPolicy::background()).runtime(ManualRuntime::new());
/// let request = Request::get("http://a.example/jobs").body(String::new())?;
/// let response = layer.layer(client.clone()).oneshot(request).await?;
/// assert_eq!(response.status(), 200);
/// assert_eq!(client.calls().len(), 3);
/// # Ok(()) }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(get()).unwrap();
/// ```
#[derive(Clone, Default)]
pub struct Script(Arc<Mutex<ScriptState>>);

#[derive(Default)]
struct ScriptState {
    entries: VecDeque<Entry>,
    requests: Vec<Request<()>>,
    bodies: Vec<Vec<u8>>,
}

/// One entry of the script, and the time before it.
#[derive(Clone)]
struct Entry {
    delay: Option<(ManualRuntime, Duration)>,
    result: ScriptedResult,
}

#[derive(Clone)]
enum ScriptedResult {
    Response(StatusCode, HeaderMap, ScriptBody),
    Error(io::ErrorKind),
    InvalidStatus(u16),
    Hang,
}

impl Script {
    /// A client that responds to each request with 200, until a response is added.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a response with this status, 100 to 999, without headers and with an empty body.
    ///
    /// Any other number is an error of the request that meets it, of the kind `InvalidInput`.
    #[must_use]
    pub fn status(self, status: u16) -> Self {
        self.then(match StatusCode::from_u16(status) {
            Ok(status) => ScriptedResult::Response(status, HeaderMap::new(), ScriptBody::default()),
            Err(_) => ScriptedResult::InvalidStatus(status),
        })
    }

    /// Adds a header to the last response, beside one of the same name. Ignored if the header is invalid, or if the last
    /// entry is not a response.
    #[must_use]
    pub fn header(self, name: &str, value: &str) -> Self {
        self.edit_response(|headers, _| {
            if let (Ok(name), Ok(value)) =
                (name.parse::<HeaderName>(), value.parse::<HeaderValue>())
            {
                headers.append(name, value);
            }
        })
    }

    /// Sets the body of the last response. Ignored if the last entry is not a response.
    #[must_use]
    pub fn body(self, text: &str) -> Self {
        self.edit_response(|_, body| body.set_text(text))
    }

    /// Ends the body of the last response with an I/O error of this kind, after its text: a connection that breaks in
    /// the middle of a body. Ignored if the last entry is not a response.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), tower::BoxError> {
    /// use http_body_util::BodyExt;
    /// use http_retry::testing::Script;
    /// use std::io::ErrorKind;
    /// use tower::ServiceExt;
    ///
    /// let server = Script::new().status(200).body("hel").break_body(ErrorKind::ConnectionReset);
    /// let request = http::Request::get("http://a.example/").body(String::new())?;
    /// let response = server.oneshot(request).await?;
    /// let error = response.into_body().collect().await.unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn break_body(self, kind: io::ErrorKind) -> Self {
        self.edit_response(|_, body| body.break_with(kind))
    }

    /// Makes the last entry take this long on the clock of `runtime`, the one that the layer has. Ignored if the script
    /// is empty. Such a call is polled more than once, so it needs an executor.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    /// use http_retry::testing::{ManualRuntime, Script};
    /// use http_retry::tower::RetryLayer;
    /// use std::time::Duration;
    /// use tower::{BoxError, Layer, ServiceExt};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), BoxError> {
    /// let runtime = ManualRuntime::new();
    /// let policy = RetryPolicy::background().to_builder().attempt_timeout(Duration::from_secs(5)).build()?;
    /// let server = Script::new()
    ///     .status(200)
    ///     .delay(&runtime, Duration::from_secs(8))
    ///     .status(200)
    ///     .delay(&runtime, Duration::from_secs(3));
    /// let service = RetryLayer::new(policy).runtime(runtime).layer(server.clone());
    /// service.oneshot(http::Request::get("http://a.example/").body(String::new())?).await?;
    /// assert_eq!(server.calls().len(), 2); // the first attempt met its limit
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn delay(self, runtime: &ManualRuntime, time: Duration) -> Self {
        if let Some(entry) = self.state().entries.back_mut() {
            entry.delay = Some((runtime.clone(), time));
        }
        self
    }

    /// Adds an I/O error of this kind: with tower as it is, with reqwest as an error of a middleware.
    #[must_use]
    pub fn error(self, kind: io::ErrorKind) -> Self {
        self.then(ScriptedResult::Error(kind))
    }

    /// Adds an attempt that never ends, so that a time limit must cut it.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), tower::BoxError> {
    /// use http_retry::RetryPolicy;
    /// use http_retry::testing::{ManualRuntime, Script};
    /// use http_retry::tower::RetryLayer;
    /// use std::time::Duration;
    /// use tower::{Layer, ServiceExt};
    ///
    /// let policy = RetryPolicy::background().to_builder().attempt_timeout(Duration::from_secs(5)).build()?;
    /// let server = Script::new().hang().status(200);
    /// let service = RetryLayer::new(policy).runtime(ManualRuntime::new()).layer(server.clone());
    /// let request = http::Request::get("http://a.example/").body(String::new())?;
    /// let response = service.oneshot(request).await?;
    /// assert_eq!((response.status().as_u16(), server.calls().len()), (200, 2));
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn hang(self) -> Self {
        self.then(ScriptedResult::Hang)
    }

    /// Returns the method and the whole URI of each request received, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<(Method, Uri)> {
        let line = |request: &Request<()>| (request.method().clone(), request.uri().clone());
        self.state().requests.iter().map(line).collect()
    }

    /// Returns the head of each request received, in order: method, URI, version and headers.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), tower::BoxError> {
    /// # use http_retry::testing::Script;
    /// use tower::ServiceExt;
    ///
    /// let server = Script::new();
    /// let request = http::Request::get("http://a.example/").header("x-tenant", "7").body(String::new())?;
    /// server.clone().oneshot(request).await?;
    /// assert_eq!(server.requests()[0].headers()["x-tenant"], "7");
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn requests(&self) -> Vec<Request<()>> {
        self.state().requests.clone()
    }

    /// Returns the bodies of the requests received, in order, each as far as it was read.
    ///
    /// ```
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), tower::BoxError> {
    /// # use http_retry::RetryPolicy;
    /// use http_retry::testing::{ManualRuntime, Script};
    /// use http_retry::tower::RetryLayer;
    /// use tower::{Layer, ServiceExt};
    ///
    /// let server = Script::new().status(503).status(200);
    /// let layer = RetryLayer::new(RetryPolicy::background()).runtime(ManualRuntime::new());
    /// let request = http::Request::put("http://a.example/").body("seven".to_owned())?;
    /// layer.layer(server.clone()).oneshot(request).await?;
    /// assert_eq!(server.bodies(), ["seven", "seven"]);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn bodies(&self) -> Vec<Bytes> {
        let state = self.state();
        let bodies = state.bodies.iter().map(|body| Bytes::copy_from_slice(body));
        bodies.collect()
    }

    fn then(self, result: ScriptedResult) -> Self {
        let delay = None;
        self.state().entries.push_back(Entry { delay, result });
        self
    }

    fn edit_response(self, edit: impl FnOnce(&mut HeaderMap, &mut ScriptBody)) -> Self {
        if let Some(Entry {
            result: ScriptedResult::Response(_, headers, body),
            ..
        }) = self.state().entries.back_mut()
        {
            edit(headers, body);
        }
        self
    }

    async fn respond<B>(self, request: Request<B>) -> io::Result<Response<ScriptBody>>
    where
        B: Body<Error: Into<Box<dyn Error + Send + Sync>>>,
    {
        let (parts, body) = request.into_parts();
        let (number, entry) = self.next_entry(Request::from_parts(parts, ()));
        self.record_body(number, body).await?;
        let Some(Entry { delay, result }) = entry else {
            return Ok(Response::new(ScriptBody::default()));
        };
        if let Some((runtime, time)) = delay {
            let delayed = runtime.sleep(time);
            // A layer may start its time limit only when an attempt turns out to be pending.
            yield_once().await;
            delayed.await;
        }
        match result {
            ScriptedResult::Error(kind) => Err(kind.into()),
            ScriptedResult::InvalidStatus(status) => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("the script has the status {status}, which is not 100 to 999"),
            )),
            ScriptedResult::Hang => std::future::pending().await,
            ScriptedResult::Response(status, headers, body) => {
                let mut response = Response::new(body);
                *response.status_mut() = status;
                *response.headers_mut() = headers;
                Ok(response)
            }
        }
    }

    /// Records the head of a request, and returns its number and its entry of the script.
    fn next_entry(&self, request: Request<()>) -> (usize, Option<Entry>) {
        let mut state = self.state();
        let number = state.requests.len();
        state.requests.push(request);
        state.bodies.push(Vec::new());
        let entry = match state.entries.len() {
            0 | 1 => state.entries.front().cloned(),
            _ => state.entries.pop_front(),
        };
        (number, entry)
    }

    async fn record_body<B>(&self, number: usize, body: B) -> io::Result<()>
    where
        B: Body<Error: Into<Box<dyn Error + Send + Sync>>>,
    {
        let mut body = pin!(body);
        while let Some(frame) = poll_fn(|cx| body.as_mut().poll_frame(cx)).await {
            let Ok(mut data) = frame.map_err(io::Error::other)?.into_data() else {
                continue;
            };
            let data = data.copy_to_bytes(data.remaining());
            if let Some(recorded) = self.state().bodies.get_mut(number) {
                recorded.extend_from_slice(&data);
            }
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, ScriptState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn yield_once() {
    let mut has_yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Script")
            .field("entries", &state.entries.len())
            .field("requests", &state.requests.len())
            .finish_non_exhaustive()
    }
}

impl<B> tower_service::Service<Request<B>> for Script
where
    B: Body<Data: Send, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static,
{
    type Response = Response<ScriptBody>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        Box::pin(self.clone().respond(request))
    }
}

// In the browser, a response of reqwest cannot be made.
#[cfg(all(
    feature = "reqwest",
    not(all(target_arch = "wasm32", target_os = "unknown"))
))]
#[async_trait::async_trait]
impl reqwest_middleware::Middleware for Script {
    async fn handle(
        &self,
        mut request: ::reqwest::Request,
        _: &mut http::Extensions,
        _: reqwest_middleware::Next<'_>,
    ) -> reqwest_middleware::Result<::reqwest::Response> {
        use ::reqwest::ResponseBuilderExt;

        http_retry_core::adapter::follows_no_redirects();
        let url = request.url().clone();
        let mut scripted = Request::new(request.body_mut().take().unwrap_or_default());
        *scripted.method_mut() = request.method().clone();
        *scripted.uri_mut() = url.as_str().parse().unwrap_or_default();
        *scripted.version_mut() = request.version();
        *scripted.headers_mut() = request.headers().clone();
        let responded = self.clone().respond(scripted).await;
        let (parts, body) = responded
            .map_err(reqwest_middleware::Error::middleware)?
            .into_parts();
        let mut response = Response::builder()
            .url(url)
            .body(::reqwest::Body::wrap(body))
            .map_err(reqwest_middleware::Error::middleware)?;
        *response.status_mut() = parts.status;
        *response.headers_mut() = parts.headers;
        Ok(response.into())
    }
}
