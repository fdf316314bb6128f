//! The recording of a body that is being sent, shared by its attempts.

use crate::client::record::Record;
use crate::error::BoxError;
use bytes::{Buf, Bytes};
use http::HeaderMap;
use http_body::{Body, Frame};
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

pub(super) struct Recording<B> {
    pub(super) body: Pin<Box<B>>,
    /// Set if the body was empty from the start.
    pub(super) empty: bool,
    /// The data read so far, while all of it is recorded.
    pub(super) record: Option<Record>,
    pub(super) trailers: Option<HeaderMap>,
    /// The position up to which the body was read, recorded or not.
    pub(super) read: Position,
    pub(super) limit: usize,
    pub(super) state: RecordingState,
    /// The attempt that reads; earlier ones are over.
    pub(super) reading: u64,
    /// The number of attempts that were created, which is also the number of the latest.
    pub(super) attempts: u64,
    /// The waker of the attempt that waits for the body.
    pub(super) waiting: Option<Waker>,
}

/// A position in a body: a number of bytes, and perhaps its trailers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) bytes: usize,
    pub(super) trailers: bool,
}

pub(super) enum Chunk {
    Data(Bytes),
    Trailers(HeaderMap),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordingState {
    Open,
    Ended,
    Failed,
}

/// The reason that an attempt cannot send the body.
#[derive(Debug)]
pub(super) enum Unreadable {
    Superseded,
    Lost,
}

impl<B: Body> Recording<B> {
    pub(super) fn is_at_end(&self) -> bool {
        match self.state {
            RecordingState::Open => self.body.is_end_stream(),
            RecordingState::Ended => true,
            RecordingState::Failed => false,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        // A client that has sent `content-length` bytes does not poll for the end of the body.
        self.is_at_end() || self.body.size_hint().exact() == Some(0)
    }

    /// Returns the next recorded chunk after a position, for a later attempt.
    pub(super) fn recorded(&mut self, from: Position) -> Result<Chunk, Unreadable> {
        let record = self.record.as_mut().ok_or(Unreadable::Lost)?;
        let data = record.after(from.bytes).map(Chunk::Data);
        let next = data.or_else(|| self.trailers.clone().map(Chunk::Trailers));
        next.ok_or(Unreadable::Lost)
    }

    /// Makes an attempt the one that reads the body, unless a later one already does.
    pub(super) fn take_over(&mut self, attempt: u64) -> Result<(), Unreadable> {
        if attempt < self.reading {
            return Err(Unreadable::Superseded);
        }
        if attempt > self.reading {
            self.reading = attempt;
            // The earlier attempt would wait for ever: the body now wakes only the one that polls it.
            if let Some(earlier) = self.waiting.take() {
                earlier.wake();
            }
        }
        Ok(())
    }

    /// Counts a chunk, and records it if a later attempt may need it. Ignores an empty chunk.
    pub(super) fn count(&mut self, chunk: &Chunk, is_shared: bool) {
        if chunk.is_empty() {
            return;
        }
        self.read.advance(chunk);
        let is_recorded = is_shared && self.read.bytes <= self.limit;
        match (&mut self.record, chunk) {
            (Some(record), Chunk::Data(data)) if is_recorded => record.push(data),
            (Some(_), Chunk::Trailers(trailers)) if is_recorded => {
                self.trailers = Some(trailers.clone());
            }
            // From here on the record has a gap, and half a body is never sent.
            _ => self.record = None,
        }
    }

    pub(super) fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
        is_shared: bool,
    ) -> Poll<Option<Result<Chunk, BoxError>>>
    where
        B::Error: Into<BoxError>,
    {
        match self.state {
            RecordingState::Open => {}
            RecordingState::Ended => return Poll::Ready(None),
            RecordingState::Failed => return Poll::Ready(Some(Err(Unreadable::Lost.into()))),
        }
        let Poll::Ready(frame) = self.body.as_mut().poll_frame(cx) else {
            // For `take_over`: the body itself wakes only for new data.
            self.waiting = Some(cx.waker().clone());
            return Poll::Pending;
        };
        Poll::Ready(match frame {
            None => {
                self.state = RecordingState::Ended;
                None
            }
            Some(Err(error)) => {
                self.state = RecordingState::Failed;
                Some(Err(error.into()))
            }
            Some(Ok(frame)) => {
                let chunk = Chunk::from(frame);
                if let Chunk::Trailers(_) = chunk {
                    // Nothing may follow trailers, and a client does not poll again to find out.
                    self.state = RecordingState::Ended;
                }
                self.count(&chunk, is_shared);
                Some(Ok(chunk))
            }
        })
    }
}

impl Position {
    pub(super) fn advance(&mut self, chunk: &Chunk) {
        match chunk {
            Chunk::Data(data) => self.bytes = self.bytes.saturating_add(data.len()),
            Chunk::Trailers(_) => self.trailers = true,
        }
    }
}

impl Chunk {
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Data(data) if data.is_empty())
    }
}

impl<D: Buf> From<Frame<D>> for Chunk {
    fn from(frame: Frame<D>) -> Self {
        match frame.into_data() {
            Ok(mut data) => Self::Data(data.copy_to_bytes(data.remaining())),
            Err(frame) => Self::Trailers(frame.into_trailers().unwrap_or_default()),
        }
    }
}

impl From<Chunk> for Frame<Bytes> {
    fn from(chunk: Chunk) -> Self {
        match chunk {
            Chunk::Data(data) => Self::data(data),
            Chunk::Trailers(trailers) => Self::trailers(trailers),
        }
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Superseded => "a later attempt sends this body now",
            Self::Lost => "what earlier attempts read of this body is not there any more",
        })
    }
}

impl Error for Unreadable {}
