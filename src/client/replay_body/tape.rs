//! The recording of a body that is being sent, shared by its attempts.

use crate::client::record::Record;
use crate::error::BoxError;
use bytes::{Buf, Bytes};
use http::HeaderMap;
use http_body::{Body, Frame};
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

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordingState {
    Open,
    Ended,
    Failed,
}

/// The error of an attempt after which another one reads the body.
pub(super) const SUPERSEDED: &str = "a later attempt sends this body now";
/// The error of an attempt that needs bytes which are not recorded.
pub(super) const LOST: &str = "what earlier attempts read of this body is not there any more";

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

    /// Returns the next recorded frame after a position, for a later attempt.
    pub(super) fn recorded(&mut self, from: Position) -> Option<Frame<Bytes>> {
        let data = self.record.as_mut()?.after(from.bytes).map(Frame::data);
        data.or_else(|| self.trailers.clone().map(Frame::trailers))
    }

    /// Makes an attempt the one that reads the body. Returns `false` if a later one already does.
    pub(super) fn take_over(&mut self, attempt: u64) -> bool {
        if attempt < self.reading {
            return false;
        }
        if attempt > self.reading {
            self.reading = attempt;
            // The earlier attempt would wait for ever: the body now wakes only the one that polls it.
            if let Some(earlier) = self.waiting.take() {
                earlier.wake();
            }
        }
        true
    }

    /// Counts a frame, and records it if a later attempt may need it. Ignores an empty frame.
    pub(super) fn count(&mut self, frame: &Frame<Bytes>, is_shared: bool) {
        if frame.data_ref().is_some_and(Bytes::is_empty) {
            return;
        }
        self.read.advance(frame);
        let is_recorded = is_shared && self.read.bytes <= self.limit;
        match &mut self.record {
            Some(record) if is_recorded => match frame.data_ref() {
                Some(data) => record.push(data),
                None => self.trailers = frame.trailers_ref().cloned(),
            },
            // From here on the record has a gap, and half a body is never sent.
            _ => self.record = None,
        }
    }

    pub(super) fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
        is_shared: bool,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>>
    where
        B::Error: Into<BoxError>,
    {
        match self.state {
            RecordingState::Open => {}
            RecordingState::Ended => return Poll::Ready(None),
            RecordingState::Failed => return Poll::Ready(Some(Err(LOST.into()))),
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
                let frame = frame.map_data(|mut data| data.copy_to_bytes(data.remaining()));
                if frame.is_trailers() {
                    // Nothing may follow trailers, and a client does not poll again to find out.
                    self.state = RecordingState::Ended;
                }
                self.count(&frame, is_shared);
                Some(Ok(frame))
            }
        })
    }
}

impl Position {
    pub(super) fn advance(&mut self, frame: &Frame<Bytes>) {
        match frame.data_ref() {
            Some(data) => self.bytes = self.bytes.saturating_add(data.len()),
            None => self.trailers = true,
        }
    }
}
