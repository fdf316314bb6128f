//! A TLS server whose handshakes go wrong on purpose.

use crate::listening::Listening;
use rustls::ServerConfig;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

/// What the server does with every connection.
#[derive(Clone)]
pub(crate) enum Greeting {
    /// Shakes hands, and answers 200.
    Serve(Arc<ServerConfig>),
    /// Shakes hands, reads the request, and closes the socket without the notice that TLS asks for.
    CutAnswer(Arc<ServerConfig>),
    /// Reads the client's hello, and closes.
    CutHandshake,
    /// Reads the client's hello, and resets.
    ResetHandshake,
    /// Reads the client's hello, and never answers it.
    Stall,
    /// Answers the hello with something that is not TLS.
    NotTls,
    /// Answers the hello with this alert.
    Alert(u8),
}

/// The server; it ends when it is dropped.
pub(crate) struct TlsServer {
    listening: Listening,
}

impl TlsServer {
    pub(crate) async fn start(greetings: impl IntoIterator<Item = Greeting>) -> Self {
        let greetings: Vec<Greeting> = greetings.into_iter().collect();
        // The last one repeats.
        let of = move |number: usize| greetings[number.min(greetings.len()) - 1].clone();
        let serve = move |stream, number| greet(stream, of(number));
        Self {
            listening: Listening::start(serve).await,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("https://{}/", self.listening.address)
    }

    /// How many connections were accepted.
    pub(crate) fn connections(&self) -> usize {
        self.listening.connections()
    }

    pub(crate) async fn until_connections(&self, least: usize) {
        self.listening.until_connections(least).await;
    }
}

async fn greet(mut stream: TcpStream, greeting: Greeting) {
    let (config, answers) = match greeting {
        Greeting::Serve(config) => (config, true),
        Greeting::CutAnswer(config) => (config, false),
        hostile => return refuse(&mut stream, &hostile).await,
    };
    let accepted = TlsAcceptor::from(config).accept(stream);
    match accepted.into_fallible().await {
        Ok(mut tls) => {
            read_request(&mut tls).await;
            if answers {
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
                tls.write_all(answer).await.unwrap();
                read_to_end(&mut tls).await;
            }
        }
        // A socket that is closed with bytes unread is reset, and the alert might be lost with it.
        Err((_, mut stream)) => read_to_end(&mut stream).await,
    }
}

async fn refuse(stream: &mut TcpStream, greeting: &Greeting) {
    let mut hello = [0; 16 * 1024];
    let _ = stream.read(&mut hello).await;
    match greeting {
        Greeting::ResetHandshake => stream.set_zero_linger().unwrap(),
        Greeting::NotTls => {
            let _ = stream.write_all(b"HTTP/1.1 400 Said\r\n\r\n").await;
            read_to_end(stream).await;
        }
        Greeting::Alert(alert) => {
            // A record of one fatal alert (RFC 8446, section 5.1).
            let _ = stream.write_all(&[21, 3, 3, 0, 2, 2, *alert]).await;
            read_to_end(stream).await;
        }
        Greeting::Stall => read_to_end(stream).await,
        _ => {}
    }
}

/// Reads a head, and the body that it announces.
async fn read_request(stream: &mut (impl AsyncRead + Unpin)) {
    let mut came = Vec::new();
    while !is_whole(&came) {
        if !matches!(stream.read_buf(&mut came).await, Ok(1..)) {
            return;
        }
    }
}

fn is_whole(came: &[u8]) -> bool {
    let text = String::from_utf8_lossy(came);
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = head.split("content-length: ").nth(1);
    let length = length.and_then(|rest| rest.lines().next());
    body.len() >= length.map_or(0, |length| length.parse().unwrap())
}

async fn read_to_end(stream: &mut (impl AsyncRead + Unpin)) {
    let mut rest = [0; 1024];
    while matches!(stream.read(&mut rest).await, Ok(1..)) {}
}
