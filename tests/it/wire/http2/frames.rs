//! One connection, frame by frame.

use super::server::{Breaks, Log, Turn};
use h2::Reason;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Serves one connection, until one of its ends closes it or the server closes all.
pub(super) async fn serve(stream: TcpStream, number: usize, log: Arc<Log>) {
    let connection = Connection {
        stream,
        number,
        open: Vec::new(),
    };
    tokio::select! {
        () = connection.run(&log) => {}
        () = log.closing.notified() => {}
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
const CONTINUATION: u8 = 0x9;
const ACK: u8 = 0x1;
const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;
const MAX_CONCURRENT_STREAMS: u16 = 0x3;

/// `content-length: 9`, the entry 28 of HPACK's static table with a literal value.
const CONTENT_LENGTH: [u8; 4] = [0x0f, 0x0d, 0x01, b'9'];

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
            Turn::GoAwayWith(reason) => {
                self.go_away(stream, reason).await;
                None
            }
            Turn::Close => None,
            Turn::Stall => Some(()),
            Turn::Body(breaks) => {
                self.start_body(stream, &CONTENT_LENGTH).await?;
                self.break_body(breaks, stream).await
            }
            Turn::WholeBody => {
                self.start_body(stream, &CONTENT_LENGTH).await?;
                self.write(DATA, END_STREAM, stream, b"wered.").await
            }
            Turn::PartOfUnknown(breaks) => {
                self.start_body(stream, &[]).await?;
                self.break_body(breaks, stream).await
            }
            Turn::Unknown { reset } => {
                self.start_body(stream, &[]).await?;
                self.write(DATA, END_STREAM, stream, b"wered.").await?;
                if reset {
                    let breaks = Breaks::Reset(Reason::NO_ERROR);
                    self.break_body(breaks, stream).await?;
                }
                Some(())
            }
            Turn::LengthAlone(status) => {
                let status = status.to_string();
                let block = [&[0x08, 0x03], status.as_bytes(), &CONTENT_LENGTH].concat();
                self.write(HEADERS, END_HEADERS | END_STREAM, stream, &block)
                    .await
            }
            Turn::LongHead(fields) => self.long_head(fields, stream).await,
            Turn::Garbage => self
                .stream
                .write_all(b"HTTP/1.1 400 Said\r\n\r\n")
                .await
                .ok(),
        }
    }

    async fn long_head(&mut self, fields: usize, stream: u32) -> Option<()> {
        // `:status: 200`, the entry 8 of HPACK's static table.
        self.write(HEADERS, 0, stream, &[0x88]).await?;
        // A literal name and a literal value of 127, 17 and 77 * 128 bytes.
        let field = [&[0x00, 0x01, b'x', 0x7f, 0x91, 0x4d][..], &[b'x'; 10_000]].concat();
        for _ in 0..fields {
            self.write(CONTINUATION, 0, stream, &field).await?;
        }
        self.write(CONTINUATION, END_HEADERS, stream, &[]).await
    }

    async fn start_body(&mut self, stream: u32, headers: &[u8]) -> Option<()> {
        // `:status: 200`, the entry 8 of HPACK's static table.
        let block = [&[0x88], headers].concat();
        self.write(HEADERS, END_HEADERS, stream, &block).await?;
        self.write(DATA, 0, stream, b"ans").await
    }

    async fn break_body(&mut self, breaks: Breaks, stream: u32) -> Option<()> {
        match breaks {
            Breaks::Reset(reason) => {
                let reason = u32::from(reason).to_be_bytes();
                self.write(RST_STREAM, 0, stream, &reason).await
            }
            Breaks::GoneAway => {
                self.go_away(stream - 1, Reason::NO_ERROR).await;
                None
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
