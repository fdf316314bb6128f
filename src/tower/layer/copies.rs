//! Settings for request bodies that are not `Clone`.

use super::RetryLayer;
use crate::client::ReplayBody;
use crate::tower::marker::{CloneBody, CopyBody, RecordBody};

impl<X, A, H> RetryLayer<X, CloneBody, A, H> {
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
    pub fn copy_body<B, F>(self, copy: F) -> RetryLayer<X, CopyBody<B, F>, A, H>
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
    pub fn copy_value<B, F>(self, copy: F) -> RetryLayer<X, CopyBody<B, F>, A, H>
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
    pub fn record_body<B, F>(self, wrap: F) -> RetryLayer<X, RecordBody<B, F>, A, H>
    where
        B: http_body::Body,
        F: Fn(ReplayBody<B>) -> B + Clone + Send + 'static,
    {
        self.copied(RecordBody::new(wrap))
    }

    fn copied<C>(self, copies: C) -> RetryLayer<X, C, A, H> {
        RetryLayer {
            engine: self.engine,
            types: self.types,
            copies,
            answers: self.answers,
        }
    }
}
