//! A server that fails on purpose, one act per request, and keeps what it received byte for byte.

use super::connection::{Connection, End};
use crate::listening::Listening;
use bytes::{Bytes, BytesMut};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::net::TcpStream;
use tokio::sync::Notify;

/// What the server does with one request. When the list is at its end, it answers 200.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// Reads the request and answers.
    Answer(Answer),
    /// Answers as if the connection stayed open, and then closes it.
    AnswerThenClose(Answer),
    /// Answers after the request's head, and reads the body only then.
    AnswerEarly(Answer),
    /// Accepts a connection and closes it unread.
    CloseUnread,
    /// Accepts a connection and resets it unread.
    ResetUnread,
    /// Reads the request's head and no more, then resets the connection.
    ResetAfterRequestHead,
    /// Reads the request and closes the connection.
    CloseAfterRequest,
    /// Reads the request and resets the connection.
    ResetAfterRequest,
    /// Writes half of a response's head, then closes.
    CloseInHead,
    /// Writes half of a response's head, then resets.
    ResetInHead,
    /// Writes a head and half of the body that it promises, then closes.
    CutBody(u16),
    /// Writes a head and half of the body that it promises, then resets.
    ResetInBody(u16),
    /// Reads the request and never answers.
    StallHead,
    /// Writes a head that promises a body, and then nothing.
    StallBody(u16),
    /// Writes the answer up to so many bytes of its body, and the rest after [`FaultServer::go_on`].
    Pause(Answer, usize),
    /// Writes a head and a body that goes on for ever.
    EndlessBody(u16),
    /// Answers something that is not HTTP.
    Garbage,
    /// Answers 200 with a gzip body that is none.
    BadGzip,
}

/// A response.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, Arc<str>)>,
    pub(crate) body: Bytes,
}

/// One request as it came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Received {
    /// Which connection it came on, counted from 1.
    pub(crate) connection: usize,
    pub(crate) head: String,
    /// The body without its chunks' framing.
    pub(crate) body: Vec<u8>,
    /// Whether all of the body came.
    pub(crate) whole: bool,
    /// What the server did with it.
    pub(crate) act: Option<Act>,
}

impl Received {
    pub(crate) fn method(&self) -> &str {
        self.head.split(' ').next().unwrap_or_default()
    }

    pub(crate) fn target(&self) -> &str {
        self.head.split(' ').nth(1).unwrap()
    }

    /// The headers, each a name and a value.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        let lines = self.head.lines().skip(1);
        lines.filter_map(|line| line.split_once(": "))
    }
}

impl Act {
    pub(crate) fn status(status: u16) -> Self {
        Self::Answer(Answer::new(status))
    }

    fn needs_a_new_connection(&self) -> bool {
        matches!(self, Self::CloseUnread | Self::ResetUnread)
    }
}

impl Answer {
    pub(crate) fn new(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: Bytes::from_static(b"answer"),
        }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<Arc<str>>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn body(self, body: impl Into<Vec<u8>>) -> Self {
        Self {
            body: Bytes::from(body.into()),
            ..self
        }
    }

    /// The same in chunks, so that nobody knows its length before its end.
    pub(crate) fn chunked(mut self) -> Self {
        let mut chunks = Vec::new();
        for chunk in self.body.chunks(10_000) {
            chunks.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            chunks.extend_from_slice(chunk);
            chunks.extend_from_slice(b"\r\n");
        }
        chunks.extend_from_slice(b"0\r\n\r\n");
        self.body = chunks.into();
        self.header("transfer-encoding", "chunked")
    }

    pub(super) fn bytes(&self, close: bool) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} Said\r\n", self.status);
        let is_chunked = |(name, _): &(&str, _)| *name == "transfer-encoding";
        if !self.headers.iter().any(is_chunked) {
            head.push_str(&format!("content-length: {}\r\n", self.body.len()));
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if close {
            head.push_str("connection: close\r\n");
        }
        [head.as_bytes(), b"\r\n", &self.body].concat()
    }
}

