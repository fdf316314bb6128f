//! A server that writes what it is told, byte for byte, and closes the connection.

use crate::listening::Listening;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[derive(Debug, Clone)]
pub(crate) struct Reply(Vec<u8>);

impl Reply {
    /// A status line's end, and the lines of a head.
    pub(crate) fn new(status: &str, head: &str) -> Self {
        let head = format!("HTTP/1.1 {status}\r\nconnection: close\r\n{head}\r\n\r\n");
        Self(head.into_bytes())
    }

    pub(crate) fn raw(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }

    pub(crate) fn sends(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }
}

#[derive(Debug)]
pub(crate) struct Raw {
    listening: Listening,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    replies: Vec<Reply>,
    left: Mutex<VecDeque<Reply>>,
    received: Mutex<Vec<String>>,
}

/// Writes the replies in turn, the last one to everything after it.
pub(crate) async fn server(replies: impl IntoIterator<Item = Reply>) -> Raw {
    let replies: Vec<Reply> = replies.into_iter().collect();
    let state = Arc::new(State {
        left: Mutex::new(replies.clone().into()),
        replies,
        received: Mutex::default(),
    });
    let shared = Arc::clone(&state);
    let listening = Listening::start(move |stream, _| {
        let state = Arc::clone(&shared);
        async move { state.serve(stream).await }
    })
    .await;
    Raw { listening, state }
}

impl Raw {
    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.listening.address)
    }

    /// Host and port.
    pub(crate) fn authority(&self) -> String {
        self.listening.address.to_string()
    }

    /// Starts again with the first reply.
    pub(crate) fn begin(&self) {
        *self.state.left.lock().unwrap() = self.state.replies.clone().into();
        self.state.received.lock().unwrap().clear();
    }

    /// The values of a header, one for each request; empty where it is missing.
    pub(crate) fn received(&self, name: &str) -> Vec<String> {
        let received = self.state.received.lock().unwrap();
        let value = |head: &String| {
            let mut lines = head.lines().filter_map(|line| line.split_once(": "));
            let found = lines.find(|(header, _)| header.eq_ignore_ascii_case(name));
            found.map_or("", |(_, value)| value).to_owned()
        };
        received.iter().map(value).collect()
    }
}

impl State {
    fn next(&self) -> Reply {
        let mut left = self.left.lock().unwrap();
        match left.len() {
            1 => left[0].clone(),
            _ => left.pop_front().unwrap(),
        }
    }

    async fn serve(&self, mut stream: TcpStream) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(_) => return,
            }
        }
        let Reply(bytes) = self.next();
        let head = String::from_utf8_lossy(&head).into_owned();
        self.received.lock().unwrap().push(head);
        let _gone = stream.write_all(&bytes).await;
        let _gone = stream.shutdown().await;
        // The client closes the connection, so that what was written is not lost to a reset.
        let _gone = stream.read(&mut [0]).await;
    }
}
