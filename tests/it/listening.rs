//! Ports of the loopback: those on which the servers of tests listen, and one on which nobody does.

use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// Where the servers of tests listen. Clients take their ports from another address, so that the tens of thousands of
/// them that wait for a while after they closed leave every port here free.
pub(crate) const HOST: &str = if cfg!(target_os = "linux") {
    "127.0.0.2"
} else {
    "127.0.0.1"
};

/// Takes a free port of [`HOST`].
pub(crate) async fn listener() -> TcpListener {
    TcpListener::bind((HOST, 0)).await.unwrap()
}

/// Listens until it is dropped; its connections end with it.
#[derive(Debug)]
pub(crate) struct Listening {
    pub(crate) address: SocketAddr,
    accepted: watch::Receiver<usize>,
    accepting: JoinHandle<()>,
}

impl Listening {
    /// Serves each connection in a task of its own; it is told the connection's number, counted from 1.
    pub(crate) async fn start<F>(serve: impl FnMut(TcpStream, usize) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = listener().await;
        let (count, accepted) = watch::channel(0);
        Self {
            address: listener.local_addr().unwrap(),
            accepted,
            accepting: tokio::spawn(accept(listener, count, serve)),
        }
    }

    /// How many connections were accepted.
    pub(crate) fn connections(&self) -> usize {
        *self.accepted.borrow()
    }

    pub(crate) async fn until_connections(&self, least: usize) {
        let mut accepted = self.accepted.clone();
        accepted.wait_for(|count| *count >= least).await.unwrap();
    }
}

async fn accept<F>(
    listener: TcpListener,
    count: watch::Sender<usize>,
    mut serve: impl FnMut(TcpStream, usize) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let number = *count.borrow() + 1;
        count.send_replace(number);
        connections.spawn(serve(stream, number));
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// A port that is taken, so that no one else gets it, and on which nobody listens.
pub(crate) fn nobody() -> (TcpSocket, SocketAddr) {
    let socket = TcpSocket::new_v4().unwrap();
    let here = SocketAddr::new(HOST.parse().unwrap(), 0);
    socket.bind(here).unwrap();
    let address = socket.local_addr().unwrap();
    (socket, address)
}