/// The server; it ends when it is dropped.
#[derive(Debug)]
pub(crate) struct FaultServer {
    listening: Listening,
    state: Arc<State>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    acts: Mutex<VecDeque<Act>>,
    received: Mutex<Vec<Received>>,
    open: Mutex<usize>,
    pub(super) written: Mutex<usize>,
    pub(super) changed: Notify,
    pub(super) go_on: Notify,
}

impl FaultServer {
    pub(crate) async fn start(acts: impl IntoIterator<Item = Act>) -> Self {
        let state = Arc::new(State::default());
        state.acts.lock().unwrap().extend(acts);
        let told = Arc::clone(&state);
        let serve = move |stream, number| serve(stream, number, Arc::clone(&told));
        Self {
            listening: Listening::start(serve).await,
            state,
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address())
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.listening.address
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.state.received.lock().unwrap().clone()
    }

    /// How many connections were accepted.
    pub(crate) fn connections(&self) -> usize {
        self.listening.connections()
    }

    /// How many connections are open now.
    pub(crate) fn open(&self) -> usize {
        *self.state.open.lock().unwrap()
    }

    /// How many bytes of endless bodies were written.
    pub(crate) fn written(&self) -> usize {
        *self.state.written.lock().unwrap()
    }

    /// Lets one answer go on that has paused, or will.
    pub(crate) fn go_on(&self) {
        self.state.go_on.notify_one();
    }

    /// Waits until something that the server has seen is so; a test's own limit ends a wait in vain.
    pub(crate) async fn until(&self, so: impl Fn(&Self) -> bool) {
        loop {
            let changed = self.state.changed.notified();
            if so(self) {
                return;
            }
            changed.await;
        }
    }
}

impl State {
    pub(super) fn take(&self) -> Act {
        self.acts
            .lock()
            .unwrap()
            .pop_front()
            .unwrap_or_else(|| Act::status(200))
    }

    /// The act at the front, if it is one for a connection that was just accepted.
    fn take_unread(&self) -> Option<Act> {
        let mut acts = self.acts.lock().unwrap();
        acts.front()
            .is_some_and(Act::needs_a_new_connection)
            .then(|| acts.pop_front())
            .flatten()
    }

    pub(super) fn next_needs_a_new_connection(&self) -> bool {
        self.acts
            .lock()
            .unwrap()
            .front()
            .is_some_and(Act::needs_a_new_connection)
    }

    pub(super) fn count(&self, counter: &Mutex<usize>, change: isize) {
        let mut counter = counter.lock().unwrap();
        *counter = counter.saturating_add_signed(change);
        self.changed.notify_waiters();
    }

    /// Puts down a request that has begun, and gives its place in the record.
    pub(super) fn begin(&self, connection: usize, head: &str) -> usize {
        let mut received = self.received.lock().unwrap();
        received.push(Received {
            connection,
            head: head.to_owned(),
            ..Received::default()
        });
        self.changed.notify_waiters();
        received.len() - 1
    }

    pub(super) fn amend(&self, place: usize, change: impl FnOnce(&mut Received)) {
        change(&mut self.received.lock().unwrap()[place]);
        self.changed.notify_waiters();
    }
}

async fn serve(stream: TcpStream, number: usize, state: Arc<State>) {
    state.count(&state.open, 1);
    serve_socket(stream, number, &state).await;
    state.count(&state.open, -1);
}

async fn serve_socket(stream: TcpStream, number: usize, state: &State) {
    match state.take_unread() {
        Some(Act::ResetUnread) => reset(&stream),
        Some(_) => {}
        None => {
            let mut connection = Connection {
                stream,
                buffer: BytesMut::new(),
            };
            if connection.serve(number, state).await == End::Reset {
                reset(&connection.stream);
            }
        }
    }
}

fn reset(stream: &TcpStream) {
    // Closing a socket that lingers for no time sends RST.
    let _ = stream.set_zero_linger();
}
