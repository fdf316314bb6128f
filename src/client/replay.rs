//! Bodies that can be sent a second time.

use super::replay_body::ReplayBody;
use super::requests::Bodies;
use super::rewrite::rewrite_bytes;
use crate::sealed::Sealed;
use http_body::Body;
use std::fmt;
use std::marker::PhantomData;

/// A body that can be copied for a later attempt.
///
/// Every `http_body::Body` that is `Clone` implements it. For any other body, give the tower layer a function that
/// copies it (`copy_body`), or wrap it in a [`ReplayBody`].
///
/// A clone may share its content with the original, and then lacks the part that the first attempt has sent. So the
/// layer sends a clone only if it has the exact length (by [`size_hint`](http_body::Body::size_hint)) and the end state
/// that the body had before the first attempt. A clone that differs, or one of unknown length such as a stream, is not
/// sent: the last outcome is returned, and its report says [`BodyNotReplayable`](crate::StopReason::BodyNotReplayable).
/// The layer checks the clone when it decides on the retry, and again before it sends it. An attempt that was cut can
/// still read the shared content after the last check, or at any time if there is no last outcome to return; so for a
/// body that shares its content use `record_body`, or `copy_body` if the body can copy its own content.
///
/// A body of your own that is not `Clone` can implement the trait, and then needs no setting:
///
/// ```
/// use bytes::Bytes;
/// use http_body::{Body, Frame};
/// use http_retry::Replay;
/// use std::convert::Infallible;
/// use std::pin::Pin;
/// use std::task::{Context, Poll};
///
/// /// A number of lines, generated as they are sent.
/// struct Lines {
///     all: usize,
///     left: usize,
/// }
///
/// impl Replay for Lines {
///     fn replay(&self) -> Option<Self> {
///         Some(Self { left: self.all, ..*self })
///     }
/// }
///
/// impl Body for Lines {
///     type Data = Bytes;
///     type Error = Infallible;
///
///     fn poll_frame(
///         mut self: Pin<&mut Self>,
///         _: &mut Context<'_>,
///     ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
///         let line = (self.left > 0).then(|| Ok(Frame::data(Bytes::from("line\n"))));
///         self.left = self.left.saturating_sub(1);
///         Poll::Ready(line)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be sent a second time",
    label = "this body is not `Clone + http_body::Body`",
    note = "use a body that is both (`String`, `Full<Bytes>`), or wrap it in `http_retry::ReplayBody`, which is then \
            part of the inner service's body type"
)]
pub trait Replay: Sized {
    /// Returns a copy of the whole unread body, or `None` if it cannot be copied and the request is sent only once. The
    /// layer calls it before each attempt but the last.
    fn replay(&self) -> Option<Self>;

    /// Returns `true` if this copy is still whole after an attempt. `early` is `true` if the server responded before
    /// that attempt had read the whole body. Default `true`: the copy shares nothing with earlier attempts.
    fn can_replay(&self, early: bool) -> bool {
        let _ = early;
        true
    }

    /// Returns the number of bytes that the attempts so far have read of the body, or `None` if it is unknown. An
    /// attempt that has read as many bytes as `content-length` announces does not count as early. Default `None`.
    fn bytes_read(&self) -> Option<u64> {
        None
    }

    /// Returns the measure of this copy, by which the layer checks that it is complete.
    #[doc(hidden)]
    fn measure(&self) -> Measure {
        Measure::NotAsked
    }

    /// Marks this copy as the next to be sent: earlier attempts are over, whatever their client still does with them.
    /// Does nothing by default.
    fn next_in_turn(&mut self) {}

    /// Replaces the bytes of the body with the result of a function, for a policy that shortens a text that is too
    /// long. Returns `false` if the body does not have its bytes at hand, or if the function returns `None`; the
    /// request is then not repeated. Default `false`.
    fn rewrite(&mut self, with: &mut dyn FnMut(&[u8]) -> Option<Vec<u8>>) -> bool {
        let _ = with;
        false
    }
}

