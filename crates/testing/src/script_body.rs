//! The body of a scripted response.

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The body of a response of a [`Script`](super::Script): a text, and perhaps an error after it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScriptBody {
    text: Bytes,
    error: Option<io::ErrorKind>,
}

impl ScriptBody {
    pub(super) fn set_text(&mut self, text: &str) {
        self.text = Bytes::copy_from_slice(text.as_bytes());
    }

    pub(super) fn break_with(&mut self, kind: io::ErrorKind) {
        self.error = Some(kind);
    }
}

impl Body for ScriptBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if !self.text.is_empty() {
            return Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut self.text)))));
        }
        Poll::Ready(self.error.take().map(|kind| Err(kind.into())))
    }

    fn is_end_stream(&self) -> bool {
        self.text.is_empty() && self.error.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        // A body that breaks never gets to its length, so it promises none.
        match self.error {
            None => SizeHint::with_exact(u64::try_from(self.text.len()).unwrap_or(u64::MAX)),
            Some(_) => SizeHint::default(),
        }
    }
}
