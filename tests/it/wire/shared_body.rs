//! A body whose clones share what it holds, as a boxed body behind a lock does: what one of them sends, all have lost.

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};

/// The longest frame.
const PIECE: usize = 1024;

/// What a body says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hint {
    /// How much is left, and whether that is nothing.
    Right,
    /// Only whether nothing is left.
    NoLength,
    /// How much is left, but never that it is at its end.
    NeverAtItsEnd,
    /// For ever what it was at the start.
    FirstForEver,
}

/// The body.
#[derive(Debug, Clone)]
pub(crate) struct Shared {
    left: Arc<Mutex<Left>>,
    hint: Hint,
    first: u64,
}

#[derive(Debug)]
struct Left {
    pieces: VecDeque<Bytes>,
    trailers: Option<HeaderMap>,
    /// So many pieces come; the next is not there yet.
    ready: usize,
}

impl Shared {
    pub(crate) fn new(whole: &[u8], hint: Hint) -> Self {
        let pieces = whole.chunks(PIECE).map(Bytes::copy_from_slice).collect();
        let left = Left {
            pieces,
            trailers: None,
            ready: usize::MAX,
        };
        Self {
            left: Arc::new(Mutex::new(left)),
            hint,
            first: whole.len() as u64,
        }
    }

    pub(crate) fn with_trailers(self, trailers: HeaderMap) -> Self {
        self.left().trailers = Some(trailers);
        self
    }

    /// The same, of which no more than so many pieces ever come.
    pub(crate) fn stops_after(self, pieces: usize) -> Self {
        self.left().ready = pieces;
        self
    }

    /// What a client does that sends it, as far as so many pieces.
    pub(crate) fn lose(&self, pieces: usize) {
        let mut left = self.left();
        let lost = pieces.min(left.pieces.len());
        left.pieces.drain(..lost);
    }

    /// A body of its own of what is left, as those that share offer beside `Clone`.
    pub(crate) fn try_clone(&self) -> Option<Self> {
        let whole = self
            .left()
            .pieces
            .iter()
            .flatten()
            .copied()
            .collect::<Vec<u8>>();
        let ready = self.left().ready;
        Some(Self::new(&whole, self.hint).stops_after(ready))
    }

    fn left(&self) -> MutexGuard<'_, Left> {
        self.left.lock().unwrap()
    }
}

impl Left {
    fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.trailers.is_none()
    }

    fn length(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.len() as u64).sum()
    }
}

impl Body for Shared {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let mut left = self.left();
        if left.ready == 0 {
            return Poll::Pending;
        }
        left.ready -= 1;
        let data = left.pieces.pop_front().map(Frame::data);
        let frame = data.or_else(|| left.trailers.take().map(Frame::trailers));
        Poll::Ready(frame.map(Ok))
    }

    fn is_end_stream(&self) -> bool {
        match self.hint {
            Hint::Right | Hint::NoLength => self.left().is_empty(),
            Hint::NeverAtItsEnd | Hint::FirstForEver => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self.hint {
            Hint::Right | Hint::NeverAtItsEnd => SizeHint::with_exact(self.left().length()),
            Hint::FirstForEver => SizeHint::with_exact(self.first),
            Hint::NoLength => SizeHint::default(),
        }
    }
}
