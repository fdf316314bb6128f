//! The server: one turn for each request, and what came.

use super::frames;
use crate::listening::Listening;
use h2::Reason;
use std::sync::{Arc, Mutex};
use tokio::sync::Notify;

/// What the server does with a request that it has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    Answer(u16),
    /// Goes away with this reason, as of a stream before the request's: it was not processed.
    GoAwayWithout(Reason),
    /// Goes away with this reason, as of the request's stream, which may have been processed; then closes.
    GoAwayWith(Reason),
    ResetStream(Reason),
    Close,
    Stall,
    /// Answers 200 and a part of a body, which then breaks.
    Body(Breaks),
    /// Answers 200 and all of that body: `answered.`.
    WholeBody,
    /// Answers 200 and a part of a body of no told length, which then breaks.
    PartOfUnknown(Breaks),
    /// Answers 200 and all of such a body: `answered.`. If it is set, the stream is reset after its end.
    Unknown {
        reset: bool,
    },
    /// Answers with this status and the length of that body, without a body.
    LengthAlone(u16),
    /// Answers with a head of so many fields of 10,000 bytes.
    LongHead(usize),
    /// Writes something that is not HTTP/2.
    Garbage,
}

/// How a body breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Breaks {
    Reset(Reason),
    /// The server goes away without an error, as of a stream before this one, and closes.
    GoneAway,
    /// The connection is closed between two frames.
    Closed,
    /// The connection is closed within a frame.
    ClosedInFrame,
}

/// One request as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Got {
    /// Which connection it came on, counted from 1.
    pub(crate) connection: usize,
    pub(crate) stream: u32,
    pub(crate) body: Vec<u8>,
    pub(crate) turn: Turn,
}

/// The server; it ends when it is dropped.
pub(crate) struct Http2Server {
    listening: Listening,
    pub(super) log: Arc<Log>,
}

pub(super) struct Log {
    /// One turn for each request; the last one repeats.
    pub(super) turns: Vec<Turn>,
    /// How many streams a client may have at once.
    pub(super) streams: u32,
    pub(super) got: Mutex<Vec<Got>>,
    changed: Notify,
    pub(super) closing: Notify,
}

impl Http2Server {
    pub(crate) async fn start(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self::with_streams(turns, 100).await
    }

    pub(crate) async fn with_streams(turns: impl IntoIterator<Item = Turn>, streams: u32) -> Self {
        let log = Arc::new(Log {
            turns: turns.into_iter().collect(),
            streams,
            got: Mutex::default(),
            changed: Notify::new(),
            closing: Notify::new(),
        });
        let told = Arc::clone(&log);
        let serve = move |stream, number| frames::serve(stream, number, Arc::clone(&told));
        Self {
            listening: Listening::start(serve).await,
            log,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.listening.address)
    }

    pub(crate) fn got(&self) -> Vec<Got> {
        self.log.got.lock().unwrap().clone()
    }

    pub(crate) async fn until_requests(&self, least: usize) {
        loop {
            let changed = self.log.changed.notified();
            if self.got().len() >= least {
                return;
            }
            changed.await;
        }
    }

    /// Closes the connections that are open; the next ones are served.
    pub(crate) fn close_connections(&self) {
        self.log.closing.notify_waiters();
    }
}

impl Log {
    pub(super) fn put(&self, connection: usize, stream: u32, body: Vec<u8>) -> Turn {
        let mut got = self.got.lock().unwrap();
        let turn = self.turns[got.len().min(self.turns.len() - 1)];
        got.push(Got {
            connection,
            stream,
            body,
            turn,
        });
        self.changed.notify_waiters();
        turn
    }
}