#[diagnostic::do_not_recommend]
impl<B: Clone + http_body::Body + 'static> Replay for B {
    fn replay(&self) -> Option<Self> {
        Some(self.clone())
    }

    #[inline]
    fn measure(&self) -> Measure {
        Measure::of(self)
    }

    fn rewrite(&mut self, with: &mut dyn FnMut(&[u8]) -> Option<Vec<u8>>) -> bool {
        rewrite_bytes(self, with)
    }
}

impl<B: http_body::Body> Replay for ReplayBody<B> {
    fn replay(&self) -> Option<Self> {
        self.later()
    }

    fn can_replay(&self, early: bool) -> bool {
        self.is_whole(early)
    }

    fn bytes_read(&self) -> Option<u64> {
        self.read()
    }

    fn measure(&self) -> Measure {
        if self.was_empty() {
            Measure::AtItsEnd
        } else {
            Measure::NotAsked
        }
    }

    fn next_in_turn(&mut self) {
        self.next_in_turn();
    }

    fn rewrite(&mut self, with: &mut dyn FnMut(&[u8]) -> Option<Vec<u8>>) -> bool {
        self.rewrite(with)
    }
}

/// The length that a body announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
#[non_exhaustive]
pub enum Measure {
    /// Not needed: the body itself tracks if it is complete.
    NotAsked,
    /// The body announces no length, and no caller's function vouches for a copy.
    Unknown,
    /// The body is at its end.
    AtItsEnd,
    /// Exactly this many bytes are left, and perhaps trailers.
    Exactly(u64),
    /// This many bytes are left, perhaps more; its owner vouches for a copy.
    AtLeast(u64),
}

impl Measure {
    /// Returns the measure of a body whose copies no caller's function vouches for.
    #[inline]
    pub(crate) fn of(body: &impl Body) -> Self {
        match body.size_hint().exact() {
            // First, since a body that has only trailers left also announces 0 bytes.
            _ if body.is_end_stream() => Self::AtItsEnd,
            Some(bytes) => Self::Exactly(bytes),
            None => Self::Unknown,
        }
    }

    /// Returns the measure of a body that its owner's function copies.
    #[inline]
    pub(crate) fn of_vouched(body: &impl Body) -> Self {
        match Self::of(body) {
            Self::Unknown => Self::AtLeast(body.size_hint().lower()),
            known => known,
        }
    }

    /// Returns `true` if a copy with the measure `copy` lacks nothing of a body that had this measure before the first
    /// attempt.
    pub(super) fn is_complete_copy(self, copy: Self) -> bool {
        match (self, copy) {
            (Self::NotAsked, _) => true,
            (Self::Unknown, _) => false,
            // Nothing can be missing from a copy of nothing.
            (Self::AtItsEnd, copy) => {
                !matches!(copy, Self::Exactly(bytes) | Self::AtLeast(bytes) if bytes > 0)
            }
            // Also for 0: a stream that has become empty may have lost its trailers.
            (Self::Exactly(first), copy) => copy == Self::Exactly(first),
            // A copy of a stream may have an exact length. An empty one is the remainder of a shared stream.
            (Self::AtLeast(first), Self::Exactly(bytes)) => bytes > 0 && bytes >= first,
            (Self::AtLeast(first), copy) => {
                matches!(copy, Self::AtLeast(bytes) if bytes >= first)
            }
        }
    }
}

/// A strategy that copies bodies with their [`Replay`] implementation, which every `http_body::Body` that is `Clone`
/// has. It is the default of the second type parameter of [`RetryLayer`](crate::tower::RetryLayer) and
/// [`Retry`](crate::tower::Retry). A `reqwest::Request` is cloned as a whole, and its streams are recorded.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct CloneBody;

/// A strategy that copies bodies of type `B` with the function set by
/// [`RetryLayer::copy_body`](crate::tower::RetryLayer::copy_body) or
/// [`copy_value`](crate::tower::RetryLayer::copy_value).
///
/// To name it in a struct, give a function pointer, `CopyBody<Body, fn(&Body) -> Option<Body>>`, and set it as
/// one: `.copy_body(Body::try_clone as fn(&Body) -> Option<Body>)`.
pub struct CopyBody<B, F> {
    copy: F,
    measure: fn(&B) -> Measure,
}

