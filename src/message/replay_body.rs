//! A body that is not `Clone`, for the retry layer.

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;
use std::pin::Pin;
use std::task::{Context, Poll};

pin_project! {
    /// Any body that is not `Clone`, such as a stream: sent once, and never a second time empty or in part.
    ///
    /// It is part of the inner service's body type, since what goes through the layer goes on to the client.
    #[derive(Debug)]
    pub struct ReplayBody<B> {
        #[pin]
        body: B,
    }
}

impl<B> ReplayBody<B> {
    /// Wraps a body.
    #[must_use]
    pub fn new(body: B) -> Self {
        Self { body }
    }
}

impl<B: Body> Body for ReplayBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        self.project().body.poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
