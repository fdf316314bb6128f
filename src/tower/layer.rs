//! The layer: the settings of a service with retries.

use super::marker::{CloneBody, CopyBody, RecordBody, SameType, Wrapped};
use super::service::Retry;
use crate::RetryPolicy;
use crate::client::ReplayBody;
use crate::client::responses::ErrorForm;
use crate::engine::{Engine, Routes, http_engine_settings};
use crate::resume::Resume;
use crate::route::Router;
use crate::runtime::DefaultRuntime;
#[cfg(feature = "services")]
use crate::services::Services;
use http_retry_core::adapter::warn_of_setting;
use http_retry_core::settings::PolicyExt;
use std::sync::Arc;
use tower_layer::Layer;

/// Adds retries to a tower service.
///
/// The defaults: its own budget and gate, tokio's clock, errors in a `Box<dyn Error + Send + Sync>`, bodies copied by
/// `Clone`, responses with a [`RetryBody`](crate::RetryBody). A clone of the layer, and every service that it makes,
/// shares the budget and the gate.
///
/// ```
/// # #[cfg(not(feature = "testing"))]
/// # fn main() {}
/// # #[cfg(feature = "testing")]
/// # fn main() -> Result<(), tower::BoxError> {
/// # let mut runtime = tokio::runtime::Builder::new_current_thread();
/// # runtime.enable_time().start_paused(true).build()?.block_on(async {
/// use http_retry::testing::Script;
/// use http_retry::tower::RetryLayer;
/// use http_retry::{RetryBudget, RetryPolicy};
/// use tower::{ServiceBuilder, ServiceExt};
///
/// let budget = RetryBudget::default();
/// let client = Script::new().status(503).status(200);
/// let service = ServiceBuilder::new()
///     .layer(RetryLayer::new(RetryPolicy::background()).budget(budget))
///     .service(client);
///
/// let request = http::Request::get("http://api.example/").body(String::new())?;
/// assert_eq!(service.oneshot(request).await?.status(), 200);
/// # Ok(()) }) }
/// ```
///
/// Every setting has a default. Some of them:
///
/// ```
/// # #[cfg(not(feature = "testing"))] fn main() {}
/// # #[cfg(feature = "testing")] #[tokio::main]
/// # async fn main() -> Result<(), tower::BoxError> {
/// use http::HeaderName;
/// use http_retry::gate::Gate;
/// use http_retry::testing::{ManualRuntime, Script};
/// use http_retry::tower::RetryLayer;
/// use http_retry::{RetryPolicy, ServiceBudgets};
/// use std::time::Duration;
/// use tower::{Layer, ServiceExt};
///
/// let layer = RetryLayer::new(RetryPolicy::background())
///     .budgets(ServiceBudgets::default())
///     .gate(Gate::new())
///     .runtime(ManualRuntime::new())
///     .drain_before_retry(64 * 1024, Duration::from_millis(500))
///     .replay_limit(16 * 1024)
///     .idempotency_keys()
///     .attempt_header(HeaderName::from_static("x-attempt"))
///     .observe(|event| println!("{}: {:?}", event.service, event.kind));
///
/// // The POST is repeated, since it has an idempotency key.
/// let client = Script::new().status(503).status(200);
/// let request = http::Request::post("http://api.example/").body(String::new())?;
/// let response = layer.layer(client.clone()).oneshot(request).await;
/// assert_eq!(response?.status(), 200);
/// assert_eq!(client.calls().len(), 2);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct RetryLayer<C = CloneBody, A = Wrapped> {
    engine: Arc<Engine>,
    copies: C,
    responses: A,
}

impl RetryLayer {
    /// Creates a layer with a policy and a default budget for each service or host, on tokio's clock; errors are boxed.
    #[must_use]
    pub fn new(policy: RetryPolicy) -> Self {
        Self::on(Engine::new(policy, Arc::new(DefaultRuntime)))
    }

    /// Creates a layer with a policy for each service, on tokio's clock; errors are boxed. [`RetryLayer::budget`] pays
    /// if a service has no budget of its own.
    #[cfg(feature = "services")]
    #[must_use]
    // A program without services then does not link their crate.
    #[inline]
    pub fn for_services(services: &Services) -> Self {
        Self::routed(services.clone())
    }

