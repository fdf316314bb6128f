//! A server that fails on purpose, one act per request, and keeps what it received byte for byte.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

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
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Vec<u8>,
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
}

impl Received {
    pub(crate) fn method(&self) -> &str {
        self.head.split(' ').next().unwrap_or_default()
    }
}

/// The server; it ends when it is dropped.
#[derive(Debug)]
pub(crate) struct FaultServer {
    address: SocketAddr,
    state: Arc<State>,
    accepting: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct State {
    acts: Mutex<VecDeque<Act>>,
    received: Mutex<Vec<Received>>,
    accepted: Mutex<usize>,
    open: Mutex<usize>,
    written: Mutex<usize>,
    changed: Notify,
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
            body: b"answer".to_vec(),
        }
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn body(self, body: impl Into<Vec<u8>>) -> Self {
        Self {
            body: body.into(),
            ..self
        }
    }

    fn bytes(&self, close: bool) -> Vec<u8> {
        let mut head = format!(
            "HTTP/1.1 {} Said\r\ncontent-length: {}\r\n",
            self.status,
            self.body.len()
        );
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if close {
            head.push_str("connection: close\r\n");
        }
        [head.as_bytes(), b"\r\n", &self.body].concat()
    }
}

impl FaultServer {
    pub(crate) async fn start(acts: impl IntoIterator<Item = Act>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State::default());
        state.acts.lock().unwrap().extend(acts);
        let accepting = tokio::spawn(accept(listener, Arc::clone(&state)));
        Self {
            address,
            state,
            accepting,
        }
    }

    /// A port that was free a moment ago and on which nobody listens.
    pub(crate) async fn closed_port() -> SocketAddr {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        listener.local_addr().unwrap()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.state.received.lock().unwrap().clone()
    }

    /// How many connections were accepted.
    pub(crate) fn connections(&self) -> usize {
        *self.state.accepted.lock().unwrap()
    }

    /// How many connections are open now.
    pub(crate) fn open(&self) -> usize {
        *self.state.open.lock().unwrap()
    }

    /// How many bytes of endless bodies were written.
    pub(crate) fn written(&self) -> usize {
        *self.state.written.lock().unwrap()
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

impl Drop for FaultServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl State {
    fn take(&self) -> Act {
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

    fn next_needs_a_new_connection(&self) -> bool {
        self.acts
            .lock()
            .unwrap()
            .front()
            .is_some_and(Act::needs_a_new_connection)
    }

    fn count(&self, counter: &Mutex<usize>, change: isize) {
        let mut counter = counter.lock().unwrap();
        *counter = counter.saturating_add_signed(change);
        self.changed.notify_waiters();
    }

    /// Puts down a request that has begun, and gives its place in the record.
    fn begin(&self, connection: usize, head: &str) -> usize {
        let mut received = self.received.lock().unwrap();
        received.push(Received {
            connection,
            head: head.to_owned(),
            ..Received::default()
        });
        self.changed.notify_waiters();
        received.len() - 1
    }

    fn amend(&self, place: usize, change: impl FnOnce(&mut Received)) {
        change(&mut self.received.lock().unwrap()[place]);
        self.changed.notify_waiters();
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        state.count(&state.accepted, 1);
        let number = *state.accepted.lock().unwrap();
        let state = Arc::clone(&state);
        connections.spawn(async move {
            state.count(&state.open, 1);
            serve_socket(stream, number, &state).await;
            state.count(&state.open, -1);
        });
    }
}

async fn serve_socket(stream: TcpStream, number: usize, state: &State) {
    match state.take_unread() {
        Some(Act::ResetUnread) => reset(&stream),
        Some(_) => {}
        None => {
            let mut connection = Connection {
                stream,
                buffer: Vec::new(),
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

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Close,
    Reset,
}

/// One connection over any stream: a socket, or TLS on one.
pub(crate) struct Connection<S> {
    pub(crate) stream: S,
    pub(crate) buffer: Vec<u8>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    async fn serve(&mut self, number: usize, state: &State) -> End {
        loop {
            let Some(head) = self.head().await else {
                return End::Close;
            };
            let place = state.begin(number, &head);
            match self.act(state.take(), &head, place, state).await {
                Some(end) => return end,
                None => state.changed.notify_waiters(),
            }
        }
    }

    /// Does one act; nothing means that the connection can serve the next request.
    async fn act(&mut self, act: Act, head: &str, place: usize, state: &State) -> Option<End> {
        match &act {
            Act::ResetAfterRequestHead => return Some(End::Reset),
            Act::AnswerEarly(answer) => {
                self.write(&answer.bytes(false)).await;
                self.body(head, place, state).await;
                return None;
            }
            _ => {}
        }
        if !self.body(head, place, state).await {
            return Some(End::Close);
        }
        match act {
            Act::Answer(ref answer) => {
                let close = state.next_needs_a_new_connection();
                self.write(&answer.bytes(close)).await;
                return close.then_some(End::Close);
            }
            Act::AnswerThenClose(ref answer) => self.write(&answer.bytes(false)).await,
            Act::CloseInHead | Act::ResetInHead => {
                self.write(b"HTTP/1.1 200 OK\r\ncontent-le").await
            }
            Act::CutBody(status) | Act::ResetInBody(status) => self.half(status, 12).await,
            Act::StallHead => self.stall().await,
            Act::StallBody(status) => {
                self.half(status, 12).await;
                self.stall().await;
            }
            Act::EndlessBody(status) => self.endless(status, state).await,
            Act::Garbage => {
                self.write(b"this is not the protocol that you are looking for\r\n\r\n")
                    .await
            }
            Act::BadGzip => {
                let answer = Answer::new(200)
                    .header("content-encoding", "gzip")
                    .body("not gzip at all");
                self.write(&answer.bytes(false)).await;
                return None;
            }
            _ => {}
        }
        let resets = matches!(
            act,
            Act::ResetAfterRequest | Act::ResetInHead | Act::ResetInBody(_)
        );
        Some(if resets { End::Reset } else { End::Close })
    }

    async fn half(&mut self, status: u16, length: usize) {
        let head = format!("HTTP/1.1 {status} Said\r\ncontent-length: {length}\r\n\r\nhalf");
        self.write(head.as_bytes()).await;
    }

    async fn endless(&mut self, status: u16, state: &State) {
        let head = format!("HTTP/1.1 {status} Said\r\ncontent-length: 1099511627776\r\n\r\n");
        self.write(head.as_bytes()).await;
        let chunk = [b'x'; 16 * 1024];
        while self.stream.write_all(&chunk).await.is_ok() {
            state.count(&state.written, chunk.len() as isize);
        }
    }

    /// Waits until the client goes away.
    async fn stall(&mut self) {
        let mut rest = [0; 1024];
        while matches!(self.stream.read(&mut rest).await, Ok(1..)) {}
    }

    async fn write(&mut self, bytes: &[u8]) {
        // A client that is gone is what many of these tests are about.
        let _ = self.stream.write_all(bytes).await;
        let _ = self.stream.flush().await;
    }

    async fn head(&mut self) -> Option<String> {
        let end = self.find(b"\r\n\r\n").await?;
        let head: Vec<u8> = self.buffer.drain(..end + 4).collect();
        Some(String::from_utf8_lossy(&head).into_owned())
    }

    /// Reads the body that a head announces; false if the connection ended before it did.
    async fn body(&mut self, head: &str, place: usize, state: &State) -> bool {
        let head = head.to_ascii_lowercase();
        let length = head
            .split("content-length: ")
            .nth(1)
            .and_then(|rest| rest.lines().next());
        let whole = if head.contains("transfer-encoding: chunked") {
            self.chunks(place, state).await
        } else {
            let length = length.map_or(0, |length| length.parse().unwrap());
            self.exactly(length, place, state).await
        };
        state.amend(place, |received| received.whole = whole.is_some());
        whole.is_some()
    }

    async fn chunks(&mut self, place: usize, state: &State) -> Option<()> {
        loop {
            let end = self.find(b"\r\n").await?;
            let line: Vec<u8> = self.buffer.drain(..end + 2).collect();
            let length =
                usize::from_str_radix(std::str::from_utf8(&line).unwrap().trim(), 16).unwrap();
            self.exactly(length, place, state).await?;
            let end = self.find(b"\r\n").await?;
            self.buffer.drain(..end + 2);
            if length == 0 {
                return Some(());
            }
        }
    }

    async fn exactly(&mut self, mut length: usize, place: usize, state: &State) -> Option<()> {
        while length > 0 {
            if self.buffer.is_empty() {
                self.fill().await?;
            }
            let now = length.min(self.buffer.len());
            let piece: Vec<u8> = self.buffer.drain(..now).collect();
            state.amend(place, |received| received.body.extend(piece));
            length -= now;
        }
        Some(())
    }

    async fn find(&mut self, needle: &[u8]) -> Option<usize> {
        loop {
            let found = self
                .buffer
                .windows(needle.len())
                .position(|window| window == needle);
            if found.is_some() {
                return found;
            }
            self.fill().await?;
        }
    }

    async fn fill(&mut self) -> Option<()> {
        let mut bytes = vec![0; 16 * 1024];
        let read = self.stream.read(&mut bytes).await.ok()?;
        self.buffer.extend(&bytes[..read]);
        (read > 0).then_some(())
    }
}

/// The longest that a test waits for what must happen; reached only by a test that fails.
pub(crate) const IN_VAIN: Duration = Duration::from_secs(20);
