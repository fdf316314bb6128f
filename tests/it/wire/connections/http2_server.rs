//! An HTTP/2 server without TLS that does one act per stream, and keeps what it received.

use crate::listening::Listening;
use bytes::Bytes;
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::{HeaderMap, Request, Response};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Poll;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// What the server does with one stream. When the list is at its end, it reads the request and answers 200.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Act {
    /// Reads the request and answers.
    Answer(u16),
    /// Reads the request and answers with a body that goes on for ever.
    Endless(u16),
    /// Reads the request and answers with the head of a body that never comes.
    StallBody(u16),
    /// Reads so many bytes of the request, answers, and wants no more of it.
    AnswerAfter(usize, u16),
    /// Reads the request, then resets its stream.
    Reset(Reason),
}

/// One stream as it came and went.
#[derive(Debug, Clone, Default)]
pub(crate) struct Received {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: HeaderMap,
    /// Whether all of the request came.
    pub(crate) whole: bool,
    /// How the client reset the stream, if it did.
    pub(crate) reset: Option<Reason>,
    /// How many bytes of an endless body the client made room for.
    pub(crate) written: usize,
}

/// The server; it ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Http2Server {
    listening: Listening,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    seen: Mutex<Seen>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Seen {
    acts: VecDeque<Act>,
    received: Vec<Received>,
    open: usize,
}

impl Http2Server {
    pub(crate) async fn start(acts: impl IntoIterator<Item = Act>) -> Self {
        let state = Arc::new(State::default());
        state.seen().acts.extend(acts);
        let told = Arc::clone(&state);
        let serve = move |stream, _| serve(stream, Arc::clone(&told));
        Self {
            listening: Listening::start(serve).await,
            state,
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.listening.address)
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.state.seen().received.clone()
    }

    /// How many connections were accepted.
    pub(crate) fn connections(&self) -> usize {
        self.listening.connections()
    }

    /// How many connections are open now.
    pub(crate) fn open(&self) -> usize {
        self.state.seen().open
    }

    /// Waits until something that the server has seen is so.
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
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }

    fn change<T>(&self, change: impl FnOnce(&mut Seen) -> T) -> T {
        let output = change(&mut self.seen());
        self.changed.notify_waiters();
        output
    }
}

async fn serve(stream: TcpStream, state: Arc<State>) {
    state.change(|seen| seen.open += 1);
    serve_streams(stream, &state).await;
    state.change(|seen| seen.open -= 1);
}

async fn serve_streams(stream: TcpStream, state: &Arc<State>) {
    let mut streams = JoinSet::new();
    let Ok(mut connection) = h2::server::handshake(stream).await else {
        return;
    };
    while let Some(Ok((request, respond))) = connection.accept().await {
        let (place, act) = state.change(|seen| seen.begin(&request));
        let stream = Stream {
            state: Arc::clone(state),
            place,
        };
        streams.spawn(stream.act(act, request.into_body(), respond));
    }
}

impl Seen {
    fn begin(&mut self, request: &Request<RecvStream>) -> (usize, Act) {
        self.received.push(Received {
            headers: request.headers().clone(),
            ..Received::default()
        });
        let act = self.acts.pop_front().unwrap_or(Act::Answer(200));
        (self.received.len() - 1, act)
    }
}

/// One stream, by its place in the record.
struct Stream {
    state: Arc<State>,
    place: usize,
}

impl Stream {
    async fn act(self, act: Act, body: RecvStream, mut respond: SendResponse<Bytes>) {
        let limit = match act {
            Act::AnswerAfter(bytes, _) => bytes,
            _ => usize::MAX,
        };
        let unread = self.read(body, limit).await;
        match act {
            Act::Answer(status) | Act::AnswerAfter(_, status) => {
                let mut body = respond.send_response(head(status), false).unwrap();
                let _ = body.send_data(Bytes::from_static(b"answer"), true);
            }
            Act::Endless(status) => {
                let body = respond.send_response(head(status), false).unwrap();
                self.write_for_ever(body).await;
            }
            Act::StallBody(status) => {
                let mut body = respond.send_response(head(status), false).unwrap();
                self.reset(poll_fn(|cx| body.poll_reset(cx)).await);
            }
            Act::Reset(reason) => respond.send_reset(reason),
        }
        drop(unread);
    }

    /// Reads a request up to so many bytes, and gives back what is not read.
    async fn read(&self, mut body: RecvStream, limit: usize) -> Option<RecvStream> {
        while let Some(Ok(data)) = body.data().await {
            let _ = body.flow_control().release_capacity(data.len());
            let length = self.amend(|received| {
                received.body.extend(data);
                received.body.len()
            });
            if length >= limit {
                return Some(body);
            }
        }
        let end = body.trailers().await;
        self.amend(|received| {
            received.whole = end.is_ok();
            received.trailers = end.ok().flatten().unwrap_or_default();
        });
        None
    }

    async fn write_for_ever(&self, mut body: SendStream<Bytes>) {
        let chunk = Bytes::from_static(&[b'x'; 16 * 1024]);
        loop {
            body.reserve_capacity(chunk.len());
            let room = poll_fn(|cx| match body.poll_reset(cx) {
                Poll::Ready(reset) => Poll::Ready(Err(reset)),
                Poll::Pending => body
                    .poll_capacity(cx)
                    .map(|room| Ok(room.unwrap().unwrap())),
            });
            match room.await {
                Err(reset) => return self.reset(reset),
                Ok(room) => {
                    let _ = body.send_data(chunk.slice(..room.min(chunk.len())), false);
                    self.amend(|received| received.written += room.min(chunk.len()));
                }
            }
        }
    }

    fn reset(&self, reset: Result<Reason, h2::Error>) {
        self.amend(|received| received.reset = reset.ok());
    }

    fn amend<T>(&self, change: impl FnOnce(&mut Received) -> T) -> T {
        self.state
            .change(|seen| change(&mut seen.received[self.place]))
    }
}

fn head(status: u16) -> Response<()> {
    Response::builder().status(status).body(()).unwrap()
}
