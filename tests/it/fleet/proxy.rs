//! Stands between a fleet and its store, and does there what networks and proxies do.

use crate::listening::listener;
use http_retry::runtime::{Runtime, TokioRuntime};
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What happens to each of the fleet's commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// The store gets it twice, and the second answer comes back.
    Repeated,
    /// The connection ends after the answer.
    CutAfter,
    /// The connection ends when the store has the command, and before its answer.
    CutBefore,
    /// It does not know the newer protocol.
    OldProtocol,
    /// The answer comes later.
    Late(Duration),
}

/// Gives the URL of a proxy before the store at this port.
pub(super) async fn before(port: u16, fault: Fault) -> String {
    let listener = listener().await;
    let url = format!("redis://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(serve(client, port, fault));
        }
    });
    url
}

/// One connection, until one of its ends closes it or the fault does.
async fn serve(client: TcpStream, port: u16, fault: Fault) -> io::Result<()> {
    let store = TcpStream::connect(("127.0.0.1", port)).await?;
    let (mut client, mut store) = (Frames::new(client), Frames::new(store));
    loop {
        let command = client.next().await?;
        if fault == Fault::OldProtocol && command.windows(5).any(|word| word == b"HELLO") {
            let unknown = b"-ERR unknown command 'HELLO'\r\n";
            client.stream.write_all(unknown).await?;
            continue;
        }
        store.stream.write_all(&command).await?;
        let mut answer = store.next().await?;
        let is_step = command.windows(7).any(|word| word == b"EVALSHA");
        match fault {
            Fault::Repeated if is_step => {
                store.stream.write_all(&command).await?;
                answer = store.next().await?;
            }
            Fault::CutBefore if is_step => return Ok(()),
            Fault::Late(time) if is_step => TokioRuntime.sleep(time).await,
            _ => {}
        }
        client.stream.write_all(&answer).await?;
        if fault == Fault::CutAfter && is_step {
            return Ok(());
        }
    }
}

/// The commands or answers that come by a connection.
struct Frames {
    stream: TcpStream,
    read: Vec<u8>,
}

impl Frames {
    fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            read: Vec::new(),
        }
    }

    async fn next(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some(end) = end_of_frame(&self.read, 0) {
                return Ok(self.read.drain(..end).collect());
            }
            if self.stream.read_buf(&mut self.read).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

/// Where the frame that begins there ends, if it is whole.
fn end_of_frame(read: &[u8], start: usize) -> Option<usize> {
    let line = read.get(start..)?;
    let length = line.windows(2).position(|end| end == b"\r\n")?;
    let after = start + length + 2;
    let count = || {
        std::str::from_utf8(&line[1..length])
            .ok()?
            .parse::<usize>()
            .ok()
    };
    let parts = |many: usize| (0..many).try_fold(after, |at, _| end_of_frame(read, at));
    match line[0] {
        b'$' | b'=' | b'!' => {
            let end = count().map_or(after, |bytes| after + bytes + 2);
            (read.len() >= end).then_some(end)
        }
        b'*' | b'~' | b'>' => parts(count().unwrap_or_default()),
        b'%' => parts(2 * count().unwrap_or_default()),
        _ => Some(after),
    }
}