    /// Creates a layer that takes the route of each request from a [`Router`], on tokio's clock; errors are boxed.
    #[must_use]
    pub fn routed(router: impl Router) -> Self {
        Self::on(Engine::new(
            Routes::PerRequest(Arc::new(router)),
            Arc::new(DefaultRuntime),
        ))
    }

    fn on(engine: Engine) -> Self {
        Self {
            engine: Arc::new(engine),
            copies: CloneBody,
            responses: Wrapped::default(),
        }
    }
}

#[cfg(feature = "serde")]
impl RetryLayer {
    /// Creates a layer that follows a document and its changes, on tokio's clock; errors are boxed. The document
    /// decides; [`RetryLayer::budget`] pays if it names no budget.
    #[must_use]
    pub fn from_config(config: &crate::config::RetryConfig) -> Self {
        Self::routed(config.clone())
    }
}

impl<C, A> RetryLayer<C, A> {
    http_engine_settings!();

    /// Sets how downloads are resumed; [`resume_downloads`](RetryLayer::resume_downloads) switches it on. Default
    /// [`Resume::new`].
    #[must_use]
    pub fn resume(self, resume: Resume) -> Self {
        self.with(|engine| engine.downloads = resume.into())
    }

    /// Returns errors in the inner service's own type: for a stack that requires that type (jsonrpsee, alloy), or for
    /// errors that cannot be boxed. Default: errors of the service and of response bodies are a
    /// `Box<dyn Error + Send + Sync>` that holds the inner error unchanged.
    ///
    /// Such an error cannot report a timeout, nor that the policy calls a response a failure:
    ///
    /// | a part of the policy | by default | with `unchanged_errors` |
    /// |---|---|---|
    /// | an `attempt_timeout` or `deadline` that passes, when a retry follows | the attempt is cut | the same |
    /// | the same on the last attempt | the attempt is cut: an [`AttemptTimeout`](crate::AttemptTimeout) | **the attempt runs to its end, however long** |
    /// | the deadline passes during a wait before the first attempt, or after one that was cut | an `AttemptTimeout` | one more attempt is sent |
    /// | `on_exhausted: fail`, a rule with `do: fail` | a [`RequestFailed`](crate::report::RequestFailed) | the last response |
    /// | the source chain of an error | is read | is read of hyper's, reqwest's and h2's types and of those named by `classify_error` |
    /// | a response's body that ends early without an error of its own | ends with an [`IncompleteBody`](crate::IncompleteBody) | **ends as if it were complete** |
    ///
    /// <div class="warning">
    ///
    /// Response bodies keep their error type too, and hyper's cannot hold an `IncompleteBody`. On HTTP/2 hyper ends a
    /// body without an error if its stream is reset, or the connection goes away, with `NO_ERROR`: **the caller gets
    /// part of the body as if it were all of it**, also with `whole_responses` once no retry is left. Compare its length
    /// with `content-length`, or check `size_hint().lower() == 0` after its end.
    ///
    /// </div>
    ///
    /// With the feature `tracing`, this function logs a warning (target `http_retry`) if the layer has one policy with
    /// such a part. If the inner service's error already is a `Box<dyn Error + Send + Sync>`, this function changes
    /// nothing.
    ///
    /// ```
    /// # #[cfg(not(feature = "testing"))] fn main() {}
    /// # #[cfg(feature = "testing")] #[tokio::main]
    /// # async fn main() -> Result<(), tower::BoxError> {
    /// use http_retry::testing::{ManualRuntime, Script};
    /// use http_retry::tower::RetryLayer;
    /// use http_retry::{RetryPolicy, RetryReport};
    /// use std::io;
    /// use tower::{Layer, ServiceExt};
    ///
    /// let layer = RetryLayer::new(RetryPolicy::never()).runtime(ManualRuntime::new());
    /// let client = Script::new().error(io::ErrorKind::BrokenPipe).error(io::ErrorKind::BrokenPipe);
    /// let request = || http::Request::get("http://api.example/").body(String::new());
    ///
    /// let sent = layer.layer(client.clone()).oneshot(request()?).await;
    /// let error: tower::BoxError = sent.unwrap_err();
    /// assert!(error.is::<io::Error>());
    ///
    /// let sent = layer.unchanged_errors().layer(client).oneshot(request()?).await;
    /// let error: io::Error = sent.unwrap_err();
    /// assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn unchanged_errors(self) -> RetryLayer<C, A::Unchanged>
    where
        A: ErrorForm,
    {
        if let Routes::One(route) = &self.engine.routes {
            warn_of_lost_errors(route.policy());
        }
        RetryLayer {
            engine: self.engine,
            copies: self.copies,
            responses: self.responses.unchanged(),
        }
    }
}