/// A strategy that records bodies of type `B` as they are sent, and turns the recordings into the client's bodies with
/// the function set by [`RetryLayer::record_body`](crate::tower::RetryLayer::record_body).
///
/// To name it in a struct, give a function pointer, `RecordBody<Body, fn(ReplayBody<Body>) -> Body>`, and set it
/// as one: `.record_body(Body::new as fn(ReplayBody<Body>) -> Body)`.
pub struct RecordBody<B, F> {
    wrap: F,
    body: PhantomData<fn(&B)>,
}

impl Sealed for CloneBody {}
impl<B, F> Sealed for CopyBody<B, F> {}
impl<B, F> Sealed for RecordBody<B, F> {}

#[diagnostic::do_not_recommend]
impl<B: Replay + Send + 'static> Bodies<B> for CloneBody {
    type Copy = B;

    #[inline]
    fn copy(&self, body: B, _: usize) -> (B, Option<(B, Measure)>) {
        // Measured before the body is sent: a copy may share its content.
        let copy = body.replay().map(|copy| (copy, body.measure()));
        (body, copy)
    }

    fn body(copy: B) -> B {
        copy
    }
}

impl<B, F> CopyBody<B, F> {
    /// Creates a strategy for bodies of any type, whose copies are not checked.
    pub(crate) fn unchecked(copy: F) -> Self {
        Self {
            copy,
            measure: |_| Measure::NotAsked,
        }
    }
}

