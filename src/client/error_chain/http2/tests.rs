//! What a real connection fails with is read the same by type and by words.

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

/// What the server does with a request.
#[derive(Clone, Copy)]
enum Server {
    Resets(Reason),
    GoesAway(Reason),
    SpeaksHttp1,
    NeverAnswers,
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
    let mut kept = Vec::new();
    while let Some(Ok((_, mut answer))) = connection.accept().await {
        match server {
            Server::Resets(reason) => answer.send_reset(reason),
            Server::GoesAway(reason) => connection.abrupt_shutdown(reason),
            _ => kept.push(answer),
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
    let (answer, mut body) = client.send_request(request, false).unwrap();
    if matches!(server, Server::NeverAnswers) {
        body.send_reset(Reason::CANCEL);
    }
    answer.await.unwrap_err()
}

/// What the chain says that begins with this error.
fn by_type(error: &Error) -> Link {
    error.get_io().map_or_else(|| read(error), read_io)
}

fn kind(link: &Link) -> Option<ErrorKind> {
    match link {
        Link::Says(kind) => Some(*kind),
        _ => None,
    }
}

#[tokio::test]
async fn words_say_what_types_say() {
    let resets = REASONS.map(Server::Resets);
    let farewells = REASONS.map(Server::GoesAway);
    let others = [Server::SpeaksHttp1, Server::NeverAnswers, Server::Closes];
    let mut seen = Vec::new();
    for server in resets.into_iter().chain(farewells).chain(others) {
        let error = failure(server).await;
        let said = kind(&read_words(&error.to_string()));
        assert_eq!(said, kind(&by_type(&error)), "{error}");
        seen.extend(said);
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
fn other_words_are_not_of_h2() {
    for words in ["connection error", "stream error", "http2 error", ""] {
        assert!(kind(&read_words(words)).is_none(), "{words}");
    }
}

#[test]
fn words_of_broken_connections_say_what_their_kinds_say() {
    use std::io::{Error, ErrorKind::*};
    for broken in [
        ConnectionReset,
        ConnectionAborted,
        BrokenPipe,
        NotConnected,
        UnexpectedEof,
    ] {
        let error = Error::from(broken);
        let said = kind(&read_words(&error.to_string()));
        assert!(said.is_some(), "{broken:?}");
        assert_eq!(said, kind(&read_io(&error)), "{broken:?}");
    }
}
