//! A client that responds from a script.

use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri};
use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A client that gives the responses of a script in order, and then repeats the last one; 200 if there is none.
///
/// It is a tower service for `http::Request<B>` (feature `tower`) and a last middleware for reqwest-middleware (feature
/// `reqwest`), so tests need no network. Clones share the script and the record. It is always ready, responds at once
/// except after [`hang`](Self::hang), and does not read the bodies of requests.
///
/// ```
/// # {
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
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Script(Arc<Mutex<ScriptState>>);

#[derive(Default)]
struct ScriptState {
    responses: VecDeque<ScriptedResponse>,
    requests: Vec<Request<()>>,
}

#[derive(Clone)]
enum ScriptedResponse {
    Response(StatusCode, HeaderMap, String),
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
            Ok(status) => ScriptedResponse::Response(status, HeaderMap::new(), String::new()),
            Err(_) => ScriptedResponse::InvalidStatus(status),
        })
    }

    /// Adds a header to the last response, beside one of the same name. Ignored if the header is invalid, or if the last
    /// entry is not a response.
    #[must_use]
    pub fn header(self, name: &str, value: &str) -> Self {
        if let Some(ScriptedResponse::Response(_, headers, _)) = self.state().responses.back_mut() {
            if let (Ok(name), Ok(value)) =
                (name.parse::<HeaderName>(), value.parse::<HeaderValue>())
            {
                headers.append(name, value);
            }
        }
        self
    }

    /// Sets the body of the last response. Ignored if the last entry is not a response.
    #[must_use]
    pub fn body(self, text: &str) -> Self {
        if let Some(ScriptedResponse::Response(_, _, body)) = self.state().responses.back_mut() {
            text.clone_into(body);
        }
        self
    }

    /// Adds an I/O error of this kind: with tower as it is, with reqwest as an error of a middleware.
    #[must_use]
    pub fn error(self, kind: io::ErrorKind) -> Self {
        self.then(ScriptedResponse::Error(kind))
    }

    /// Adds an attempt that never ends, so that a time limit must cut it.
    ///
    /// ```
    /// use futures_util::FutureExt;
    /// use http_retry::RetryPolicy;
    /// use http_retry::testing::{ManualRuntime, Script};
    /// use http_retry::tower::RetryLayer;
    /// use std::time::Duration;
    /// use tower::{Layer, ServiceExt};
    ///
    /// let policy = RetryPolicy::background().to_builder().attempt_timeout(Duration::from_secs(5)).build()?;
    /// let server = Script::new().hang().status(200);
    /// let service = RetryLayer::new(policy).runtime(ManualRuntime::new()).layer(server.clone());
    /// let request = http::Request::get("http://a.example/").body(String::new()).unwrap();
    /// let response = service.oneshot(request).now_or_never().unwrap().unwrap();
    /// assert_eq!((response.status().as_u16(), server.calls().len()), (200, 2));
    /// # Ok::<(), http_retry::ConfigError>(())
    /// ```
    #[must_use]
    pub fn hang(self) -> Self {
        self.then(ScriptedResponse::Hang)
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
    /// # use futures_util::FutureExt;
    /// use http_retry::testing::Script;
    /// use tower::ServiceExt;
    ///
    /// let server = Script::new();
    /// let request = http::Request::get("http://a.example/").header("x-tenant", "7").body(()).unwrap();
    /// server.clone().oneshot(request).now_or_never().unwrap().unwrap();
    /// assert_eq!(server.requests()[0].headers()["x-tenant"], "7");
    /// ```
    #[must_use]
    pub fn requests(&self) -> Vec<Request<()>> {
        self.state().requests.clone()
    }

    fn then(self, response: ScriptedResponse) -> Self {
        self.state().responses.push_back(response);
        self
    }

    async fn respond(self, request: Request<()>) -> io::Result<Response<String>> {
        let response = {
            let mut state = self.state();
            state.requests.push(request);
            match state.responses.len() {
                0 | 1 => state.responses.front().cloned(),
                _ => state.responses.pop_front(),
            }
        };
        match response {
            None => Ok(Response::new(String::new())),
            Some(ScriptedResponse::Error(kind)) => Err(kind.into()),
            Some(ScriptedResponse::InvalidStatus(status)) => Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("the script has the status {status}, which is not 100 to 999"),
            )),
            Some(ScriptedResponse::Hang) => std::future::pending().await,
            Some(ScriptedResponse::Response(status, headers, body)) => {
                let mut response = Response::new(body);
                *response.status_mut() = status;
                *response.headers_mut() = headers;
                Ok(response)
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, ScriptState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Script")
            .field("responses", &state.responses.len())
            .field("requests", &state.requests.len())
            .finish_non_exhaustive()
    }
}

impl<B> tower_service::Service<http::Request<B>> for Script {
    type Response = Response<String>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Response<String>>> + Send>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let (parts, _) = request.into_parts();
        Box::pin(self.clone().respond(Request::from_parts(parts, ())))
    }
}

#[cfg(feature = "reqwest")]
#[async_trait::async_trait]
impl reqwest_middleware::Middleware for Script {
    async fn handle(
        &self,
        request: ::reqwest::Request,
        _: &mut http::Extensions,
        _: reqwest_middleware::Next<'_>,
    ) -> reqwest_middleware::Result<::reqwest::Response> {
        use ::reqwest::ResponseBuilderExt;

        let mut head = Request::new(());
        *head.method_mut() = request.method().clone();
        *head.uri_mut() = request.url().as_str().parse().unwrap_or_default();
        *head.version_mut() = request.version();
        *head.headers_mut() = request.headers().clone();
        let responded = self.clone().respond(head).await;
        let (parts, body) = responded
            .map_err(reqwest_middleware::Error::middleware)?
            .into_parts();
        let mut response = Response::builder()
            .url(request.url().clone())
            .body(body)
            .map_err(reqwest_middleware::Error::middleware)?;
        *response.status_mut() = parts.status;
        *response.headers_mut() = parts.headers;
        Ok(response.into())
    }
}