impl<B: Body, F> CopyBody<B, F> {
    pub(crate) fn new(copy: F) -> Self {
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

impl<B, F> Bodies<B> for CopyBody<B, F>
where
    B: Send + 'static,
    F: Fn(&B) -> Option<B> + Clone + Send + 'static,
{
    type Copy = BodyCopy<B, Self>;

    fn copy(&self, body: B, _: usize) -> (B, Option<(Self::Copy, Measure)>) {
        let measure = (self.measure)(&body);
        let copy = (self.copy)(&body).map(|copy| BodyCopy {
            body: copy,
            strategy: self.clone(),
        });
        (body, copy.map(|copy| (copy, measure)))
    }

    fn body(copy: Self::Copy) -> B {
        copy.body
    }
}

impl<B, F> RecordBody<B, F> {
    pub(crate) fn new(wrap: F) -> Self {
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

impl<B, F> Bodies<B> for RecordBody<B, F>
where
    B: Body + Send + 'static,
    F: Fn(ReplayBody<B>) -> B + Clone + Send + 'static,
{
    type Copy = BodyCopy<ReplayBody<B>, Self>;

    fn copy(&self, body: B, recorded: usize) -> (B, Option<(Self::Copy, Measure)>) {
        let record = ReplayBody::with_limit(body, recorded);
        let copy = record.later().map(|later| BodyCopy {
            body: later,
            strategy: self.clone(),
        });
        let body = (self.wrap)(record);
        (body, copy.map(|copy| (copy, Measure::NotAsked)))
    }

    fn body(copy: Self::Copy) -> B {
        (copy.strategy.wrap)(copy.body)
    }
}

/// A copy or a record of a body, with the strategy whose function makes bodies of it.
pub struct BodyCopy<K, C> {
    body: K,
    strategy: C,
}

impl<B, F> Replay for BodyCopy<B, CopyBody<B, F>>
where
    B: 'static,
    F: Fn(&B) -> Option<B> + Clone,
{
    fn replay(&self) -> Option<Self> {
        let strategy = self.strategy.clone();
        (self.strategy.copy)(&self.body).map(|body| Self { body, strategy })
    }

    fn measure(&self) -> Measure {
        (self.strategy.measure)(&self.body)
    }

    fn rewrite(&mut self, with: &mut dyn FnMut(&[u8]) -> Option<Vec<u8>>) -> bool {
        rewrite_bytes(&mut self.body, with)
    }
}

impl<B, F> Replay for BodyCopy<ReplayBody<B>, RecordBody<B, F>>
where
    B: Body,
    F: Clone,
{
    fn replay(&self) -> Option<Self> {
        let strategy = self.strategy.clone();
        self.body.replay().map(|body| Self { body, strategy })
    }

    fn can_replay(&self, early: bool) -> bool {
        self.body.can_replay(early)
    }

    fn bytes_read(&self) -> Option<u64> {
        self.body.bytes_read()
    }

    fn next_in_turn(&mut self) {
        Replay::next_in_turn(&mut self.body);
    }

    fn rewrite(&mut self, with: &mut dyn FnMut(&[u8]) -> Option<Vec<u8>>) -> bool {
        Replay::rewrite(&mut self.body, with)
    }
}

#[cfg(test)]
mod measure_tests {
    use super::Measure::{AtItsEnd, AtLeast, Exactly, NotAsked, Unknown};
    use super::*;
    use bytes::Bytes;
    use http_body_util::{BodyExt, Empty, Full};

    #[test]
    fn a_copy_is_whole_only_if_it_lacks_nothing_of_the_body() {
        for (first, now, whole) in [
            (NotAsked, NotAsked, true),
            (Unknown, Unknown, false),
            (Unknown, Exactly(3), false),
            (Unknown, AtItsEnd, false),
            (AtItsEnd, AtItsEnd, true),
            (AtItsEnd, Exactly(0), true),
            (AtItsEnd, Unknown, true),
            (AtItsEnd, AtLeast(0), true),
            (AtItsEnd, Exactly(1), false),
            (AtItsEnd, AtLeast(1), false),
            (Exactly(0), Exactly(0), true),
            (Exactly(0), AtItsEnd, false),
            (Exactly(3), Exactly(3), true),
            (Exactly(3), Exactly(2), false),
            (Exactly(3), Exactly(4), false),
            (Exactly(3), Unknown, false),
            (Exactly(3), AtLeast(3), false),
            (Exactly(3), AtItsEnd, false),
            (Exactly(u64::MAX), Exactly(u64::MAX), true),
            (AtLeast(u64::MAX), AtLeast(u64::MAX), true),
            (Exactly(1 << 62), Exactly(1 << 62), true),
            (AtLeast(1 << 62), AtLeast(1 << 62), true),
            (AtLeast(0), AtLeast(0), true),
            (AtLeast(0), Exactly(3), true),
            (AtLeast(0), Exactly(0), false),
            (AtLeast(0), AtItsEnd, false),
            (AtLeast(3), AtLeast(3), true),
            (AtLeast(3), AtLeast(2), false),
            (AtLeast(3), Exactly(3), true),
            (AtLeast(3), Exactly(2), false),
            (AtLeast(3), AtItsEnd, false),
        ] {
            let is_complete = first.is_complete_copy(now);
            assert_eq!(is_complete, whole, "{first:?}, {now:?}");
        }
    }

    #[test]
    fn a_body_is_measured_by_its_announced_length() {
        assert_eq!(Measure::of(&Empty::<Bytes>::new()), AtItsEnd);
        assert_eq!(Measure::of(&Full::new(Bytes::new())), AtItsEnd);
        assert_eq!(Measure::of(&"abc".to_owned()), Exactly(3));
        let trailed = Empty::<Bytes>::new().with_trailers(std::future::ready(None));
        assert_eq!(Measure::of(&trailed), Exactly(0));
        let stream = futures_util::stream::empty::<Result<http_body::Frame<Bytes>, ()>>();
        let stream = http_body_util::StreamBody::new(stream);
        assert_eq!(Measure::of(&stream), Unknown);
    }

    #[test]
    fn a_vouched_body_without_a_length_has_a_lower_bound() {
        assert_eq!(Measure::of_vouched(&"abc".to_owned()), Exactly(3));
        let stream = futures_util::stream::empty::<Result<http_body::Frame<Bytes>, ()>>();
        let stream = http_body_util::StreamBody::new(stream);
        assert_eq!(Measure::of_vouched(&stream), AtLeast(0));
    }
}
