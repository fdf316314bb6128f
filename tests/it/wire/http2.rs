//! HTTP/2 frame by frame: a server that refuses, resets and goes away on purpose, and what retries make of it.
//!
//! Its frames are written by hand, since no HTTP/2 library lets a server leave out of its GOAWAY a stream that it has read.

use super::server::IN_VAIN;
use super::table::clients::{Kit, Log as Attempts, Retries, Stack, hyper_client, layer, policy};
use super::table::ending::Ending;
use super::table::orders::{Load, Order, Payload};
use h2::Reason;
use http_retry::policy::ErrorKind;
use http_retry::reqwest::RetryMiddleware;
use http_retry::testing::ManualRuntime;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;
use tower::{Layer, ServiceExt};

/// What the server does with a request that it has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    Answer(u16),
    /// Goes away with this reason, as of a stream before the request's: it was not processed.
    GoAwayWithout(Reason),
    /// Goes away without an error, as of the request's stream, which may have been processed; then closes.
    GoAwayWith,
    ResetStream(Reason),
    Close,
    Stall,
    /// Answers 200 and a part of a body, which then breaks.
    Body(Breaks),
    /// Writes something that is not HTTP/2.
    Garbage,
}

/// How a body breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Breaks {
    Reset(Reason),
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
    address: SocketAddr,
    log: Arc<Log>,
    accepting: JoinHandle<()>,
}

struct Log {
    /// One turn for each request; the last one repeats.
    turns: Vec<Turn>,
    /// How many streams a client may have at once.
    streams: u32,
    got: Mutex<Vec<Got>>,
    changed: Notify,
    closing: Notify,
}

impl Http2Server {
    pub(crate) async fn start(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self::with_streams(turns, 100).await
    }