impl<C, X> RetryLayer<C, Wrapped<X>> {
    /// Returns responses in the inner service's own type: for a stack that requires that type (alloy on hyper requires
    /// `Response<Incoming>`). Default: responses have a [`RetryBody`](crate::RetryBody).
    ///
    /// Such a response cannot give back bytes that were read, so the layer never returns one that it has read:
    ///
    /// | a part of the policy | with `keep_response_type` |
    /// |---|---|
    /// | status, headers, `Retry-After`, errors, budgets, the gate, reports | as without it |
    /// | a failed response that is returned | as the server sent it, with its body, unless a retry was begun |
    /// | a failed response before a retry (`drain_before_retry`) | read to free its connection, then dropped; kept if it has no body, and unread if the call has a deadline |
    /// | a rule, a classifier or a dialect that reads the body | sees no body, and judges by the head |
    /// | streams that are held back (`HoldStreams`) | are returned at their head |
    /// | `whole_responses` | responses are not read: the caller gets them at their head |
    /// | `respond` | the last response or error is returned |
    /// | `resume_downloads` | does not compile |
    /// | a body that ends early without an error of its own | **ends as if it were complete** |
    ///
    /// <div class="warning">
    ///
    /// The body is the inner service's own, so the layer cannot report that it was cut. On HTTP/2 hyper ends a body
    /// without an error if its stream is reset, or the connection goes away, with `NO_ERROR`: **the caller gets part of
    /// the body as if it were all of it**. Compare its length with `content-length`.
    ///
    /// </div>
    ///
    /// The first call logs a warning if the policy has `respond` or holds streams back, and so does the first response
    /// whose body would have been read (target `http_retry`, with the feature `tracing`). Responses of reqwest keep
    /// their type anyway, and lose nothing.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    /// use http_retry::tower::RetryLayer;
    ///
    /// // alloy: Http::with_client(HyperClient::with_service(layer.layer(client)), url)
    /// let layer = RetryLayer::new(RetryPolicy::background()).keep_response_type();
    /// ```
    #[must_use]
    pub fn keep_response_type(self) -> RetryLayer<C, SameType<X>> {
        RetryLayer {
            engine: self.engine,
            copies: self.copies,
            responses: SameType::default(),
        }
    }
}

impl<A> RetryLayer<CloneBody, A> {
    /// Copies request bodies with this function: for a body that can copy itself, if not every time. The service below
    /// takes `http::Request<B>` as without the layer.
    ///
    /// The layer calls the function once before each attempt but the last. If it returns `None`, the request is sent
    /// once, and a failure comes back with [`BodyNotReplayable`](crate::StopReason::BodyNotReplayable). That holds for
    /// an empty body too: if the function has no copy of one (octocrab's `try_clone`), GETs and DELETEs are sent once,
    /// so use [`record_body`](Self::record_body).
    ///
    /// A copy that announces fewer bytes than the body did before the first attempt, or than `Content-Length` does, is
    /// not sent, with the same stop reason: a body whose clones share their content is never sent again empty. If a
    /// body announces no length, only its end can be checked, so give `try_clone`, not `clone`. Default: copies bodies
    /// by `Clone` if [`Replay`](crate::Replay) allows it.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    /// use http_retry::tower::RetryLayer;
    ///
    /// # type Body = String;
    /// # trait TryClone { fn try_clone(&self) -> Option<String>; }
    /// # impl TryClone for String { fn try_clone(&self) -> Option<String> { Some(self.clone()) } }
    /// // A body of kube:
    /// let layer = RetryLayer::new(RetryPolicy::background()).copy_body(Body::try_clone);
    /// ```
    #[must_use]
    pub fn copy_body<B, F>(self, copy: F) -> RetryLayer<CopyBody<B, F>, A>
    where
        B: http_body::Body,
        F: Fn(&B) -> Option<B> + Clone + Send + 'static,
    {
        self.copied(CopyBody::new(copy))
    }

