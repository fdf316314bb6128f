//! Proxies that refuse, and connectors that do not try.

use super::super::clients::Through;
use super::{MANY, Server, Situation};
use crate::listening::Listening;
use crate::wire::server::{Act, FaultServer};
use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

pub(super) async fn all() -> Vec<Situation> {
    let socks = [
        ("SOCKS, the password is refused", Socks::Password),
        ("SOCKS, the destination is refused", Socks::Replies(2)),
        ("SOCKS, the command is refused", Socks::Replies(7)),
        ("SOCKS, the destination is unreachable", Socks::Replies(4)),
        ("SOCKS, the proxy fails", Socks::Replies(1)),
    ];
    let connectors = [
        (
            "a connector without permission",
            io::ErrorKind::PermissionDenied,
        ),
        (
            "a connector without an address",
            io::ErrorKind::InvalidInput,
        ),
        ("a connector that cannot", io::ErrorKind::Unsupported),
        ("a connector that fails", io::ErrorKind::Other),
    ];
    let mut rows = vec![
        connect("CONNECT answered with 407", Act::status(407)).await,
        connect("CONNECT answered with 403", Act::status(403)).await,
        connect("CONNECT answered with 503", Act::status(503)).await,
        connect("CONNECT, the proxy closes", Act::CloseAfterRequest).await,
    ];
    for (name, refusal) in socks {
        rows.push(by_socks(name, refusal).await);
    }
    for (name, kind) in connectors {
        let failing = Situation::new(name, "http://127.0.0.1/table", Server::Other(Box::new(())));
        rows.push(failing.with(|kit| kit.through = Through::Failing(kind)));
    }
    rows
}

/// A proxy that does this with every CONNECT.
async fn connect(name: &'static str, act: Act) -> Situation {
    let proxy = FaultServer::start(vec![act; MANY]).await;
    let address = proxy.address().to_string();
    let situation = Situation::new(name, "https://127.0.0.1/table", Server::Fault(proxy));
    situation
        .counted(true)
        .with(|kit| kit.through = Through::Tunnel(address))
}

/// What a SOCKS proxy refuses.
#[derive(Clone, Copy)]
enum Socks {
    Password,
    /// The destination, with this reply.
    Replies(u8),
}

async fn by_socks(name: &'static str, refusal: Socks) -> Situation {
    let refuses = move |stream, _| async move {
        // A client that is gone is no concern of a proxy.
        let _ = refuse(stream, refusal).await;
    };
    let proxy = Listening::start(refuses).await;
    let address = proxy.address.to_string();
    let situation = Situation::new(
        name,
        "http://127.0.0.1/table",
        Server::Other(Box::new(proxy)),
    );
    situation.with(|kit| kit.through = Through::Socks(address))
}

async fn refuse(mut stream: TcpStream, refusal: Socks) -> io::Result<()> {
    let [_, methods] = read::<2>(&mut stream).await?;
    stream
        .read_exact(&mut vec![0; usize::from(methods)])
        .await?;
    stream.write_all(&[5, 2]).await?;
    let [_, name] = read::<2>(&mut stream).await?;
    stream.read_exact(&mut vec![0; usize::from(name)]).await?;
    let [password] = read::<1>(&mut stream).await?;
    stream
        .read_exact(&mut vec![0; usize::from(password)])
        .await?;
    match refusal {
        Socks::Password => stream.write_all(&[1, 1]).await?,
        Socks::Replies(reply) => {
            stream.write_all(&[1, 0]).await?;
            // Up to the address, which is read with the rest below.
            read::<4>(&mut stream).await?;
            stream
                .write_all(&[5, reply, 0, 1, 0, 0, 0, 0, 0, 0])
                .await?;
        }
    }
    // A socket that is closed with bytes unread is reset, and the reply might be lost with it.
    stream.shutdown().await?;
    let mut rest = [0; 1024];
    while matches!(stream.read(&mut rest).await, Ok(1..)) {}
    Ok(())
}

async fn read<const BYTES: usize>(stream: &mut TcpStream) -> io::Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}
