//! A server of one file that cuts its first connections, each at a byte of the file.

use anyhow::Result;
use http_retry::runtime::{Runtime, TokioRuntime};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

const MIB: u64 = 1024 * 1024;
/// The length of the file.
pub(crate) const LENGTH: u64 = 8 * MIB;
/// How many bytes the connections bring that are cut.
pub(crate) const CUTS: &[u64] = &[MIB, 2 * MIB, MIB / 2, MIB, MIB + MIB / 2, MIB / 4];
/// About 2 MiB in a second.
const PIECE: u64 = 32 * 1024;
const PAUSE: Duration = Duration::from_millis(16);

/// The server; it ends when it is dropped.
pub(crate) struct Server {
    port: u16,
    accepting: JoinHandle<()>,
}

impl Server {
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/file", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Starts a server that cuts its first connections after so many bytes.
pub(crate) async fn start(cuts: &'static [u64]) -> Result<Server> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let port = listener.local_addr()?.port();
    let connections = Arc::new(AtomicUsize::new(0));
    let accepting = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let number = connections.fetch_add(1, Ordering::Relaxed);
            tokio::spawn(serve(stream, cuts.get(number).copied()));
        }
    });
    Ok(Server { port, accepting })
}

async fn serve(mut stream: TcpStream, cut: Option<u64>) -> Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let range = asked(&String::from_utf8_lossy(&head));
    let (status, bytes) = match &range {
        None => ("200 OK".to_owned(), 0..LENGTH),
        Some(range) => {
            let (first, last) = (range.start, range.end - 1);
            let status =
                format!("206 Partial Content\r\ncontent-range: bytes {first}-{last}/{LENGTH}");
            (status, range.clone())
        }
    };
    let length = bytes.end - bytes.start;
    let head = format!(
        "HTTP/1.1 {status}\r\netag: \"one\"\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    let end = cut.map_or(bytes.end, |cut| bytes.end.min(bytes.start + cut));
    let mut at = bytes.start;
    while at < end {
        let next = end.min(at + PIECE);
        let piece: Vec<u8> = (at..next).map(byte).collect();
        stream.write_all(&piece).await?;
        TokioRuntime.sleep(PAUSE).await;
        at = next;
    }
    Ok(())
}

/// The range that a request asks for.
fn asked(head: &str) -> Option<Range<u64>> {
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    let (_, range) = lines.find(|(name, _)| name.eq_ignore_ascii_case("range"))?;
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    let last: u64 = last.parse().unwrap_or(LENGTH - 1);
    let first = first.parse().ok()?;
    (first <= last && last < LENGTH).then_some(first..last + 1)
}

/// The file's byte at a place: no part of the file is like another.
fn byte(at: u64) -> u8 {
    let mixed = (at ^ (at >> 9)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed.to_be_bytes()[0]
}

/// A sum over the bytes so far and these, by which a file that differs anywhere is known.
pub(crate) fn sum_of(sum: u64, bytes: &[u8]) -> u64 {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(sum, step)
}

/// That of the file.
pub(crate) fn sum() -> u64 {
    (0..LENGTH).fold(0, |sum, at| sum_of(sum, &[byte(at)]))
}
