//! How the layer is told to copy request bodies that are not `Clone`.

use super::RetryLayer;
use crate::client::ReplayBody;
use crate::tower::strategy::{CloneBody, CopyBody, RecordBody};

impl<X, A, H> RetryLayer<X, CloneBody, A, H> {
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
    pub fn copy_body<B, F>(self, copy: F) -> RetryLayer<X, CopyBody<B, F>, A, H>
    where
        F: Fn(&B) -> Option<B> + Clone + Send + 'static,
    {
        RetryLayer {
            engine: self.engine,
            types: self.types,
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
    pub fn record_body<B, F>(self, wrap: F) -> RetryLayer<X, RecordBody<B, F>, A, H>
    where
        B: http_body::Body,
        F: Fn(ReplayBody<B>) -> B + Clone + Send + 'static,
    {
        RetryLayer {
            engine: self.engine,
            types: self.types,
            copies: RecordBody::new(wrap),
            answers: self.answers,
        }
    }
}
