//! The layer: settings, and the service that they make.

use super::errors::{Boxed, Unchanged};
use super::response::{SameType, Wrapped};
use super::service::Retry;
use super::strategy::{CloneBody, CopyBody, RecordBody};
use crate::client::ReplayBody;
use crate::engine::{Engine, http_engine_settings};
use crate::policy::RetryPolicy;
use crate::resume::Resume;
use crate::route::Choose;
use crate::runtime::TokioRuntime;
use crate::services::Services;
use std::marker::PhantomData;
use std::sync::Arc;
use tower_layer::Layer;

/// Adds retries to a tower service.
///
/// ```
/// # #[cfg(not(feature = "testing"))]
/// # fn main() {}
/// # #[cfg(feature = "testing")]
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
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
#[derive(Debug, Clone)]
pub struct RetryLayer<X = Unchanged, C = CloneBody, A = Wrapped> {
    engine: Arc<Engine>,
    errors: PhantomData<X>,
    copies: C,
    answers: A,
}

impl RetryLayer {
    /// A layer with a policy and its own default budget, on tokio's clock; errors stay as they are.
    #[must_use]
    pub fn new(policy: RetryPolicy) -> Self {
        Self {
            engine: Arc::new(Engine::new(policy, Arc::new(TokioRuntime))),
            errors: PhantomData,
            copies: CloneBody,
            answers: Wrapped,
        }
    }

    /// A layer with a policy for each service, on tokio's clock; errors stay as they are. [`RetryLayer::budget`] pays
    /// where a service has no budget of its own.
    #[must_use]
    pub fn for_services(services: &Services) -> Self {
        Self::choosing(services.chooser())
    }

    fn choosing(chooser: Arc<dyn Choose>) -> Self {
        Self {
            engine: Arc::new(Engine::choosing(chooser, Arc::new(TokioRuntime))),
            errors: PhantomData,
            copies: CloneBody,
            answers: Wrapped,
        }
    }
}

#[cfg(feature = "serde")]
impl RetryLayer {
    /// A layer that follows a document and its changes, on tokio's clock; errors stay as they are. The document
    /// decides; [`RetryLayer::budget`] pays where it names no budget.
    #[must_use]
    pub fn from_config(config: &crate::config::RetryConfig) -> Self {
        Self::choosing(config.chooser())
    }
}

impl<X, C, A> RetryLayer<X, C, A> {
    http_engine_settings!();

    /// Sets how downloads are resumed; [`resume_downloads`](Self::resume_downloads) switches it on.
    #[must_use]
    pub fn resume(self, resume: Resume) -> Self {
        self.with(|engine| engine.downloads = resume.0)
    }

    /// Makes the service's error a `Box<dyn Error + Send + Sync>`, so that it can report a cut attempt as an
    /// [`AttemptTimeout`](crate::AttemptTimeout).
    ///
    /// Without it errors keep their type, and a time limit cuts an attempt only if a retry follows: the last attempt
    /// runs to its end, since no error could be returned.
    #[must_use]
    pub fn boxed_errors(self) -> RetryLayer<Boxed, C, A> {
        RetryLayer {
            engine: self.engine,
            errors: PhantomData,
            copies: self.copies,
            answers: self.answers,
        }
    }
}

impl<X, C> RetryLayer<X, C> {
    /// Returns responses with the type that the inner service gives them: for a client whose stack asks for that type
    /// (alloy on hyper asks for `Response<Incoming>`). Default: responses have a [`RetryBody`](crate::RetryBody).
    ///
    /// Such a response cannot give back what was read of it, so the layer never hands out one that it has read:
    ///
    /// | a part of the policy | with `keep_response_type` |
    /// |---|---|
    /// | status, headers, `Retry-After`, errors, budgets, the gate, reports | as without it |
    /// | a failed response that is returned | as the server sent it, also with its body, unless a retry was begun |
    /// | a failed response before a retry (`drain_limit`) | read for its connection's sake and dropped; kept only if it has no body |
    /// | a rule, a classifier or a dialect that looks into the body | sees no body, and judges by the head |
    /// | streams that are held back (`HoldStreams`) | come at their head |
    /// | `whole_answers` | answers are not read: the caller gets them at their head |
    /// | `respond` | the last response or error comes back |
    /// | `resume_downloads` | does not compile |
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
    pub fn keep_response_type(self) -> RetryLayer<X, C, SameType> {
        RetryLayer {
            engine: self.engine,
            errors: self.errors,
            copies: self.copies,
            answers: SameType::default(),
        }
    }
}

impl<X, A> RetryLayer<X, CloneBody, A> {
    /// Copies request bodies by this function: for a body that copies itself, perhaps not every time, and for a type
    /// that is `Clone` but no `http_body::Body`. The service below takes `http::Request<B>` as without the layer.
    ///
    /// The layer calls the function once before each attempt but the last. If it returns `None`, the request is sent
    /// once, and a failure comes back with [`BodyNotReplayable`](crate::StopReason::BodyNotReplayable). Nothing checks
    /// that a copy is whole, so for a body whose clones share their content give `try_clone`, not `clone`. Default:
    /// copies bodies by `Clone` where [`Replay`](crate::Replay) allows it.
    ///
    /// ```
    /// use http_retry::RetryPolicy;
    /// use http_retry::tower::RetryLayer;
    ///
    /// # struct Body;
    /// # impl Body { fn try_clone(&self) -> Option<Self> { Some(Body) } }
    /// // A body of kube or octocrab:
    /// let layer = RetryLayer::new(RetryPolicy::background()).copy_body(Body::try_clone);
    /// // A mock of bytes:
    /// let layer = RetryLayer::new(RetryPolicy::background())
    ///     .copy_body(|body: &bytes::Bytes| Some(body.clone()));
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
    pub fn copy_body<B, F>(self, copy: F) -> RetryLayer<X, CopyBody<B, F>, A>
    where
        F: Fn(&B) -> Option<B> + Clone + Send + 'static,
    {
        RetryLayer {
            engine: self.engine,
            errors: self.errors,
            copies: CopyBody::new(copy),
            answers: self.answers,
        }
    }

    /// Records request bodies while they are sent, and gives the service below bodies that this function makes of the
    /// records: for a client whose body type can hold any other body (tonic, jsonrpsee, axum, octocrab). The service
    /// below takes `http::Request<B>` as without the layer.
    ///
    /// It records at most [`replay_limit`](Self::replay_limit) bytes of a body (default 64 KiB); a longer body is sent
    /// once, and so is one that the server answers before it has read it to the end. Nothing checks that the function
    /// uses the record: if it makes another body, a failure comes back with
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
    pub fn record_body<B, F>(self, wrap: F) -> RetryLayer<X, RecordBody<B, F>, A>
    where
        B: http_body::Body,
        F: Fn(ReplayBody<B>) -> B + Clone + Send + 'static,
    {
        RetryLayer {
            engine: self.engine,
            errors: self.errors,
            copies: RecordBody::new(wrap),
            answers: self.answers,
        }
    }
}

impl<S, X, C: Clone, A: Clone> Layer<S> for RetryLayer<X, C, A> {
    type Service = Retry<S, X, C, A>;

    fn layer(&self, inner: S) -> Retry<S, X, C, A> {
        let (copies, answers) = (self.copies.clone(), self.answers.clone());
        Retry::new(inner, Arc::clone(&self.engine), copies, answers)
    }
}
