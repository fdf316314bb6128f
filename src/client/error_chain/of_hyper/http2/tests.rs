//! The errors of real connections are read the same by type and by text.

use super::super::super::io_errors::read_io;
use super::*;
use tokio::io::{AsyncWriteExt, DuplexStream, duplex};

const REASONS: [Reason; 14] = [
    Reason::NO_ERROR,
    Reason::PROTOCOL_ERROR,
    Reason::INTERNAL_ERROR,
    Reason::FLOW_CONTROL_ERROR,
    Reason::SETTINGS_TIMEOUT,
    Reason::STREAM_CLOSED,
    Reason::FRAME_SIZE_ERROR,
    Reason::REFUSED_STREAM,
    Reason::CANCEL,
    Reason::COMPRESSION_ERROR,
    Reason::CONNECT_ERROR,
    Reason::ENHANCE_YOUR_CALM,
    Reason::INADEQUATE_SECURITY,
    Reason::HTTP_1_1_REQUIRED,
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
    if let Server::GoesAway(reason) = server {
        // Empty settings, and the end of the connection at the stream 0: it has processed none.
        let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
        let go_away = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let reason = u32::from(reason).to_be_bytes();
        let frames = [&settings[..], &go_away[..], &reason[..]].concat();
        wire.write_all(&frames).await.unwrap();
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
    error.get_io().map_or_else(|| read(error, false), read_io)
}

/// Returns the meaning of a link, if it has a kind.
fn kind(link: &Link) -> Option<(ErrorKind, Class, Reach)> {
    match link {
        Link::Kind(kind) | Link::End(kind) => {
            let outcome = crate::Outcome::error(*kind);
            Some((*kind, outcome.class(), outcome.reach()))
        }
        Link::GoAway(kind, class) => Some((*kind, *class, Reach::Refused)),
        Link::Judged(kind, class, reach) => Some((*kind, *class, *reach)),
        _ => None,
    }
}

fn by_text(text: &str) -> Option<(ErrorKind, Class, Reach)> {
    kind(&read_text(text, false))
}

#[tokio::test]
async fn text_and_type_give_the_same_meaning() {
    let resets = REASONS.map(Server::Resets);
    let goaways = REASONS.map(Server::GoesAway);
    let others = [Server::SpeaksHttp1, Server::NeverResponds, Server::Closes];
    let mut seen = Vec::new();
    for server in resets.into_iter().chain(goaways).chain(others) {
        let error = failure(server).await;
        let meaning = by_text(&error.to_string());
        assert_eq!(meaning, kind(&by_type(&error)), "{error}");
        seen.extend(meaning.map(|(kind, ..)| kind));
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

/// The peer's code decides the class. A peer that goes away has not begun to process the request.
#[tokio::test]
async fn the_code_decides_the_class() {
    let (transient, permanent) = (Class::Transient, Class::Permanent);
    let rows = [
        (Reason::NO_ERROR, transient, transient),
        (Reason::INTERNAL_ERROR, transient, transient),
        (Reason::PROTOCOL_ERROR, transient, transient),
        (
            Reason::ENHANCE_YOUR_CALM,
            Class::Throttled,
            Class::Throttled,
        ),
        (Reason::HTTP_1_1_REQUIRED, permanent, permanent),
        (Reason::INADEQUATE_SECURITY, permanent, permanent),
    ];
    for (reason, away, reset) in rows {
        for (server, class, reach) in [
            (Server::GoesAway(reason), away, Reach::Refused),
            (Server::Resets(reason), reset, Reach::Ambiguous),
        ] {
            let seen = kind(&by_type(&failure(server).await)).unwrap();
            assert_eq!((seen.1, seen.2), (class, reach), "{reason:?}");
        }
    }
}

/// A body that is shorter than its length is cut; a head that breaks the protocol is none.
#[test]
fn a_broken_stream_is_no_protocol_only_before_its_head() {
    let text = "stream error detected: unspecific protocol error detected";
    let kinds = [false, true].map(|answered| kind(&read_text(text, answered)).unwrap().0);
    assert_eq!(kinds, [ErrorKind::Protocol, ErrorKind::Http2]);
}

#[test]
fn other_texts_are_not_errors_of_h2() {
    for text in ["connection error", "stream error", "http2 error", ""] {
        assert!(by_text(text).is_none(), "{text}");
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
        let meaning = by_text(&error.to_string());
        assert!(meaning.is_some(), "{broken:?}");
        assert_eq!(meaning, kind(&read_io(&error)), "{broken:?}");
    }
}
