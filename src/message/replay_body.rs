//! A body that is recorded while it is sent, so that it can be sent again.

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

type BoxError = Box<dyn Error + Send + Sync>;

/// Any body that is not `Clone`, such as a stream: recorded while it is sent, and sent again whole.
///
/// Up to a limit (default 64 KiB) what was sent is kept, and a later attempt sends it, then the rest of the stream. A
/// body that exceeds the limit is sent once. So is one to which the server answers before it has read it to the end: the
/// answer is returned, since the rest of the stream was meant for the server that did not want it. Nothing is kept where
/// no retry can follow.
///
/// Only the latest attempt reads the stream: an earlier one that is still being sent fails as soon as the next begins, and
/// so never ends as if it were complete.
///
/// It is part of the inner service's body type, since what goes through the layer goes on to the client.
///
/// ```
/// use http_retry::ReplayBody;
/// # use http_body_util::Empty;
/// # let stream = Empty::<bytes::Bytes>::new();
///
/// let request = http::Request::put("http://api.example/").body(ReplayBody::new(stream));
/// ```
pub struct ReplayBody<B> {
    tape: Arc<Mutex<Tape<B>>>,
    attempt: u64,
    /// How many of the recorded frames this attempt has had.
    played: usize,
}

const DEFAULT_LIMIT: usize = 64 * 1024;

struct Tape<B> {
    body: Pin<Box<B>>,
    /// What was read, as long as all of it is there.
    record: Option<Vec<Recorded>>,
    recorded: usize,
    limit: usize,
    state: State,
    /// The attempt that reads; earlier ones are over.
    reading: u64,
    attempts: u64,
    waiting: Option<Waker>,
}

#[derive(Clone)]
enum Recorded {
    Data(Bytes),
    Trailers(http::HeaderMap),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Ended,
    Failed,
}

impl<B: Body> ReplayBody<B> {
    /// Wraps a body, of which 64 KiB are recorded at most.
    #[must_use]
    pub fn new(body: B) -> Self {
        Self::with_limit(body, DEFAULT_LIMIT)
    }

    /// Wraps a body, of which so many bytes are recorded at most; 0 records nothing, so the body is sent once.
    #[must_use]
    pub fn with_limit(body: B, bytes: usize) -> Self {
        let tape = Tape {
            body: Box::pin(body),
            record: (bytes > 0).then(Vec::new),
            recorded: 0,
            limit: bytes,
            state: State::Open,
            reading: 0,
            attempts: 0,
            waiting: None,
        };
        Self {
            tape: Arc::new(Mutex::new(tape)),
            attempt: 0,
            played: 0,
        }
    }

    /// The same body from its start, for a later attempt.
    pub(super) fn later(&self) -> Option<Self> {
        let mut tape = self.tape();
        tape.record.as_ref()?;
        tape.attempts = tape.attempts.saturating_add(1);
        Some(Self {
            tape: Arc::clone(&self.tape),
            attempt: tape.attempts,
            played: 0,
        })
    }

    /// Whether all of the body can be sent again, after an attempt that ended with an answer or without one.
    pub(super) fn is_whole(&self, answered: bool) -> bool {
        let tape = self.tape();
        tape.record.is_some() && tape.state != State::Failed && (!answered || tape.is_over())
    }
}

