//! Ports of the loopback: those on which the servers of tests listen, and one on which nobody does.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU8, Ordering};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// Where the servers of tests listen, one after another. A connection keeps the ports of both its ends for a minute after
/// it closed, and there are tens of thousands of them: the clients take theirs from another address, and each of these has
/// nearly all of its own free. On one address alone, a third of the time of these tests went into looking for a port.
pub(crate) fn hosts() -> impl Iterator<Item = Ipv4Addr> + Clone {
    let last_bytes = if cfg!(target_os = "linux") {
        2..=65
    } else {
        1..=1
    };
    last_bytes.map(|byte| Ipv4Addr::new(127, 0, 0, byte))
}

fn next_host() -> Ipv4Addr {
    static TURN: AtomicU8 = AtomicU8::new(0);
    let turn = TURN.fetch_add(1, Ordering::Relaxed);
    hosts().cycle().nth(turn.into()).unwrap()
}

/// Takes a free port of one of the [`hosts`].
pub(crate) async fn listener() -> TcpListener {
    TcpListener::bind((next_host(), 0)).await.unwrap()
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
    socket.bind((next_host(), 0).into()).unwrap();
    let address = socket.local_addr().unwrap();
    (socket, address)
}
