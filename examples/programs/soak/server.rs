//! A server that fails one time in five.

use crate::ledger::{Ledger, count};
use anyhow::{Context, Result, ensure};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// What the server does to one request in five.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fault {
    /// Processes the request, and answers 500 or 503 all the same.
    Processed(u16),
    /// Refuses it with 429, or with 503 and an invitation to come back.
    Refused(u16),
    /// Processes it, and resets or closes the connection instead of an answer.
    ProcessedThenReset,
    ProcessedThenClosed,
    ResetUnprocessed,
    /// Answers, and closes the connection that the client believes to be idle.
    AnsweredThenClosed,
}

impl Fault {
    /// The same for the same attempt of the same request under the same seed.
    pub(crate) fn of(seed: u64, number: usize, attempt: u32) -> Option<Self> {
        let place = u64::try_from(number).unwrap_or_default() << 8 | u64::from(attempt);
        match mixed(seed ^ mixed(place)) % 100 {
            0..4 => Some(Self::Processed(500)),
            4..7 => Some(Self::Processed(503)),
            7..10 => Some(Self::Refused(503)),
            10..14 => Some(Self::Refused(429)),
            14..16 => Some(Self::ProcessedThenReset),
            16..18 => Some(Self::ProcessedThenClosed),
            18 => Some(Self::ResetUnprocessed),
            19 => Some(Self::AnsweredThenClosed),
            _ => None,
        }
    }

    fn status(self) -> u16 {
        match self {
            Self::Processed(status) | Self::Refused(status) => status,
            _ => 200,
        }
    }

    fn is_processed(self) -> bool {
        !matches!(self, Self::Refused(_) | Self::ResetUnprocessed)
    }
}

/// The finaliser of SplitMix64.
fn mixed(number: u64) -> u64 {
    let a = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let b = (a ^ (a >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let c = (b ^ (b >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    c ^ (c >> 31)
}

pub(crate) async fn accept(listener: TcpListener, ledger: Arc<Ledger>) {
    while let Ok((stream, _)) = listener.accept().await {
        let ledger = Arc::clone(&ledger);
        tokio::spawn(async move {
            ledger.connections.fetch_add(1, Relaxed);
            ledger
                .open
                .send_modify(|open| *open = open.saturating_add(1));
            match serve(stream, &ledger).await {
                // A client that goes away is part of it.
                Err(error) if !error.is::<io::Error>() => ledger.wrong(error),
                _ => {}
            }
            ledger
                .open
                .send_modify(|open| *open = open.saturating_sub(1));
        });
    }
}

async fn serve(mut stream: TcpStream, ledger: &Ledger) -> Result<()> {
    let mut buffer = Vec::with_capacity(1024);
    stream.set_nodelay(true)?;
    while let Some(number) = read_request(&mut stream, &mut buffer).await? {
        let entry = ledger.entry(number)?;
        let fault = Fault::of(ledger.seed, number, entry.seen.fetch_add(1, Relaxed));
        if fault.is_none_or(Fault::is_processed) {
            entry.processed.fetch_add(1, Relaxed);
        }
        if let Some(fault) = fault {
            count(&ledger.faults, fault);
        }
        match fault {
            Some(Fault::ProcessedThenReset | Fault::ResetUnprocessed) => {
                return Ok(stream.set_zero_linger()?);
            }
            Some(Fault::ProcessedThenClosed) => return Ok(()),
            _ => stream.write_all(&answer(number, fault)).await?,
        }
        if fault == Some(Fault::AnsweredThenClosed) {
            return Ok(());
        }
    }
    Ok(())
}

/// The number in the next request's path, which its body must say as well.
async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Result<Option<usize>> {
    let end = loop {
        let found = buffer.windows(4).position(|window| window == b"\r\n\r\n");
        match found {
            Some(start) => break start.saturating_add(4),
            None if stream.read_buf(buffer).await? == 0 => return Ok(None),
            None => {}
        }
    };
    let head = String::from_utf8(buffer.drain(..end).collect())?;
    let number: usize = between(&head, " /", " ").context("no number")?.parse()?;
    let length = between(&head, "content-length: ", "\r").map_or(Ok(0), str::parse)?;
    while buffer.len() < length {
        ensure!(stream.read_buf(buffer).await? > 0, "cut in its body");
    }
    let body = String::from_utf8(buffer.drain(..length).collect())?;
    ensure!(
        body.is_empty() || body == number.to_string(),
        "another's body"
    );
    Ok(Some(number))
}

pub(crate) fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.split_once(before)?
        .1
        .split_once(after)
        .map(|(between, _)| between)
}

fn answer(number: usize, fault: Option<Fault>) -> Vec<u8> {
    let status = fault.map_or(200, Fault::status);
    let invitation = match fault {
        Some(Fault::Refused(503)) => "retry-after: 0\r\n",
        _ => "",
    };
    let body = number.to_string();
    let length = body.len();
    format!("HTTP/1.1 {status} Said\r\n{invitation}content-length: {length}\r\n\r\n{body}").into()
}