    /// Copies request bodies that are no `http_body::Body` with this function: bytes, text or a mock's type. Like
    /// [`copy_body`](Self::copy_body), but the layer does not check the copies, since such a type announces no length.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    /// use http_retry::tower::RetryLayer;
    ///
    /// let layer = RetryLayer::new(RetryPolicy::background())
    ///     .copy_value(|body: &bytes::Bytes| Some(body.clone()));
    /// ```
    ///
    /// Without it such a request does not compile:
    ///
    /// ```compile_fail,E0277
    /// use http_retry::RetryPolicy;
    /// use http_retry::testing::Script;
    /// use http_retry::tower::RetryLayer;
    /// use tower::Layer;
    ///
    /// let service = RetryLayer::new(RetryPolicy::background()).layer(Script::new());
    /// let request = http::Request::new(bytes::Bytes::new());
    /// let sent = tower::util::Oneshot::new(service, request);
    /// ```
    #[must_use]
    pub fn copy_value<B, F>(self, copy: F) -> RetryLayer<CopyBody<B, F>, A>
    where
        F: Fn(&B) -> Option<B> + Clone + Send + 'static,
    {
        self.copied(CopyBody::unchecked(copy))
    }

    /// Records request bodies while they are sent, and gives the service below bodies that this function makes from the
    /// records: for a client whose body type can hold any other body (tonic, jsonrpsee, axum, octocrab). The service
    /// below takes `http::Request<B>` as without the layer.
    ///
    /// It records at most [`replay_limit`](Self::replay_limit) bytes of a body (default 64 KiB); a longer body is sent
    /// once, and so is one that the server responds to before it has read it to the end. Nothing checks that the
    /// function uses the record: if it makes another body, a failure comes back with
    /// [`BodyNotReplayable`](crate::StopReason::BodyNotReplayable). It allocates a record for each request, as
    /// [`ReplayBody`] does.
    ///
    /// ```
    /// use http_body_util::combinators::UnsyncBoxBody;
    /// use http_body_util::BodyExt;
    /// use http_retry::tower::RetryLayer;
    /// use http_retry::{ReplayBody, RetryPolicy};
    /// # type Error = Box<dyn std::error::Error + Send + Sync>;
    /// # type Boxed = UnsyncBoxBody<bytes::Bytes, Error>;
    ///
    /// // tonic: .record_body(tonic::body::Body::new); jsonrpsee: .record_body(HttpBody::new)
    /// let layer = RetryLayer::new(RetryPolicy::background())
    ///     .record_body(|record: ReplayBody<Boxed>| record.boxed_unsync());
    /// ```
    #[must_use]
    pub fn record_body<B, F>(self, wrap: F) -> RetryLayer<RecordBody<B, F>, A>
    where
        B: http_body::Body,
        F: Fn(ReplayBody<B>) -> B + Clone + Send + 'static,
    {
        self.copied(RecordBody::new(wrap))
    }

    fn copied<C>(self, copies: C) -> RetryLayer<C, A> {
        RetryLayer {
            engine: self.engine,
            copies,
            responses: self.responses,
        }
    }
}

/// Logs the parts of the policy that have no effect if errors keep their type.
fn warn_of_lost_errors(policy: &RetryPolicy) {
    let lost = [
        (
            policy.first_limit(None).is_some(),
            "no time limit cuts the last attempt",
        ),
        (policy.may_fail(), "`fail` returns the last response"),
    ];
    for (_, what) in lost.into_iter().filter(|(is_set, _)| *is_set) {
        warn_of_setting("unchanged_errors", what);
    }
}

// The service that the layer makes needs the bound anyway. Here rustc names the service that is not `Clone`, at the
// call that adds the layer to it.
impl<S: Clone, C: Clone, A: Clone> Layer<S> for RetryLayer<C, A> {
    type Service = Retry<S, C, A>;

    fn layer(&self, inner: S) -> Self::Service {
        let (copies, responses) = (self.copies.clone(), self.responses.clone());
        Retry::new(inner, Arc::clone(&self.engine), copies, responses)
    }
}
