//! How a request is copied for later attempts, and the service below, which never sees the type of the copies.

use crate::client::measure::Measure;
use crate::client::rewrite::rewrite_bytes;
use crate::client::{Replay, ReplayBody, Resend};
use http_body::Body;
use std::fmt;
use std::marker::PhantomData;

/// How the layer copies requests of a type for later attempts: [`CloneBody`], [`CopyBody`] or [`RecordBody`]. Nobody else
/// implements it.
#[diagnostic::on_unimplemented(
    message = "the retry layer does not know how to send `{Q}` a second time",
    label = "this request's body is not `Clone + http_body::Body`",
    note = "tell it how, on the layer: `.copy_body(Body::try_clone)` where the body can copy itself (kube), \
            `.record_body(Body::new)` where a body can be made of any other (tonic, jsonrpsee, axum, octocrab), \
            `.copy_value(|body: &Vec<u8>| Some(body.clone()))` for a type that is `Clone` and no `http_body::Body`"
)]
pub trait ReplayStrategy<Q>: sealed::Sealed + Clone + Send + 'static {
    /// The request as the layer keeps it.
    #[doc(hidden)]
    type Request: Resend + Send + 'static;

    /// Records at most this many bytes of a body, if it records any.
    #[doc(hidden)]
    fn take_in(&self, request: Q, recorded: usize) -> Self::Request;

    #[doc(hidden)]
    fn give_out(request: Self::Request) -> Q;
}

/// Copies bodies as their [`Replay`] says, which every `http_body::Body` has that is `Clone`: the second type parameter of
/// [`RetryLayer`](super::RetryLayer) and [`Retry`](super::Retry), and its default. A `reqwest::Request` is copied by
/// itself, and its streams are recorded.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct CloneBody;

/// Copies bodies of the type `B` by the function that [`RetryLayer::copy_body`](super::RetryLayer::copy_body) or
/// [`copy_value`](super::RetryLayer::copy_value) sets.
///
/// To name it in a struct, give a function pointer, `CopyBody<Body, fn(&Body) -> Option<Body>>`, and set it as
/// one: `.copy_body(Body::try_clone as fn(&Body) -> Option<Body>)`.
pub struct CopyBody<B, F> {
    copy: F,
    measure: fn(&B) -> Measure,
}

/// Records bodies of the type `B` while they are sent, and makes the client's bodies of the records by the function that
/// [`RetryLayer::record_body`](super::RetryLayer::record_body) sets.
///
/// To name it in a struct, give a function pointer, `RecordBody<Body, fn(ReplayBody<Body>) -> Body>`, and set it
/// as one: `.record_body(Body::new as fn(ReplayBody<Body>) -> Body)`.
pub struct RecordBody<B, F> {
    wrap: F,
    body: PhantomData<fn(&B)>,
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::CloneBody {}
    impl<B, F> Sealed for super::CopyBody<B, F> {}
    impl<B, F> Sealed for super::RecordBody<B, F> {}
}

#[diagnostic::do_not_recommend]
impl<Q: Resend + Send + 'static> ReplayStrategy<Q> for CloneBody {
    type Request = Q;

    #[inline]
    fn take_in(&self, request: Q, _: usize) -> Q {
        request
    }

    #[inline]
    fn give_out(request: Q) -> Q {
        request
    }
}

impl<B, F> CopyBody<B, F> {
    /// Copies bodies of any type; nothing checks the copies.
    pub(super) fn unchecked(copy: F) -> Self {
        Self {
            copy,
            measure: |_| Measure::NotAsked,
        }
    }
}

impl<B: Body, F> CopyBody<B, F> {
    pub(super) fn new(copy: F) -> Self {
        Self {
            copy,
            measure: Measure::of_vouched,
        }
    }
}

impl<B, F: Clone> Clone for CopyBody<B, F> {
    fn clone(&self) -> Self {
        Self {
            copy: self.copy.clone(),
            measure: self.measure,
        }
    }
}

impl<B, F> fmt::Debug for CopyBody<B, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CopyBody")
    }
}

impl<B, F> ReplayStrategy<http::Request<B>> for CopyBody<B, F>
where
    B: Send + 'static,
    F: Fn(&B) -> Option<B> + Clone + Send + 'static,
{
    type Request = http::Request<CopiedBody<B, F>>;

    fn take_in(&self, request: http::Request<B>, _: usize) -> Self::Request {
        let Self { copy, measure } = self.clone();
        request.map(|body| CopiedBody {
            body,
            copy,
            measure,
        })
    }

    fn give_out(request: Self::Request) -> http::Request<B> {
        request.map(|copied| copied.body)
    }
}

/// A body, the function that copies it, and the one that measures the copies.
pub struct CopiedBody<B, F> {
    body: B,
    copy: F,
    measure: fn(&B) -> Measure,
}

impl<B, F> Replay for CopiedBody<B, F>
where
    B: 'static,
    F: Fn(&B) -> Option<B> + Clone,
{
    fn replay(&self) -> Option<Self> {
        let (copy, measure) = (self.copy.clone(), self.measure);
        (self.copy)(&self.body).map(|body| Self {
            body,
            copy,
            measure,
        })
    }

    fn measure(&self) -> Measure {
        (self.measure)(&self.body)
    }

    fn rewrite(&mut self, with: &mut dyn FnMut(&[u8]) -> Option<Vec<u8>>) -> bool {
        rewrite_bytes(&mut self.body, with)
    }
}

impl<B, F> RecordBody<B, F> {
    pub(super) fn new(wrap: F) -> Self {
        Self {
            wrap,
            body: PhantomData,
        }
    }
}

impl<B, F: Clone> Clone for RecordBody<B, F> {
    fn clone(&self) -> Self {
        Self::new(self.wrap.clone())
    }
}

impl<B, F> fmt::Debug for RecordBody<B, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RecordBody")
    }
}

impl<B, F> ReplayStrategy<http::Request<B>> for RecordBody<B, F>
where
    B: Body + Send + 'static,
    F: Fn(ReplayBody<B>) -> B + Clone + Send + 'static,
{
    type Request = http::Request<RecordedBody<B, F>>;

    fn take_in(&self, request: http::Request<B>, recorded: usize) -> Self::Request {
        request.map(|body| RecordedBody {
            record: ReplayBody::with_limit(body, recorded),
            wrap: self.wrap.clone(),
        })
    }

    fn give_out(request: Self::Request) -> http::Request<B> {
        request.map(|recorded| (recorded.wrap)(recorded.record))
    }
}

/// A body that is recorded, and the function that makes the client's body of the record.
pub struct RecordedBody<B, F> {
    record: ReplayBody<B>,
    wrap: F,
}

impl<B, F> Replay for RecordedBody<B, F>
where
    B: Body,
    F: Clone,
{
    fn replay(&self) -> Option<Self> {
        let wrap = self.wrap.clone();
        self.record.replay().map(|record| Self { record, wrap })
    }

    fn can_replay(&self, early: bool) -> bool {
        self.record.can_replay(early)
    }

    fn bytes_read(&self) -> Option<u64> {
        self.record.bytes_read()
    }

    fn next_in_turn(&mut self) {
        Replay::next_in_turn(&mut self.record);
    }

    fn rewrite(&mut self, with: &mut dyn FnMut(&[u8]) -> Option<Vec<u8>>) -> bool {
        Replay::rewrite(&mut self.record, with)
    }
}
