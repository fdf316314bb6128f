//! Any body in any pieces, any limit, any reads and replays: an attempt sends the whole body, or there is none.
#![no_main]

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use http_body::{Body, Frame, SizeHint};
use http_retry::{Replay, ReplayBody};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

fuzz_target!(|input: Input| {
    let mut input = input;
    let trailers = input
        .pieces
        .iter()
        .position(|piece| matches!(piece, Piece::Trailers(_)));
    if let Some(last) = trailers {
        // Nothing can follow trailers.
        input.pieces.truncate(last + 1);
    }
    let whole = Whole::of(&input.pieces);
    let stream = Stream {
        pieces: input.pieces.into(),
        says_its_length: input.says_its_length,
    };
    let body = match input.limit {
        Some(limit) => ReplayBody::with_limit(stream, usize::from(limit)),
        None => ReplayBody::new(stream),
    };
    send(body, &whole, &input.attempts);
});

#[derive(Debug, Arbitrary)]
struct Input {
    pieces: Vec<Piece>,
    says_its_length: bool,
    limit: Option<u16>,
    attempts: Vec<Attempt>,
}

#[derive(Debug, Clone, Arbitrary)]
enum Piece {
    Data(Vec<u8>),
    Pending,
    Trailers(u8),
    Error,
}

/// What one attempt does before the next begins, if it may.
#[derive(Debug, Arbitrary)]
struct Attempt {
    reads: u8,
    answered: bool,
    /// No copy is kept, as before the last attempt.
    last: bool,
    /// The attempt is still being sent when the next has begun.
    lingers: bool,
}

/// The body as it is meant.
#[derive(Debug, Default, PartialEq, Eq)]
struct Whole {
    data: Vec<u8>,
    trailers: Vec<u8>,
    fails: bool,
}

impl Whole {
    fn of(pieces: &[Piece]) -> Self {
        let mut whole = Self::default();
        for piece in pieces {
            match piece {
                Piece::Data(data) => whole.data.extend(data),
                Piece::Trailers(name) => whole.trailers.push(*name),
                Piece::Pending => {}
                Piece::Error => {
                    whole.fails = true;
                    break;
                }
            }
        }
        whole
    }
}

/// The caller's own body.
struct Stream {
    pieces: VecDeque<Piece>,
    says_its_length: bool,
}

impl Body for Stream {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let Some(piece) = self.pieces.pop_front() else {
            return Poll::Ready(None);
        };
        Poll::Ready(Some(match piece {
            Piece::Data(data) => Ok(Frame::data(data.into())),
            Piece::Trailers(name) => {
                let trailer = (http::header::ETAG, HeaderValue::from(u16::from(name)));
                Ok(Frame::trailers(HeaderMap::from_iter([trailer])))
            }
            Piece::Error => Err(io::Error::other("the caller's own")),
            Piece::Pending => {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.says_its_length && self.pieces.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        let lengths = self.pieces.iter().map(|piece| match piece {
            Piece::Data(data) => data.len() as u64,
            _ => 0,
        });
        if self.says_its_length {
            SizeHint::with_exact(lengths.sum())
        } else {
            SizeHint::default()
        }
    }
}

type Recording = ReplayBody<Stream>;

fn send(first: Recording, whole: &Whole, attempts: &[Attempt]) {
    let mut current = Sending::new(first);
    for attempt in attempts {
        let next = if attempt.last {
            None
        } else {
            current.body.replay()
        };
        current.read(usize::from(attempt.reads), whole);
        let Some(next) = next.filter(|next| next.can_replay(attempt.answered)) else {
            break;
        };
        let earlier = std::mem::replace(&mut current, Sending::new(next));
        if attempt.lingers {
            current.read(1, whole);
            earlier.is_over();
        }
    }
    current.read(usize::MAX, whole);
    assert!(current.ended, "it came to its end");
}

/// One attempt, and what the server has of it.
struct Sending {
    body: Recording,
    sent: Whole,
    ended: bool,
}

impl Sending {
    fn new(body: Recording) -> Self {
        Self {
            body,
            sent: Whole::default(),
            ended: false,
        }
    }

    fn read(&mut self, polls: usize, whole: &Whole) {
        for _ in 0..polls {
            if self.ended {
                return;
            }
            self.poll(whole);
        }
    }

    fn poll(&mut self, whole: &Whole) {
        self.check_hint(whole);
        let said_over = self.body.is_end_stream();
        let mut cx = Context::from_waker(Waker::noop());
        match Pin::new(&mut self.body).poll_frame(&mut cx) {
            Poll::Pending => assert!(!said_over),
            Poll::Ready(None) => {
                assert_eq!(self.sent, *whole, "it ended as if it were whole");
                self.ended = true;
            }
            Poll::Ready(Some(Err(_))) => {
                assert!(whole.fails && !said_over, "nothing failed");
                self.sent.fails = true;
                assert_eq!(self.sent, *whole);
                self.ended = true;
            }
            Poll::Ready(Some(Ok(frame))) => {
                assert!(!said_over, "more after its end");
                self.take(frame);
                assert!(whole.data.starts_with(&self.sent.data));
                assert!(whole.trailers.starts_with(&self.sent.trailers));
            }
        }
    }

    fn take(&mut self, frame: Frame<Bytes>) {
        match frame.into_data() {
            Ok(data) => self.sent.data.extend(data),
            Err(frame) => {
                let trailers = frame.into_trailers().expect("data or trailers");
                let name = trailers["etag"].to_str().expect("digits");
                self.sent
                    .trailers
                    .push(name.parse().expect("what was sent"));
            }
        }
    }

    /// What is still to come is within what the body says of it.
    fn check_hint(&self, whole: &Whole) {
        let hint = self.body.size_hint();
        let left = (whole.data.len() - self.sent.data.len()) as u64;
        assert!(whole.fails || hint.lower() <= left, "{hint:?} of {left}");
        assert!(
            hint.upper().is_none_or(|upper| upper >= left),
            "{hint:?} of {left}"
        );
    }

    /// An attempt that a later one has overtaken fails, and never ends as if it were whole.
    fn is_over(mut self) {
        let mut cx = Context::from_waker(Waker::noop());
        let next = Pin::new(&mut self.body).poll_frame(&mut cx);
        assert!(matches!(next, Poll::Ready(Some(Err(_)))));
    }
}
