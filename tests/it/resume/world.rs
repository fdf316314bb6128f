//! A server that gives out honest files, and a proxy before it that breaks connections at a byte.

use super::steered::Steered;
use crate::listening::Listening;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::{Arc, LazyLock, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

pub(crate) const LONGEST: usize = 8 * 1024 * 1024;

/// The bytes that all files are of: no part of them is like another.
pub(crate) static BYTES: LazyLock<Bytes> = LazyLock::new(|| {
    let mut state = 7_u64;
    let mut bytes = Vec::with_capacity(2 * LONGEST);
    // By the word: byte by byte it takes seconds.
    while bytes.len() < 2 * LONGEST {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.into()
});

/// A file: a part of the bytes, and the path that it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct File {
    pub(crate) start: usize,
    pub(crate) length: usize,
}

impl File {
    pub(crate) fn path(self) -> String {
        format!("/{}/{}", self.start, self.length)
    }

    fn at(path: &str) -> Self {
        let mut numbers = path.split('/').skip(1).map(|part| part.parse().unwrap());
        let (start, length) = (numbers.next().unwrap(), numbers.next().unwrap());
        Self { start, length }
    }

    pub(crate) fn bytes(self, range: Range<usize>) -> Bytes {
        BYTES.slice(self.start + range.start..self.start + range.end)
    }
}

/// What an honest server says.
fn answer(request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let file = File::at(request.uri().path());
    let tag = format!("\"{}\"", request.uri().path());
    let header = |name| request.headers().get(name).map(|v| v.to_str().unwrap());
    let range = header("range").filter(|_| header("if-range").is_none_or(|given| given == tag));
    let range = range.map(|range| {
        let (first, last) = range
            .strip_prefix("bytes=")
            .unwrap()
            .split_once('-')
            .unwrap();
        let last = last.parse().unwrap_or(file.length - 1);
        (first.parse::<usize>().unwrap(), last.min(file.length - 1))
    });
    let response = Response::builder().header("etag", &tag);
    let (response, range) = match range {
        Some((first, last)) => {
            let range = format!("bytes {first}-{last}/{}", file.length);
            let response = response.status(206).header("content-range", range);
            (response, first..last + 1)
        }
        None => (response, 0..file.length),
    };
    let length = range.len();
    let response = response.header("content-length", length);
    response.body(Full::new(file.bytes(range))).unwrap()
}

async fn serve(stream: TcpStream, http2: bool) {
    stream.set_nodelay(true).unwrap();
    let service = service_fn(|request| async move { Ok::<_, Infallible>(answer(&request)) });
    let io = TokioIo::new(stream);
    // A client that goes away is no failure of the server's.
    let _ended = if http2 {
        http2::Builder::new(TokioExecutor::new())
            .serve_connection(io, service)
            .await
    } else {
        http1::Builder::new().serve_connection(io, service).await
    };
}

pub(crate) async fn file_server(http2: bool) -> Listening {
    Listening::start(move |stream, _| serve(stream, http2)).await
}

/// How a connection ends at a byte of what the server sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Close,
    Reset,
    Stall,
}

/// After so many bytes.
pub(crate) type Fault = (usize, End);

/// Breaks its first connections, each by one of these faults, and no more.
pub(crate) async fn proxy(to: SocketAddr, faults: Vec<Fault>, steered: &Steered) -> Listening {
    let faults = Arc::new(Mutex::new(VecDeque::from(faults)));
    let steered = steered.clone();
    Listening::start(move |client, _| {
        let fault = faults.lock().unwrap().pop_front();
        let steered = steered.clone();
        async move { pass_on(client, to, fault, &steered).await }
    })
    .await
}

async fn pass_on(client: TcpStream, to: SocketAddr, fault: Option<Fault>, steered: &Steered) {
    client.set_nodelay(true).unwrap();
    let Ok(server) = TcpStream::connect(to).await else {
        return;
    };
    let (mut from_client, to_client) = client.into_split();
    let (from_server, mut to_server) = server.into_split();
    let forth = tokio::spawn(async move { copy(&mut from_client, &mut to_server).await });
    let socket = back(from_server, to_client, fault).await;
    let end = fault.map(|(_, end)| end).filter(|_| socket.is_some());
    if end == Some(End::Stall) {
        steered.stalls();
    } else {
        forth.abort();
    }
    // The client goes away, or the half that hears it does: the socket closes with its last half.
    let _gone = forth.await;
    if end == Some(End::Stall) {
        steered.ends_to_stall();
    }
    if end == Some(End::Reset) {
        // Closing a socket that lingers for no time sends RST.
        let _ = socket.map(|socket| socket.as_ref().set_zero_linger());
    }
}

/// Gives the socket if its fault has come.
async fn back(
    mut server: OwnedReadHalf,
    mut client: OwnedWriteHalf,
    fault: Option<Fault>,
) -> Option<OwnedWriteHalf> {
    let Some((mut left, _)) = fault else {
        let _ended = copy(&mut server, &mut client).await;
        return None;
    };
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let room = left.min(buffer.len());
        if room == 0 {
            client.flush().await.ok()?;
            return Some(client);
        }
        let read = server
            .read(&mut buffer[..room])
            .await
            .ok()
            .filter(|read| *read > 0)?;
        client.write_all(&buffer[..read]).await.ok()?;
        left -= read;
    }
}