impl<B> ReplayBody<B> {
    fn tape(&self) -> MutexGuard<'_, Tape<B>> {
        self.tape.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<B: Body> Tape<B> {
    fn is_over(&self) -> bool {
        self.state == State::Ended
            || self.body.is_end_stream()
            || self.body.size_hint().exact() == Some(0)
    }

    fn record_length(&self) -> usize {
        self.record.as_ref().map_or(0, Vec::len)
    }

    /// Makes an attempt the one that reads, unless a later one does.
    fn take_over(&mut self, attempt: u64) -> Result<(), Superseded> {
        if attempt < self.reading {
            return Err(Superseded);
        }
        if attempt > self.reading {
            self.reading = attempt;
            if let Some(earlier) = self.waiting.take() {
                earlier.wake();
            }
        }
        Ok(())
    }

    fn keep(&mut self, frame: &Recorded) {
        let length = match frame {
            Recorded::Data(data) => data.len(),
            Recorded::Trailers(_) => 0,
        };
        self.recorded = self.recorded.saturating_add(length);
        match &mut self.record {
            Some(record) if self.recorded <= self.limit => record.push(frame.clone()),
            _ => self.record = None,
        }
    }

    fn poll_next(
        &mut self,
        cx: &mut Context<'_>,
        kept: bool,
    ) -> Poll<Option<Result<Recorded, BoxError>>>
    where
        B::Error: Into<BoxError>,
    {
        if self.state != State::Open {
            return Poll::Ready(None);
        }
        let Poll::Ready(frame) = self.body.as_mut().poll_frame(cx) else {
            self.waiting = Some(cx.waker().clone());
            return Poll::Pending;
        };
        Poll::Ready(match frame {
            None => {
                self.state = State::Ended;
                None
            }
            Some(Err(error)) => {
                self.state = State::Failed;
                Some(Err(error.into()))
            }
            Some(Ok(frame)) => {
                let frame = Recorded::from(frame);
                if kept {
                    self.keep(&frame);
                } else {
                    self.record = None;
                }
                Some(Ok(frame))
            }
        })
    }
}

impl<D: Buf> From<Frame<D>> for Recorded {
    fn from(frame: Frame<D>) -> Self {
        match frame.into_data() {
            Ok(mut data) => Self::Data(data.copy_to_bytes(data.remaining())),
            Err(frame) => Self::Trailers(frame.into_trailers().unwrap_or_default()),
        }
    }
}

impl From<Recorded> for Frame<Bytes> {
    fn from(frame: Recorded) -> Self {
        match frame {
            Recorded::Data(data) => Self::data(data),
            Recorded::Trailers(trailers) => Self::trailers(trailers),
        }
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
        // Another handle means that a later attempt may need what this one reads.
        let kept = Arc::strong_count(&this.tape) > 1;
        let mut tape = this.tape.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(superseded) = tape.take_over(this.attempt) {
            return Poll::Ready(Some(Err(superseded.into())));
        }
        let recorded = tape
            .record
            .as_ref()
            .and_then(|record| record.get(this.played));
        if let Some(frame) = recorded.cloned() {
            this.played = this.played.saturating_add(1);
            return Poll::Ready(Some(Ok(frame.into())));
        }
        let next = tape.poll_next(cx, kept);
        this.played = tape.record_length();
        next.map(|frame| frame.map(|frame| frame.map(Frame::from)))
    }

    fn is_end_stream(&self) -> bool {
        let tape = self.tape();
        let played = self.played >= tape.record_length();
        played && (tape.state == State::Ended || tape.body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let tape = self.tape();
        let left = tape.record.iter().flatten().skip(self.played);
        let ahead = left.map(Recorded::length).fold(0, u64::saturating_add);
        let rest = tape.body.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(rest.lower().saturating_add(ahead));
        if let Some(upper) = rest.upper().and_then(|upper| upper.checked_add(ahead)) {
            hint.set_upper(upper);
        }
        hint
    }
}

impl Recorded {
    fn length(&self) -> u64 {
        match self {
            Self::Data(data) => u64::try_from(data.len()).unwrap_or(u64::MAX),
            Self::Trailers(_) => 0,
        }
    }
}

impl<B> fmt::Debug for ReplayBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let recorded = self.tape().recorded;
        f.debug_struct("ReplayBody")
            .field("attempt", &self.attempt)
            .field("recorded_bytes", &recorded)
            .finish_non_exhaustive()
    }
}

/// The error of an attempt that is still being sent when the next one begins.
#[derive(Debug)]
struct Superseded;

impl fmt::Display for Superseded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a later attempt sends this body now")
    }
}

impl Error for Superseded {}

#[cfg(test)]
mod tests;
