//! A body that records itself while it is sent, so that it can be sent again.

mod tape;

use super::record::Record;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use tape::{BoxError, Position, Recording, RecordingState};

/// A body that records another one, such as a stream that is not `Clone`, while it is sent, and can send it again.
///
/// The bytes sent are copied up to a limit (default 64 KiB); a later attempt sends the copy, then the rest of the
/// stream. The copy takes less than twice the bytes sent. A body over the limit is sent once. So is a body whose server
/// responds before it has read the body to its end: the caller gets that response. Nothing is recorded if no retry can
/// follow.
///
/// Only the latest attempt reads the stream: an earlier one that is still being sent fails as soon as the next begins,
/// so it never ends as if it were complete.
///
/// `ReplayBody` is the body type of the inner service, since the layer passes it on to the client.
///
/// # Errors
///
/// The errors of the body, boxed. An earlier attempt that is still being sent when a later one begins fails with an
/// error that says so.
///
/// ```
/// use http_retry::ReplayBody;
/// # use http_body_util::Empty;
/// # let stream = Empty::<bytes::Bytes>::new();
///
/// let request = http::Request::put("http://api.example/").body(ReplayBody::new(stream));
/// ```
pub struct ReplayBody<B> {
    tape: Arc<Mutex<Recording<B>>>,
    attempt: u64,
    /// The position of this attempt in the body.
    played: Position,
}

const DEFAULT_LIMIT: usize = 64 * 1024;

impl<B: Body> ReplayBody<B> {
    /// Wraps a body and records at most 64 KiB of it, so that many requests in flight take little memory.
    #[must_use]
    pub fn new(body: B) -> Self {
        Self::with_limit(body, DEFAULT_LIMIT)
    }

    /// Wraps a body and records at most `bytes` of it; a longer body is sent once. An empty body can be sent again
    /// whatever the limit. The recording grows as the body is sent: a limit that is never reached costs nothing.
    #[must_use]
    pub fn with_limit(body: B, bytes: usize) -> Self {
        let empty = body.is_end_stream();
        let tape = Recording {
            empty,
            body: Box::pin(body),
            record: (bytes > 0 || empty).then(Record::default),
            trailers: None,
            read: Position::default(),
            limit: bytes,
            state: RecordingState::Open,
            reading: 0,
            attempts: 0,
            waiting: None,
        };
        Self {
            tape: Arc::new(Mutex::new(tape)),
            attempt: 0,
            played: Position::default(),
        }
    }

    /// Returns the same body from its start, for a later attempt, or `None` if it is not recorded.
    pub(super) fn later(&self) -> Option<Self> {
        let mut tape = self.tape();
        tape.record.as_ref()?;
        tape.attempts = tape.attempts.saturating_add(1);
        Some(Self {
            tape: Arc::clone(&self.tape),
            attempt: tape.attempts,
            played: Position::default(),
        })
    }

    /// Makes this the next attempt to be sent. Earlier ones, for which nobody waits, read no more.
    pub(super) fn next_in_turn(&mut self) {
        let earlier = {
            let mut tape = self.tape.lock().unwrap_or_else(PoisonError::into_inner);
            tape.attempts = tape.attempts.saturating_add(1);
            self.attempt = tape.attempts;
            tape.reading = self.attempt;
            tape.waiting.take()
        };
        earlier.into_iter().for_each(Waker::wake);
    }

    /// Returns `true` if the whole body can be sent again after an attempt. `early` is `true` if the server responded
    /// before that attempt had read it all.
    pub(super) fn is_whole(&self, early: bool) -> bool {
        let tape = self.tape();
        tape.record.is_some() && tape.state != RecordingState::Failed && (!early || tape.is_over())
    }

    /// Replaces all bytes that were sent. Returns `false` if the body is not at its end or not fully recorded, or if
    /// the function returns `None`.
    pub(super) fn rewrite(&mut self, with: &mut dyn FnMut(&[u8]) -> Option<Vec<u8>>) -> bool {
        let mut tape = self.tape();
        let Some(record) = tape.record.as_ref().filter(|_| tape.is_over()) else {
            return false;
        };
        let Some(other) = with(&record.whole()) else {
            return false;
        };
        tape.state = RecordingState::Ended;
        tape.read = Position {
            bytes: other.len(),
            trailers: false,
        };
        tape.record = Some(other.into());
        tape.trailers = None;
        true
    }

    /// Returns the number of bytes read of the body, or `None` if not all of them are recorded.
    pub(super) fn read(&self) -> Option<u64> {
        let tape = self.tape();
        tape.record.as_ref()?;
        u64::try_from(tape.read.bytes).ok()
    }
}

impl<B> ReplayBody<B> {
    fn tape(&self) -> MutexGuard<'_, Recording<B>> {
        self.tape.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<B> Body for ReplayBody<B>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        // Another handle means that a later attempt may need the bytes that this one reads.
        let kept = Arc::strong_count(&this.tape) > 1;
        let mut tape = this.tape.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(superseded) = tape.take_over(this.attempt) {
            return Poll::Ready(Some(Err(superseded.into())));
        }
        // An attempt that is behind the stream first sends the bytes that earlier attempts have read.
        if this.played != tape.read {
            let piece = tape.recorded(this.played);
            return Poll::Ready(Some(match piece {
                Ok(piece) => {
                    this.played.pass(&piece);
                    Ok(piece.into())
                }
                Err(lost) => Err(lost.into()),
            }));
        }
        let next = tape.poll_next(cx, kept);
        this.played = tape.read;
        next.map(|piece| piece.map(|piece| piece.map(Frame::from)))
    }

    fn is_end_stream(&self) -> bool {
        let tape = self.tape();
        if self.played == Position::default() {
            tape.empty
        } else {
            self.played == tape.read && tape.is_at_end()
        }
    }

    fn size_hint(&self) -> SizeHint {
        let tape = self.tape();
        if self.played != tape.read && tape.record.is_none() {
            return SizeHint::default();
        }
        let ahead = tape.read.bytes.saturating_sub(self.played.bytes);
        let ahead = u64::try_from(ahead).unwrap_or(u64::MAX);
        let rest = tape.body.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower().saturating_add(ahead));
        if let Some(upper) = rest.upper().and_then(|upper| upper.checked_add(ahead)) {
            hint.set_upper(upper);
        }
        hint
    }
}

impl<B> fmt::Debug for ReplayBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let read = self.tape().read.bytes;
        f.debug_struct("ReplayBody")
            .field("attempt", &self.attempt)
            .field("read_bytes", &read)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
