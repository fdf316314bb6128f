//! A server that gives one reply for ever, framed in every way that HTTP has, over HTTP/1 or HTTP/2.

use super::super::connections::client::Speaks;
use crate::listening::Listening;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

/// How HTTP/1 tells where a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    Length,
    Chunked,
    /// With the connection.
    Close,
}

/// A response, byte for byte.
#[derive(Debug, Clone)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, &'static str)>,
    pub(super) body: Bytes,
    pub(super) framing: Framing,
    /// Of a chunked body, or of HTTP/2.
    pub(super) trailers: Vec<(&'static str, &'static str)>,
    /// The connection or the stream breaks after the body, which its framing does not end.
    pub(super) breaks: bool,
}

/// The server; it ends when it is dropped.
#[derive(Debug)]
pub(super) struct ReplyServer(Listening);

impl Reply {
    pub(super) fn new(status: u16, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            headers: vec![
                ("x-said", "once"),
                ("set-cookie", "a=1"),
                ("set-cookie", "b=2"),
            ],
            body: body.into(),
            framing: Framing::Length,
            trailers: Vec::new(),
            breaks: false,
        }
    }

    /// The message of HTTP/1.
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!("HTTP/1.1 {} Said So\r\n", self.status).into_bytes();
        let line = |name: &str, value: &str| format!("{name}: {value}\r\n").into_bytes();
        for (name, value) in &self.headers {
            bytes.extend(line(name, value));
        }
        let promised = self.body.len() + usize::from(self.breaks) * 10;
        match self.framing {
            Framing::Length => bytes.extend(line("content-length", &promised.to_string())),
            Framing::Chunked => bytes.extend(line("transfer-encoding", "chunked")),
            Framing::Close => bytes.extend(line("connection", "close")),
        }
        bytes.extend(b"\r\n");
        match self.framing {
            Framing::Chunked => bytes.extend(self.chunks()),
            _ => bytes.extend(&self.body),
        }
        bytes
    }

    fn chunks(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for chunk in self.body.chunks(10_000) {
            bytes.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
            bytes.extend(chunk);
            bytes.extend(b"\r\n");
        }
        if self.breaks {
            return bytes;
        }
        bytes.extend(b"0\r\n");
        for (name, value) in &self.trailers {
            bytes.extend(format!("{name}: {value}\r\n").into_bytes());
        }
        bytes.extend(b"\r\n");
        bytes
    }
}

impl ReplyServer {
    pub(super) async fn start(speaks: Speaks, reply: Reply) -> Self {
        let reply = Arc::new(reply);
        let serve = move |stream, _| serve(stream, speaks, Arc::clone(&reply));
        Self(Listening::start(serve).await)
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.0.address)
    }

    /// How many connections were accepted.
    pub(super) fn connections(&self) -> usize {
        self.0.connections()
    }
}

async fn serve(stream: TcpStream, speaks: Speaks, reply: Arc<Reply>) {
    match speaks {
        Speaks::Http1 => http1(stream, reply).await,
        Speaks::Http2 => http2(stream, reply).await,
    }
}

/// Replies to requests without a body.
async fn http1(mut stream: TcpStream, reply: Arc<Reply>) {
    let (mut read, mut bytes) = (Vec::new(), [0; 4096]);
    while let Ok(length @ 1..) = stream.read(&mut bytes).await {
        read.extend(&bytes[..length]);
        if !read.ends_with(b"\r\n\r\n") {
            continue;
        }
        read.clear();
        let written = stream.write_all(&reply.bytes()).await;
        if written.is_err() || reply.breaks || reply.framing == Framing::Close {
            return;
        }
    }
}

async fn http2(stream: TcpStream, reply: Arc<Reply>) {
    let mut connection = h2::server::handshake(stream).await.unwrap();
    let mut streams = JoinSet::new();
    while let Some(Ok((_, respond))) = connection.accept().await {
        streams.spawn(http2_stream(respond, Arc::clone(&reply)));
    }
}

async fn http2_stream(mut respond: h2::server::SendResponse<Bytes>, reply: Arc<Reply>) {
    let mut head = Response::builder().status(reply.status);
    for (name, value) in &reply.headers {
        head = head.header(*name, *value);
    }
    if reply.framing == Framing::Length && !reply.breaks {
        head = head.header("content-length", reply.body.len());
    }
    let mut body = respond
        .send_response(head.body(()).unwrap(), false)
        .unwrap();
    let mut rest = reply.body.clone();
    while !rest.is_empty() {
        body.reserve_capacity(rest.len().min(16_384));
        let Some(Ok(room)) = std::future::poll_fn(|cx| body.poll_capacity(cx)).await else {
            return;
        };
        if body
            .send_data(rest.split_to(room.min(rest.len())), false)
            .is_err()
        {
            return;
        }
    }
    if reply.breaks {
        // What is queued goes out before the stream is reset by the peer's own reading of it.
        tokio::task::yield_now().await;
        return body.send_reset(h2::Reason::INTERNAL_ERROR);
    }
    let trailers = reply.trailers.iter().map(|(name, value)| {
        (
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        )
    });
    let _ = if reply.trailers.is_empty() {
        body.send_data(Bytes::new(), true)
    } else {
        body.send_trailers(HeaderMap::from_iter(trailers))
    };
}

/// gzip of stored blocks: no compressor is needed to write what every decompressor reads.
pub(crate) fn gzip(data: &[u8]) -> Bytes {
    let mut bytes = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let blocks = data.chunks(60_000).chain(data.is_empty().then_some(data));
    let last = data.len().div_ceil(60_000).max(1) - 1;
    for (number, block) in blocks.enumerate() {
        let length = u16::try_from(block.len()).unwrap();
        bytes.push(u8::from(number == last));
        bytes.extend(length.to_le_bytes());
        bytes.extend((!length).to_le_bytes());
        bytes.extend(block);
    }
    bytes.extend(crc32(data).to_le_bytes());
    bytes.extend(u32::try_from(data.len()).unwrap().to_le_bytes());
    bytes.into()
}

fn crc32(data: &[u8]) -> u32 {
    let step = |crc: u32, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
    !data.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), step)
    })
}
