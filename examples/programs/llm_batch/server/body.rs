//! A body in frames, which may pause between them and need not end.

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;

type Pause = Pin<Box<dyn Future<Output = ()> + Send>>;

pub(super) struct Frames {
    left: VecDeque<Bytes>,
    ending: Ending,
    between: Duration,
    pause: Option<Pause>,
}

enum Ending {
    /// The length is said beforehand.
    Known,
    /// It is over when it is over.
    Open,
    /// This again and again, and how many bytes it was.
    Endless(Bytes, Arc<AtomicU64>),
    /// Nothing more is said, and it is not over.
    Stalled,
}

impl Frames {
    pub(super) fn whole(body: impl Into<Bytes>) -> Self {
        Self::new([body.into()], Ending::Known)
    }

    pub(super) fn stream(frames: impl IntoIterator<Item = Bytes>, between: Duration) -> Self {
        Self {
            between,
            ..Self::new(frames, Ending::Open)
        }
    }

    pub(super) fn endless(first: Bytes, again: Bytes, taken: Arc<AtomicU64>) -> Self {
        Self::new([first], Ending::Endless(again, taken))
    }

    pub(super) fn stalled(first: Bytes) -> Self {
        Self::new([first], Ending::Stalled)
    }

    fn new(frames: impl IntoIterator<Item = Bytes>, ending: Ending) -> Self {
        Self {
            left: frames.into_iter().collect(),
            ending,
            between: Duration::ZERO,
            pause: None,
        }
    }

    fn next(&mut self) -> Poll<Option<Bytes>> {
        match (self.left.pop_front(), &self.ending) {
            (Some(frame), _) => Poll::Ready(Some(frame)),
            (None, Ending::Known | Ending::Open) => Poll::Ready(None),
            (None, Ending::Stalled) => Poll::Pending,
            (None, Ending::Endless(again, taken)) => {
                let bytes = u64::try_from(again.len()).unwrap_or_default();
                taken.fetch_add(bytes, Relaxed);
                Poll::Ready(Some(again.clone()))
            }
        }
    }
}

impl Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(pause) = &mut self.pause {
            ready!(pause.as_mut().poll(cx));
        }
        self.pause = None;
        let next = ready!(self.next());
        if !self.between.is_zero() {
            self.pause = Some(Box::pin(super::pause(self.between)));
        }
        Poll::Ready(next.map(|frame| Ok(Frame::data(frame))))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty() && matches!(self.ending, Ending::Known)
    }

    fn size_hint(&self) -> SizeHint {
        match self.ending {
            Ending::Known => {
                let length: usize = self.left.iter().map(Bytes::len).sum();
                SizeHint::with_exact(u64::try_from(length).unwrap_or_default())
            }
            _ => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;

    /// What a body has to say at once, up to so many frames, and whether it has more to say later.
    fn said(mut body: Frames, most: usize) -> (usize, bool) {
        let mut cx = Context::from_waker(Waker::noop());
        for frames in 0..most {
            match Pin::new(&mut body).poll_frame(&mut cx) {
                Poll::Ready(Some(_)) => {}
                Poll::Ready(None) => return (frames, false),
                Poll::Pending => return (frames, true),
            }
        }
        (most, true)
    }

    #[test]
    fn a_body_ends_or_stalls_or_goes_on() {
        let (frame, taken) = (Bytes::from_static(b"frame"), Arc::default());
        let stream = [frame.clone(), frame.clone()];
        assert_eq!(said(Frames::whole(frame.clone()), 9), (1, false));
        assert_eq!(said(Frames::stream(stream, Duration::ZERO), 9), (2, false));
        assert_eq!(said(Frames::stalled(frame.clone()), 9), (1, true));
        let endless = Frames::endless(frame.clone(), frame, Arc::clone(&taken));
        assert_eq!(said(endless, 9), (9, true));
        assert_eq!(taken.load(Relaxed), 8 * 5);
    }
}
