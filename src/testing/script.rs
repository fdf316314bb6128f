//! A client that answers from a list.

use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, Uri};
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A client that gives the answers of a list in order, and then repeats the last one; without a list, 200.
///
/// It is a tower service for `http::Request<B>` (feature `tower`) and a last middleware for reqwest-middleware (feature
/// `reqwest`), so tests need no network. Clones share the list and the record. It is always ready, answers at once, and does
/// not read the bodies of requests.
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
    answers: VecDeque<ScriptedResponse>,
    calls: Vec<(Method, Uri)>,
}

#[derive(Clone)]
enum ScriptedResponse {
    Response(StatusCode, HeaderMap, String),
    Error(io::ErrorKind),
}

impl Script {
    /// A client that answers each request with 200, until an answer is added.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Then answers with this status, 100 to 999, without headers and with an empty body; an invalid one counts as 500.
    #[must_use]
    pub fn status(self, status: u16) -> Self {
        let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        self.then(ScriptedResponse::Response(
            status,
            HeaderMap::new(),
            String::new(),
        ))
    }

    /// Adds a header to the last answer, beside one of the same name. An invalid one is left out, and so is one where no answer
    /// is there, or an error.
    #[must_use]
    pub fn header(self, name: &str, value: &str) -> Self {
        if let Some(ScriptedResponse::Response(_, headers, _)) = self.tape().answers.back_mut() {
            if let (Ok(name), Ok(value)) =
                (name.parse::<HeaderName>(), value.parse::<HeaderValue>())
            {
                headers.append(name, value);
            }
        }
        self
    }

    /// Gives the last answer a body, in the place of an earlier one. Where no answer is there, or an error, it is left out.
    #[must_use]
    pub fn body(self, text: &str) -> Self {
        if let Some(ScriptedResponse::Response(_, _, body)) = self.tape().answers.back_mut() {
            text.clone_into(body);
        }
        self
    }

    /// Then fails with an I/O error of this kind: with tower as it is, with reqwest as an error of a middleware.
    #[must_use]
    pub fn error(self, kind: io::ErrorKind) -> Self {
        self.then(ScriptedResponse::Error(kind))
    }

    /// The received requests, in order: the method and the whole URI of each, its query and its user info too.
    #[must_use]
    pub fn calls(&self) -> Vec<(Method, Uri)> {
        self.tape().calls.clone()
    }

    fn then(self, answer: ScriptedResponse) -> Self {
        self.tape().answers.push_back(answer);
        self
    }

    fn call(&self, method: Method, uri: Uri) -> io::Result<Response<String>> {
        let mut tape = self.tape();
        tape.calls.push((method, uri));
        let answer = match tape.answers.len() {
            0 | 1 => tape.answers.front().cloned(),
            _ => tape.answers.pop_front(),
        };
        match answer {
            None => Ok(Response::new(String::new())),
            Some(ScriptedResponse::Error(kind)) => Err(kind.into()),
            Some(ScriptedResponse::Response(status, headers, body)) => {
                let mut response = Response::new(body);
                *response.status_mut() = status;
                *response.headers_mut() = headers;
                Ok(response)
            }
        }
    }

    fn tape(&self) -> MutexGuard<'_, ScriptState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tape = self.tape();
        f.debug_struct("Script")
            .field("answers", &tape.answers.len())
            .field("calls", &tape.calls.len())
            .finish_non_exhaustive()
    }
}

impl<B> tower_service::Service<http::Request<B>> for Script {
    type Response = Response<String>;
    type Error = io::Error;
    type Future = std::future::Ready<io::Result<Response<String>>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<io::Result<()>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let (parts, _) = request.into_parts();
        std::future::ready(Self::call(self, parts.method, parts.uri))
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

        let uri = request.url().as_str().parse().unwrap_or_default();
        let answer = self.call(request.method().clone(), uri);
        let (parts, body) = answer
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