    pub(crate) async fn with_streams(turns: impl IntoIterator<Item = Turn>, streams: u32) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let log = Arc::new(Log {
            turns: turns.into_iter().collect(),
            streams,
            got: Mutex::default(),
            changed: Notify::new(),
            closing: Notify::new(),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&log)));
        Self {
            address,
            log,
            accepting,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
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

impl Drop for Http2Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Log {
    fn put(&self, connection: usize, stream: u32, body: Vec<u8>) -> Turn {
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

async fn accept(listener: TcpListener, log: Arc<Log>) {
    let mut connections = JoinSet::new();
    let mut number = 0;
    while let Ok((stream, _)) = listener.accept().await {
        number += 1;
        let log = Arc::clone(&log);
        let connection = Connection {
            stream,
            number,
            open: Vec::new(),
        };
        connections.spawn(async move {
            tokio::select! {
                () = connection.run(&log) => {}
                () = log.closing.notified() => {}
            }
        });
    }
}

struct Connection {
    stream: TcpStream,
    number: usize,
    /// The streams whose request is not whole, with the bodies so far.
    open: Vec<(u32, Vec<u8>)>,
}

struct Frame {
    kind: u8,
    flags: u8,
    stream: u32,
    payload: Vec<u8>,
}

/// Frame types and flags of RFC 9113, section 6.
const DATA: u8 = 0x0;
const HEADERS: u8 = 0x1;
const RST_STREAM: u8 = 0x3;
const SETTINGS: u8 = 0x4;
const PING: u8 = 0x6;
const GOAWAY: u8 = 0x7;
const ACK: u8 = 0x1;
const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;
const MAX_CONCURRENT_STREAMS: u16 = 0x3;

impl Connection {
    async fn run(mut self, log: &Log) {
        self.serve(log).await;
        // A socket that is closed with bytes unread is reset, and what was written might be lost with it.
        let _ = self.stream.shutdown().await;
        let mut rest = [0; 1024];
        while matches!(self.stream.read(&mut rest).await, Ok(1..)) {}
    }

    /// Serves until the client goes, or a turn ends the connection.
    async fn serve(&mut self, log: &Log) -> Option<()> {
        let mut preface = [0; 24];
        self.stream.read_exact(&mut preface).await.ok()?;
        let mut settings = MAX_CONCURRENT_STREAMS.to_be_bytes().to_vec();
        settings.extend(log.streams.to_be_bytes());
        self.write(SETTINGS, 0, 0, &settings).await?;
        loop {
            let frame = self.read().await?;
            if let Some((stream, body)) = self.take_in(frame).await? {
                let turn = log.put(self.number, stream, body);
                self.take_turn(turn, stream).await?;
            }
        }
    }

    async fn read(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head).await.ok()?;
        let [a, b, c, kind, flags, stream @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        self.stream.read_exact(&mut payload).await.ok()?;
        let stream = u32::from_be_bytes(stream);
        Some(Frame {
            kind,
            flags,
            stream,
            payload,
        })
    }

    async fn write(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Option<()> {
        let [_, length @ ..] = u32::try_from(payload.len()).unwrap().to_be_bytes();
        let head = [&length[..], &[kind, flags], &stream.to_be_bytes()].concat();
        let bytes = [&head, payload].concat();
        self.stream.write_all(&bytes).await.ok()
    }

    /// Answers what the protocol wants answered; gives a request that has become whole.
    async fn take_in(&mut self, frame: Frame) -> Option<Option<(u32, Vec<u8>)>> {
        let Frame {
            kind,
            flags,
            stream,
            payload,
        } = frame;
        match kind {
            SETTINGS | PING if flags & ACK == 0 => {
                let echo = if kind == PING { &payload[..] } else { &[] };
                self.write(kind, ACK, 0, echo).await?;
            }
            HEADERS => self.open.push((stream, Vec::new())),
            _ => {}
        }
        let place = self.open.iter().position(|open| open.0 == stream);
        if let (DATA, Some(place)) = (kind, place) {
            self.open[place].1.extend(payload);
        }
        let ends = matches!(kind, HEADERS | DATA) && flags & END_STREAM != 0;
        let ended = place.filter(|_| ends);
        Some(ended.map(|place| self.open.swap_remove(place)))
    }

    /// Nothing means that the connection is over.
    async fn take_turn(&mut self, turn: Turn, stream: u32) -> Option<()> {
        match turn {
            Turn::Answer(status) => {
                // `:status`, the entry 8 of HPACK's static table, with a literal value.
                let block = [&[0x08, 0x03], status.to_string().as_bytes()].concat();
                self.write(HEADERS, END_HEADERS | END_STREAM, stream, &block)
                    .await
            }
            Turn::ResetStream(reason) => {
                let reason = u32::from(reason).to_be_bytes();
                self.write(RST_STREAM, 0, stream, &reason).await
            }
            Turn::GoAwayWithout(reason) => self.go_away(stream - 1, reason).await,
            Turn::GoAwayWith => {
                self.go_away(stream, Reason::NO_ERROR).await;
                None
            }
            Turn::Close => None,
            Turn::Stall => Some(()),
            Turn::Body(breaks) => {
                // `:status: 200` and `content-length: 9`, the entries 8 and 28 of HPACK's static table.
                let block = [0x88, 0x0f, 0x0d, 0x01, b'9'];
                self.write(HEADERS, END_HEADERS, stream, &block).await?;
                self.write(DATA, 0, stream, b"ans").await?;
                self.break_body(breaks, stream).await
            }
            Turn::Garbage => self
                .stream
                .write_all(b"HTTP/1.1 400 Said\r\n\r\n")
                .await
                .ok(),
        }
    }

    async fn break_body(&mut self, breaks: Breaks, stream: u32) -> Option<()> {
        match breaks {
            Breaks::Reset(reason) => {
                let reason = u32::from(reason).to_be_bytes();
                self.write(RST_STREAM, 0, stream, &reason).await
            }
            Breaks::Closed => None,
            Breaks::ClosedInFrame => {
                let head = [&[0, 0, 100, DATA, 0], &stream.to_be_bytes()[..]].concat();
                self.stream
                    .write_all(&[&head, &b"wer"[..]].concat())
                    .await
                    .ok()?;
                None
            }
        }
    }

    async fn go_away(&mut self, last: u32, reason: Reason) -> Option<()> {
        let payload = [last.to_be_bytes(), u32::from(reason).to_be_bytes()].concat();
        self.write(GOAWAY, 0, 0, &payload).await
    }
}

/// A client of HTTP/2 that sends one request to this server.
async fn send(server: &Http2Server, stack: Stack, order: Order, retries: &Retries) -> Ending {
    let kit = Kit {
        http2: true,
        ..Kit::new(server.url())
    };
    let sent = stack.send(&kit, order, retries);
    timeout(IN_VAIN, sent).await.unwrap()
}

/// What a POST comes to when these turns are taken: its status, and the requests that came.
async fn post(turns: impl IntoIterator<Item = Turn>, stack: Stack) -> (Option<u16>, Vec<Got>) {
    let server = Http2Server::start(turns).await;
    let ending = send(&server, stack, Order::Post, &Retries::Silent).await;
    (ending.status, server.got())
}

const WITHOUT_REDIRECTS: [Stack; 3] = [Stack::ReqwestAsIs, Stack::ReqwestServiceAsIs, Stack::Hyper];

#[tokio::test]
async fn a_post_that_was_refused_is_sent_again_on_the_same_connection() {
    for stack in WITHOUT_REDIRECTS {
        let refused = Turn::ResetStream(Reason::REFUSED_STREAM);
        let (status, got) = post([refused, Turn::Answer(200)], stack).await;
        let expected = [(1, 1, refused), (1, 3, Turn::Answer(200))];
        let expected = expected.map(|(connection, stream, turn)| Got {
            connection,
            stream,
            body: b"order".to_vec(),
            turn,
        });
        assert_eq!((status, got), (Some(200), expected.to_vec()), "{stack:?}");
    }
}

#[tokio::test]
async fn a_post_left_out_by_a_goaway_is_sent_again() {
    for stack in WITHOUT_REDIRECTS {
        let away = Turn::GoAwayWithout(Reason::NO_ERROR);
        let (status, got) = post([away, Turn::Answer(201)], stack).await;
        let connections: Vec<_> = got.iter().map(|got| got.connection).collect();
        assert_eq!((status, connections), (Some(201), vec![1, 2]), "{stack:?}");
        assert!(got.iter().all(|got| got.body == b"order"));
    }
}

#[tokio::test]
async fn a_post_that_may_have_been_processed_is_sent_once() {
    let doubtful = [
        Turn::GoAwayWith,
        Turn::GoAwayWithout(Reason::INTERNAL_ERROR),
        Turn::ResetStream(Reason::INTERNAL_ERROR),
        Turn::ResetStream(Reason::CANCEL),
        Turn::Close,
    ];
    for turn in doubtful {
        for stack in Stack::ALL {
            let (status, got) = post([turn, Turn::Answer(200)], stack).await;
            assert_eq!((status, got.len()), (None, 1), "{turn:?} {stack:?}");
        }
    }
}

#[tokio::test]
async fn a_request_that_waits_for_a_stream_outlives_its_connection() {
    let server = Http2Server::with_streams([Turn::Stall, Turn::Answer(200)], 1).await;
    let kit = Kit {
        http2: true,
        ..Kit::new(server.url())
    };
    let client = hyper_client(&kit);
    let get = || {
        http::Request::get(&kit.url)
            .body(Payload::of(Load::Usual, Order::Get))
            .unwrap()
    };
    let first = tokio::spawn(client.request(get()));
    server.until_requests(1).await;

    let log = Attempts::default();
    let service = layer(&Retries::Told(log.clone())).unwrap().layer(client);
    let second = tokio::spawn(service.oneshot(get()));
    let_all_run().await;
    server.close_connections();

    let answer = timeout(IN_VAIN, second).await.unwrap().unwrap();
    assert_eq!(answer.unwrap().status(), 200);
    let kinds: Vec<_> = log.attempts().iter().map(|attempt| attempt.error).collect();
    assert_eq!(kinds, [Some(ErrorKind::Reset), None]);
    assert!(timeout(IN_VAIN, first).await.unwrap().unwrap().is_err());
}

/// Everything else on this thread goes as far as it can.
pub(crate) async fn let_all_run() {
    for _ in 0..32 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn reqwest_repeats_refused_streams_itself_unless_told_never() {
    let server = Http2Server::start([Turn::ResetStream(Reason::REFUSED_STREAM)]).await;
    let sends = async |client: reqwest::Client, retries: bool| {
        let before = server.got().len();
        let client = reqwest_middleware::ClientBuilder::new(client);
        let client = match retries {
            true => client.with(RetryMiddleware::new(policy()).runtime(ManualRuntime::new())),
            false => client,
        };
        let sent = client.build().get(server.url()).send();
        timeout(IN_VAIN, sent).await.unwrap().unwrap_err();
        server.got().len() - before
    };
    let builder = || {
        reqwest::Client::builder()
            .http2_prior_knowledge()
            .no_proxy()
    };
    let builder = || builder().tls_backend_preconfigured(super::tls::trusting_nobody());
    let own = || builder().build().unwrap();
    let never = || builder().retry(reqwest::retry::never()).build().unwrap();
    assert_eq!(
        (sends(never(), false).await, sends(own(), false).await),
        (1, 3)
    );
    assert_eq!(
        (sends(never(), true).await, sends(own(), true).await),
        (2, 6)
    );
}
