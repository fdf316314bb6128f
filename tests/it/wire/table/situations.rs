//! What goes wrong, each with a server that makes it go wrong every time.

pub(crate) mod errors;
mod proxies;
pub(crate) mod statuses;

use super::clients::{Kit, LIMIT, Limited, Stack, Through};
use crate::in_time::IN_VAIN;
use crate::wire::http2::server::{Http2Server, Turn};
use crate::wire::server::{Act, FaultServer};
use crate::wire::stacks::clock::{let_all_run, let_pass};
use crate::wire::tls::server::{Greeting, TlsServer};
use std::any::Any;
use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// More than all requests to one server.
const MANY: usize = 1_000;

/// Something that goes wrong, the same way for every request.
pub(crate) struct Situation {
    pub(crate) name: &'static str,
    pub(crate) kit: Kit,
    server: Server,
    /// Whether the server counts one request for each attempt.
    counted: bool,
    /// Whether the reason may be lost between two tasks of a client, which then says no more than that it has not begun
    /// to send the request.
    races: bool,
}

enum Server {
    Fault(FaultServer),
    Tls(TlsServer),
    Http2(Http2Server),
    /// A port whose queue of connections is full.
    Full(#[expect(dead_code, reason = "runs while it is held")] (TcpListener, TcpStream)),
    Other(#[expect(dead_code, reason = "runs while it is held")] Box<dyn Any>),
}

impl Situation {
    fn new(name: &'static str, url: impl Into<String>, server: Server) -> Self {
        let kit = Kit::new(url);
        Self {
            name,
            kit,
            server,
            counted: false,
            races: false,
        }
    }

    /// A server that does the same with every request.
    async fn act(name: &'static str, act: Act) -> Self {
        let server = FaultServer::start(vec![act; MANY]).await;
        let situation = Self::new(name, server.url("/table"), Server::Fault(server));
        situation.counted(true)
    }

    /// A server of HTTP/2 that does the same with every request.
    async fn turn(name: &'static str, turn: Turn) -> Self {
        let server = Http2Server::start([turn]).await;
        let situation = Self::new(
            name,
            format!("{}table", server.url()),
            Server::Http2(server),
        );
        situation.counted(true).with(|kit| kit.http2 = true)
    }

    async fn greeting(name: &'static str, greeting: Greeting, tls: rustls::ClientConfig) -> Self {
        let server = TlsServer::start([greeting]).await;
        Self::new(name, format!("{}table", server.url()), Server::Tls(server))
            .with(|kit| kit.tls = tls)
    }

    fn counted(self, counted: bool) -> Self {
        Self { counted, ..self }
    }

    fn racing(self) -> Self {
        Self {
            races: true,
            ..self
        }
    }

    pub(crate) fn races(&self) -> bool {
        self.races
    }

    pub(crate) fn with(mut self, change: impl FnOnce(&mut Kit)) -> Self {
        change(&mut self.kit);
        self
    }

    /// The clients that can meet it.
    pub(crate) fn stacks(&self) -> impl Iterator<Item = Stack> {
        let stale = self.kit.stale;
        let is_uri = self.kit.url.parse::<http::Uri>().is_ok();
        let own_connector = matches!(self.kit.through, Through::Failing(_));
        Stack::ALL.into_iter().filter(move |stack| match stack {
            Stack::Hyper => is_uri,
            _ => !stale && !own_connector,
        })
    }

    /// How many requests came, where the server counts one for each attempt.
    pub(crate) fn requests(&self) -> Option<usize> {
        match &self.server {
            // A short limit may pass before a request arrives.
            _ if !self.counted || self.kit.limit != LIMIT => None,
            Server::Fault(server) => Some(server.received().len()),
            Server::Http2(server) => Some(server.got().len()),
            _ => None,
        }
    }

    /// Runs a call; whenever the server lets it wait, its time is up.
    pub(crate) async fn run<T>(&self, call: impl Future<Output = T>) -> T {
        let what = self.name;
        tokio::select! {
            biased;
            done = tokio::time::timeout(IN_VAIN, call) => done.expect(what),
            never = self.let_time_pass() => match never {},
        }
    }

    async fn let_time_pass(&self) -> Infallible {
        match (&self.server, self.kit.limited) {
            // Time passes by itself.
            _ if self.kit.limit != LIMIT => std::future::pending().await,
            (Server::Fault(server), Limited::Answering) => {
                let mut seen = server.received().len();
                loop {
                    seen += 1;
                    server.until(|server| server.received().len() >= seen).await;
                    let_pass(LIMIT + Duration::from_secs(1)).await;
                }
            }
            (Server::Tls(server), Limited::Connecting) => {
                let mut seen = server.connections();
                loop {
                    seen += 1;
                    server.until_connections(seen).await;
                    let_pass(LIMIT + Duration::from_secs(1)).await;
                }
            }
            (Server::Full(_), _) => loop {
                let_all_run().await;
                let_pass(LIMIT + Duration::from_secs(1)).await;
            },
            _ => std::future::pending().await,
        }
    }
}

/// A port that completes no more connections: one is in its queue, which holds no other.
#[cfg(target_os = "linux")]
pub(crate) async fn full() -> Situation {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let listener = socket.listen(0).unwrap();
    let address = listener.local_addr().unwrap();
    let first = TcpStream::connect(address).await.unwrap();
    let server = Server::Full((listener, first));
    Situation::new("never accepted", format!("http://{address}/table"), server)
        .with(|kit| kit.limited = Limited::Connecting)
}
