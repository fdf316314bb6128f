//! What can be sent twice: bodies and requests.

use super::measure::Measure;
use super::replay_body::ReplayBody;
use super::rewrite::rewrite_bytes;
use crate::retry_loop::Repeat;
use http::{Extensions, HeaderMap, HeaderName, Method};
use std::borrow::Cow;
use std::ops::Deref;

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

/// The head of a request, or of the copy that is kept of one.
pub trait HasHead {
    /// The request's method.
    fn method(&self) -> &Method;

    /// Host and port that the request goes to, without user info and without the scheme's default port.
    fn authority(&self) -> Option<Cow<'_, str>>;

    /// The path that the request goes to, without its query.
    fn path(&self) -> &str;

    /// The request's whole URI.
    fn uri(&self) -> Cow<'_, str>;

    /// The whole URL, if the client's responses have theirs.
    fn url(&self) -> Option<&str> {
        None
    }

    /// The first value of a header, by its name in lower case.
    fn value(&self, name: &str) -> Option<&[u8]>;

    /// All headers, which a copy makes anew.
    fn header_map(&self) -> Cow<'_, HeaderMap>;

    /// The request's extensions, if they are public.
    fn extensions(&self) -> Option<&Extensions> {
        None
    }
}

/// A request that can be sent a second time.
///
/// `http::Request<B>` implements it for every body that is [`Replay`], and so does `reqwest::Request` with the
/// `reqwest` feature. You cannot implement it outside of this crate.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a request that can be sent a second time",
    note = "the retry layer takes `http::Request<B>` where `B` is `Clone + http_body::Body` or a \
            `http_retry::ReplayBody`, or for which it has a `copy_body` or `copy_value`; and `reqwest::Request` with the feature \
            `reqwest`"
)]
pub trait Resend: Repeat<Saved: HasHead> + HasHead + sealed::Sealed {
    /// What later attempts are made of, for as long as the first attempt is made in place.
    type InPlace: Deref<Target = Self::Saved>
        + From<Box<Self::Saved>>
        + Into<Box<Self::Saved>>
        + Send;

    /// The scheme that the request's URI names.
    fn scheme(&self) -> Option<&str>;

    /// The request's headers to write to.
    fn headers_mut(&mut self) -> &mut HeaderMap;

    /// Sends the request to this URL, where its response came from after redirects, without what is for its first server
    /// alone. Only clients that follow redirects tell such a URL.
    fn pin(&mut self, url: &str, credentials: &[HeaderName]) {
        let _ = (url, credentials);
    }

    /// The request's extensions to write to, if they are public.
    fn extensions_mut(&mut self) -> Option<&mut Extensions> {
        None
    }

    /// What later attempts are made of, if there can be any. Records at most this many bytes of a stream, unless the body
    /// has its own limit.
    fn save_in_place(&mut self, recorded: usize) -> Option<Self::InPlace>;

    /// The same, without what nobody but a middleware could see of the request.
    fn save_what_is_sent(&mut self, recorded: usize) -> Option<Self::InPlace> {
        self.save_in_place(recorded)
    }
}

mod sealed {
    pub trait Sealed {}
    impl<B> Sealed for http::Request<B> {}
    #[cfg(feature = "reqwest")]
    impl Sealed for ::reqwest::Request {}
}

/// Replaces headers of the same name. The loop plans no retry that has no room for them.
pub(super) fn set(headers: &mut HeaderMap, new: Option<&HeaderMap>) {
    for name in new.into_iter().flat_map(HeaderMap::keys) {
        headers.remove(name);
    }
    for (name, value) in new.into_iter().flatten() {
        let _ = headers.try_append(name, value.clone());
    }
}

/// Whether this many bytes are all of a body whose length the head gives: a client sends no more of it, and so never
/// sees its end.
pub(super) fn is_told_length(head: &impl HasHead, read: Option<u64>) -> bool {
    read.is_some_and(|read| announced_length(head) == Some(read))
}

/// Returns `true` if a copy announces fewer bytes than the head does.
pub(super) fn is_shorter_than_announced(head: &impl HasHead, copy: Measure) -> bool {
    let bytes = match copy {
        Measure::AtItsEnd => 0,
        Measure::Exactly(bytes) => bytes,
        Measure::NotAsked | Measure::Unknown | Measure::AtLeast(_) => return false,
    };
    announced_length(head).is_some_and(|announced| bytes < announced)
}

fn announced_length(head: &impl HasHead) -> Option<u64> {
    let length = head.value("content-length")?;
    std::str::from_utf8(length).ok()?.parse().ok()
}
