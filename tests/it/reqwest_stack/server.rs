//! A hand-written HTTP/1.1 server, for what a mock server cannot do.

use crate::listening::{listener, nobody};
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// What the server does with one request.
#[derive(Debug, Clone)]
pub(super) enum Reply {
    /// Writes this, and waits for the next request on the same connection.
    Answer(String),
    /// Says nothing, and keeps the connection open.
    Silence,
    /// Closes the connection.
    Cut,
}

impl Reply {
    pub(super) fn status(status: u16) -> Self {
        Self::with_body(status, "")
    }

    pub(super) fn with_body(status: u16, body: &str) -> Self {
        let length = body.len();
        Self::Answer(format!(
            "HTTP/1.1 {status} So\r\ncontent-length: {length}\r\n\r\n{body}"
        ))
    }
}

/// Gives its replies in order, and then the last one for ever; it counts the connections that it accepts.
pub(super) struct Server {
    pub(super) url: String,
    connections: Arc<AtomicUsize>,
    requests: UnboundedReceiver<String>,
}

impl Server {
    pub(super) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = listener().await;
        Self::on(listener, replies)
    }

    pub(super) fn on(listener: TcpListener, replies: impl IntoIterator<Item = Reply>) -> Self {
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let connections = Arc::new(AtomicUsize::new(0));
        let (seen, requests) = unbounded_channel();
        let desk = Desk {
            replies: Arc::new(Mutex::new(replies.into_iter().collect())),
            seen,
        };
        tokio::spawn(accept(listener, Arc::clone(&connections), desk));
        Self {
            url,
            connections,
            requests,
        }
    }

    /// How many connections were accepted so far.
    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Waits for the next request, and gives its first line.
    pub(super) async fn request(&mut self) -> String {
        self.requests.recv().await.unwrap()
    }

    /// The first lines of the requests that nobody has waited for.
    pub(super) fn other_requests(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.requests.try_recv().ok()).collect()
    }
}

/// An address at which connections are refused, for as long as the socket is kept.
pub(super) fn refusing() -> (TcpSocket, String) {
    let (socket, address) = nobody();
    (socket, format!("http://{address}/"))
}

#[derive(Clone)]
struct Desk {
    replies: Arc<Mutex<VecDeque<Reply>>>,
    seen: UnboundedSender<String>,
}

impl Desk {
    fn next(&self) -> Reply {
        let mut replies = self.replies.lock().unwrap_or_else(PoisonError::into_inner);
        match replies.len() {
            1 => replies[0].clone(),
            _ => replies.pop_front().unwrap(),
        }
    }
}

async fn accept(listener: TcpListener, connections: Arc<AtomicUsize>, desk: Desk) {
    while let Ok((stream, _)) = listener.accept().await {
        connections.fetch_add(1, Ordering::SeqCst);
        tokio::spawn(serve(BufReader::new(stream), desk.clone()));
    }
}

/// Serves one connection to its end; that it breaks is the client's right.
async fn serve(mut stream: BufReader<TcpStream>, desk: Desk) -> io::Result<()> {
    while let Some(first_line) = read_request(&mut stream).await? {
        let reply = desk.next();
        let _nobody_may_ask = desk.seen.send(first_line);
        match reply {
            Reply::Answer(text) => stream.write_all(text.as_bytes()).await?,
            Reply::Silence => std::future::pending().await,
            Reply::Cut => return Ok(()),
        }
    }
    Ok(())
}

async fn read_request(stream: &mut BufReader<TcpStream>) -> io::Result<Option<String>> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).await? == 0 {
            return Ok(None);
        }
    }
    let mut body = vec![0; content_length(&head)];
    stream.read_exact(&mut body).await?;
    Ok(head.lines().next().map(str::to_owned))
}

fn content_length(head: &str) -> usize {
    let value = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    value.map_or(0, |value| value.parse().unwrap())
}
