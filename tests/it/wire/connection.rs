//! One connection of the server: reads requests, and does to each what its act says.

use super::server::{Act, Answer, State};
use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Close,
    Reset,
}

/// One connection over any stream: a socket, or TLS on one.
pub(crate) struct Connection<S> {
    pub(crate) stream: S,
    pub(crate) buffer: BytesMut,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    pub(super) async fn serve(&mut self, number: usize, state: &State) -> End {
        loop {
            let Some(head) = self.head().await else {
                return End::Close;
            };
            let place = state.begin(number, &head);
            let act = state.take();
            state.amend(place, |received| received.act = Some(act.clone()));
            match self.act(act, &head, place, state).await {
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
        self.answer(act, state).await
    }

    /// Answers a request that is whole, or fails on the way.
    async fn answer(&mut self, act: Act, state: &State) -> Option<End> {
        match act {
            Act::Answer(ref answer) => {
                let close = state.next_needs_a_new_connection();
                self.write(&answer.bytes(close)).await;
                return close.then_some(End::Close);
            }
            Act::AnswerThenClose(ref answer) => self.write(&answer.bytes(false)).await,
            Act::CloseInHead | Act::ResetInHead => {
                self.write(b"HTTP/1.1 200 OK\r\ncontent-le").await;
            }
            Act::CutBody(status) | Act::ResetInBody(status) => self.half(status, 12).await,
            Act::StallHead => self.stall().await,
            Act::StallBody(status) => {
                self.half(status, 12).await;
                self.stall().await;
            }
            Act::Pause(ref answer, bytes) => {
                let stays = self.pause(answer, bytes, state).await;
                return (!stays).then_some(End::Close);
            }
            Act::EndlessBody(status) => self.endless(status, state).await,
            Act::Garbage => {
                self.write(b"this is not the protocol that you are looking for\r\n\r\n")
                    .await;
            }
            Act::BadGzip => {
                let answer = Answer::new(200).header("content-encoding", "gzip");
                let answer = answer.body("not gzip at all");
                self.write(&answer.bytes(false)).await;
                return None;
            }
            _ => {}
        }
        Some(match act {
            Act::ResetAfterRequest | Act::ResetInHead | Act::ResetInBody(_) => End::Reset,
            _ => End::Close,
        })
    }

    async fn half(&mut self, status: u16, length: usize) {
        let head = format!("HTTP/1.1 {status} Said\r\ncontent-length: {length}\r\n\r\nhalf");
        self.write(head.as_bytes()).await;
    }

    /// Answers in two parts; false if the client went away between them.
    async fn pause(&mut self, answer: &Answer, bytes: usize, state: &State) -> bool {
        let all = answer.bytes(false);
        let (first, rest) = all.split_at(all.len() - answer.body.len() + bytes);
        self.write(first).await;
        tokio::select! {
            () = state.go_on.notified() => {}
            () = self.stall() => return false,
        }
        self.write(rest).await;
        true
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
        let head = self.buffer.split_to(end + 4);
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
            let line = self.buffer.split_to(end + 2);
            let length =
                usize::from_str_radix(std::str::from_utf8(&line).unwrap().trim(), 16).unwrap();
            self.exactly(length, place, state).await?;
            let end = self.find(b"\r\n").await?;
            self.buffer.advance(end + 2);
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
            let piece = self.buffer.split_to(now);
            state.amend(place, |received| received.body.extend_from_slice(&piece));
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
        self.buffer.reserve(16 * 1024);
        let read = self.stream.read_buf(&mut self.buffer).await.ok()?;
        (read > 0).then_some(())
    }
}
