//! The errors of real connections are read the same by type and by text.

use super::super::io_errors::read_io;
use super::*;
use tokio::io::{AsyncWriteExt, DuplexStream, duplex};

const REASONS: [Reason; 6] = [
    Reason::NO_ERROR,
    Reason::PROTOCOL_ERROR,
    Reason::INTERNAL_ERROR,
    Reason::FRAME_SIZE_ERROR,
    Reason::REFUSED_STREAM,
    Reason::CANCEL,
];

/// A server, by its behaviour on a request.
#[derive(Clone, Copy)]
enum Server {
    Resets(Reason),
    GoesAway(Reason),
    SpeaksHttp1,
    NeverResponds,
    Closes,
}

async fn serve(mut wire: DuplexStream, server: Server) {
    if matches!(server, Server::SpeaksHttp1) {
        wire.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .await
            .unwrap();
        return std::future::pending().await;
    }
    let mut connection = h2::server::handshake(wire).await.unwrap();
    if matches!(server, Server::Closes) {
        connection.accept().await;
        return;
    }
    let mut open = Vec::new();
    while let Some(Ok((_, mut response))) = connection.accept().await {
        match server {
            Server::Resets(reason) => response.send_reset(reason),
            Server::GoesAway(reason) => connection.abrupt_shutdown(reason),
            _ => open.push(response),
        }
    }
}

/// The error of one request.
async fn failure(server: Server) -> Error {
    let (near, far) = duplex(64 * 1024);
    tokio::spawn(serve(far, server));
    let (mut client, connection) = h2::client::handshake(near).await.unwrap();
    tokio::spawn(connection);
    let request = http::Request::new(());
    let (response, mut body) = client.send_request(request, false).unwrap();
    if matches!(server, Server::NeverResponds) {
        body.send_reset(Reason::CANCEL);
    }
    response.await.unwrap_err()
}

/// Reads the chain that begins with this error, by type.
fn by_type(error: &Error) -> Link {
    error.get_io().map_or_else(|| read(error), read_io)
}

fn kind(link: &Link) -> Option<ErrorKind> {
    match link {
        Link::Kind(kind) | Link::End(kind) => Some(*kind),
        _ => None,
    }
}

#[tokio::test]
async fn text_and_type_give_the_same_kind() {
    let resets = REASONS.map(Server::Resets);
    let goaways = REASONS.map(Server::GoesAway);
    let others = [Server::SpeaksHttp1, Server::NeverResponds, Server::Closes];
    let mut seen = Vec::new();
    for server in resets.into_iter().chain(goaways).chain(others) {
        let error = failure(server).await;
        let by_text = kind(&read_text(&error.to_string()));
        assert_eq!(by_text, kind(&by_type(&error)), "{error}");
        seen.extend(by_text);
    }
    for kind in [
        ErrorKind::NotProcessed,
        ErrorKind::Protocol,
        ErrorKind::Body,
        ErrorKind::Http2,
        ErrorKind::Reset,
    ] {
        assert!(seen.contains(&kind), "{kind:?} of {seen:?}");
    }
}

#[test]
fn other_texts_are_not_errors_of_h2() {
    for text in ["connection error", "stream error", "http2 error", ""] {
        assert!(kind(&read_text(text)).is_none(), "{text}");
    }
}

#[test]
fn text_and_kind_of_broken_connections_agree() {
    use std::io::{Error, ErrorKind::*};
    for broken in [
        ConnectionReset,
        ConnectionAborted,
        BrokenPipe,
        NotConnected,
        UnexpectedEof,
    ] {
        let error = Error::from(broken);
        let by_text = kind(&read_text(&error.to_string()));
        assert!(by_text.is_some(), "{broken:?}");
        assert_eq!(by_text, kind(&read_io(&error)), "{broken:?}");
    }
}
