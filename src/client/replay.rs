//! Bodies that can be sent a second time.

use super::measure::Measure;
use super::replay_body::ReplayBody;
use super::rewrite::rewrite_bytes;

/// A body that may be copied for a later attempt.
///
/// Every `http_body::Body` that is `Clone` implements it. For any other body, tell the tower layer how to copy it
/// (`copy_body`), or wrap it in a [`ReplayBody`].
///
/// A clone may share its content with the original, and then lacks what the first attempt has sent. So the layer sends
/// a clone only if it has the exact length (by [`size_hint`](http_body::Body::size_hint)) and the end state that the
/// body had before the first attempt. It does not send a clone that differs, or one of unknown length such as a stream:
/// the last outcome comes back, and its report says [`BodyNotReplayable`](crate::StopReason::BodyNotReplayable). The
/// layer checks the clone when it decides on the retry and again before it sends it. A cut attempt can still read the
/// shared content after the last check, or at any time if no last outcome is left to come back; so for a body that
/// shares its content use `record_body`, or `copy_body` if the body can make a copy of its own content.
///
/// A body of your own that is not `Clone` can implement it, and then needs no setting:
///
/// ```
/// use bytes::Bytes;
/// use http_body::{Body, Frame};
/// use http_retry::Replay;
/// use std::convert::Infallible;
/// use std::pin::Pin;
/// use std::task::{Context, Poll};
///
/// /// So many lines, made as they are sent.
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
    /// A copy of the whole unread body; `None` if there cannot be one, and then the request is sent once. The layer asks for
    /// it before each attempt but the last.
    fn replay(&self) -> Option<Self>;

    /// Whether this copy is still whole, after an attempt that was answered before it read all of the body (`early`), or
    /// after any other. Default true: it shares nothing with earlier attempts.
    fn can_replay(&self, early: bool) -> bool {
        let _ = early;
        true
    }

    /// The bytes of the body that the attempts so far have read, if known; by it an attempt that has read all that
    /// `content-length` tells is not called early. Default `None`.
    fn bytes_read(&self) -> Option<u64> {
        None
    }

    /// The measure that this copy has while it is whole.
    #[doc(hidden)]
    fn measure(&self) -> Measure {
        Measure::NotAsked
    }

    /// Marks this copy as the next to be sent: earlier attempts are over, whatever their client still does with them.
    /// Default: nothing.
    fn next_in_turn(&mut self) {}

    /// Replaces all bytes of the body by a function of them, for a policy that cuts a text that is too long; false if the
    /// body has no bytes at hand, or the function returns none, and then the request is not repeated. Default false.
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

    fn next_in_turn(&mut self) {
        self.next_in_turn();
    }

    fn rewrite(&mut self, with: &mut dyn FnMut(&[u8]) -> Option<Vec<u8>>) -> bool {
        self.rewrite(with)
    }
}
