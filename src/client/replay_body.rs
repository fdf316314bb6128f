//! A body that records itself while it is sent, so that it can be sent again.

mod tape;

use super::record::Record;
use crate::error::BoxError;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use tape::{LOST, Position, Recording, RecordingState, SUPERSEDED};

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
    recording: Arc<Mutex<Recording<B>>>,
    attempt: u64,
    /// The position of this attempt in the body.
    position: Position,
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
        let recording = Recording {
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
            recording: Arc::new(Mutex::new(recording)),
            attempt: 0,
            position: Position::default(),
        }
    }

    /// Returns the same body from its start, for a later attempt, or `None` if it is not recorded.
    pub(super) fn later(&self) -> Option<Self> {
        let mut recording = self.lock();
        recording.record.as_ref()?;
        recording.attempts = recording.attempts.saturating_add(1);
        Some(Self {
            recording: Arc::clone(&self.recording),
            attempt: recording.attempts,
            position: Position::default(),
        })
    }

    /// Makes this the next attempt to be sent. Earlier ones, which are not awaited any more, fail on their next read.
    pub(super) fn next_in_turn(&mut self) {
        // A copy may have been made before others that were sent meanwhile, so it gets the next number now.
        let earlier = {
            let mut recording = self
                .recording
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            recording.attempts = recording.attempts.saturating_add(1);
            self.attempt = recording.attempts;
            recording.reading = self.attempt;
            recording.waiting.take()
        };
        // Outside of the lock, since a waker may poll the body at once.
        earlier.into_iter().for_each(Waker::wake);
    }

    /// Returns `true` if the whole body can be sent again after an attempt. `early` is `true` if the server responded
    /// before that attempt had read it all.
    pub(super) fn is_whole(&self, early: bool) -> bool {
        let recording = self.lock();
        recording.record.is_some()
            && recording.state != RecordingState::Failed
            && (!early || recording.is_over())
    }

    /// Returns `true` if the body was at its end before its first attempt.
    pub(super) fn was_empty(&self) -> bool {
        self.lock().empty
    }

    /// Replaces all bytes that were sent. Returns `false` if the body is not at its end or not fully recorded, or if
    /// the function returns `None`.
    pub(super) fn rewrite(&mut self, with: &mut dyn FnMut(&[u8]) -> Option<Vec<u8>>) -> bool {
        let sent = {
            let recording = self.lock();
            let record = recording.record.as_ref();
            record.filter(|_| recording.is_over()).map(Record::whole)
        };
        // Without the lock: the function may be the user's own.
        let Some(new) = sent.and_then(|sent| with(&sent)) else {
            return false;
        };
        let mut recording = self.lock();
        // As if the new bytes had been read to their end: later attempts send the record alone.
        recording.state = RecordingState::Ended;
        recording.read = Position {
            bytes: new.len(),
            trailers: false,
        };
        recording.record = Some(new.into());
        recording.trailers = None;
        true
    }

    /// Returns the number of bytes read of the body, or `None` if not all of them are recorded.
    pub(super) fn read(&self) -> Option<u64> {
        let recording = self.lock();
        recording.record.as_ref()?;
        u64::try_from(recording.read.bytes).ok()
    }
}

impl<B> ReplayBody<B> {
    fn lock(&self) -> MutexGuard<'_, Recording<B>> {
        self.recording
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
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
        // Another handle means that a later attempt may need the bytes that this one reads. The last attempt records
        // nothing.
        let is_shared = Arc::strong_count(&this.recording) > 1;
        let mut recording = this
            .recording
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if !recording.take_over(this.attempt) {
            return Poll::Ready(Some(Err(SUPERSEDED.into())));
        }
        // An attempt that is behind the stream first sends the bytes that earlier attempts have read.
        if this.position != recording.read {
            let frame = recording.recorded(this.position).ok_or(LOST)?;
            this.position.advance(&frame);
            return Poll::Ready(Some(Ok(frame)));
        }
        let next = recording.poll_next(cx, is_shared);
        this.position = recording.read;
        next
    }

    fn is_end_stream(&self) -> bool {
        let recording = self.lock();
        // At its start each attempt must end as the first one did: a stream without data still has an end to poll for,
        // and a client may frame it in another way than an empty body.
        if self.position == Position::default() {
            recording.empty
        } else {
            self.position == recording.read && recording.is_at_end()
        }
    }

    fn size_hint(&self) -> SizeHint {
        let recording = self.lock();
        // The bytes before the position of the stream are lost, so no length would be true.
        if self.position != recording.read && recording.record.is_none() {
            return SizeHint::default();
        }
        let behind = recording.read.bytes.saturating_sub(self.position.bytes);
        let behind = u64::try_from(behind).unwrap_or(u64::MAX);
        let rest = recording.body.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower().saturating_add(behind));
        if let Some(upper) = rest.upper().and_then(|upper| upper.checked_add(behind)) {
            hint.set_upper(upper);
        }
        hint
    }
}

impl<B> fmt::Debug for ReplayBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let read = self.lock().read.bytes;
        f.debug_struct("ReplayBody")
            .field("attempt", &self.attempt)
            .field("read_bytes", &read)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
