//! The length of a body, as announced and as received.

use crate::error::IncompleteBody;
use bytes::Bytes;
use http_body::{Body, Frame};

/// The bytes that a body announces, and those that were received.
///
/// Some clients end a body that was cut as if it were complete: hyper does if its HTTP/2 stream is reset, or the
/// connection goes away, with `NO_ERROR`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BodyLength {
    /// Also the bytes that the caller has taken.
    received: u64,
    /// 0 if the body announces no length.
    expected: u64,
    /// `true` if the body's `is_end_stream` tells a body that has ended from one that was cut.
    shows_end: bool,
}

impl BodyLength {
    /// Returns the length of an unread body. A body at its end may still announce one, such as that of a response to
    /// HEAD.
    #[inline]
    pub(super) fn of<B: Body>(body: &B, shows_end: bool) -> Self {
        let expected = if body.is_end_stream() {
            0
        } else {
            body.size_hint().lower()
        };
        Self {
            received: 0,
            expected,
            shows_end,
        }
    }

    #[inline]
    pub(super) fn count(&mut self, frame: &Frame<Bytes>) {
        let bytes = frame.data_ref().map_or(0, Bytes::len);
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        self.received = self.received.saturating_add(bytes);
    }

    /// Returns the number of bytes that are missing if the body is at its end.
    pub(super) fn missing(&self) -> u64 {
        self.expected.saturating_sub(self.received)
    }

    /// Returns the error of a body that has ended early without one, or `None` if it is complete.
    pub(super) fn incomplete(&self, body: &impl Body) -> Option<IncompleteBody> {
        let is_cut = self.missing() > 0 || (self.shows_end && !body.is_end_stream());
        let expected = Some(self.expected).filter(|_| self.missing() > 0);
        is_cut.then(|| IncompleteBody::new(self.received, expected))
    }
}
