//! The errors of h2: by type, or by their text in a program that uses HTTP/2 without the feature `http2`.

use super::super::link::Link;
use crate::{Class, ErrorKind, Reach};
#[cfg(feature = "http2")]
use h2::{Error, Reason};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Frame {
    RstStream,
    GoAway,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Peer {
    Remote,
    /// This side, since the remote one broke the protocol.
    Library,
    /// This side, on its own account.
    User,
}

/// The error codes that differ for a retry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Code {
    RefusedStream,
    EnhanceYourCalm,
    /// `HTTP_1_1_REQUIRED` or `INADEQUATE_SECURITY`: this connection's protocol will not do.
    OtherProtocol,
    ProtocolError,
    FrameSizeError,
    CompressionError,
    Other,
}

#[cfg(feature = "http2")]
pub(super) fn read(error: &Error, answered: bool) -> Link {
    let frame = match (error.is_reset(), error.is_go_away()) {
        (true, _) => Frame::RstStream,
        (false, true) => Frame::GoAway,
        // The I/O error is the next link.
        _ if error.is_io() => return Link::Silent,
        _ => return Link::Kind(ErrorKind::Http2),
    };
    let by = match (error.is_remote(), error.is_library()) {
        (true, _) => Peer::Remote,
        (false, true) => Peer::Library,
        (false, false) => Peer::User,
    };
    let code = match error.reason() {
        Some(Reason::REFUSED_STREAM) => Code::RefusedStream,
        Some(Reason::ENHANCE_YOUR_CALM) => Code::EnhanceYourCalm,
        Some(Reason::HTTP_1_1_REQUIRED | Reason::INADEQUATE_SECURITY) => Code::OtherProtocol,
        Some(Reason::PROTOCOL_ERROR) => Code::ProtocolError,
        Some(Reason::FRAME_SIZE_ERROR) => Code::FrameSizeError,
        Some(Reason::COMPRESSION_ERROR) => Code::CompressionError,
        _ => Code::Other,
    };
    link(frame, by, code, answered)
}

/// Reads the text of h2's errors. For an I/O error that is its kind, or the text of a TLS library.
#[cfg(any(test, not(feature = "http2")))]
pub(super) fn read_text(text: &str, answered: bool) -> Link {
    read_end(text, answered).unwrap_or_else(|| read_io_text(text))
}

#[cfg(any(test, not(feature = "http2")))]
fn read_end(text: &str, answered: bool) -> Option<Link> {
    let frames = [
        ("stream error ", Frame::RstStream),
        ("connection error ", Frame::GoAway),
    ];
    let peers = [
        ("received: ", Peer::Remote),
        ("detected: ", Peer::Library),
        ("sent by user: ", Peer::User),
    ];
    let codes = [
        (
            "refused stream before processing any application logic",
            Code::RefusedStream,
        ),
        (
            "detected excessive load generating behavior",
            Code::EnhanceYourCalm,
        ),
        ("endpoint requires HTTP/1.1", Code::OtherProtocol),
        (
            "security properties do not meet minimum requirements",
            Code::OtherProtocol,
        ),
        ("unspecific protocol error detected", Code::ProtocolError),
        ("frame with invalid size", Code::FrameSizeError),
        (
            "unable to maintain the header compression context",
            Code::CompressionError,
        ),
    ];
    let (frame, rest) = after_start(text, &frames)?;
    let (by, rest) = after_start(rest, &peers)?;
    // The debug data of a GOAWAY follows.
    let code = after_start(rest, &codes).map_or(Code::Other, |(code, _)| code);
    Some(link(frame, by, code, answered))
}

/// Returns the value of the start that a text has, and the rest of the text.
#[cfg(any(test, not(feature = "http2")))]
fn after_start<'a, T: Copy>(text: &'a str, starts: &[(&str, T)]) -> Option<(T, &'a str)> {
    let mut starts = starts.iter();
    starts.find_map(|(start, value)| Some((*value, text.strip_prefix(start)?)))
}

#[cfg(any(test, not(feature = "http2")))]
fn read_io_text(text: &str) -> Link {
    const TLS_CUT: &str = "peer closed connection without sending TLS close_notify";
    match text {
        "connection reset"
        | "connection aborted"
        | "broken pipe"
        | "not connected"
        | "stream closed because of a broken pipe" => Link::Kind(ErrorKind::Reset),
        text if text == "unexpected end of file" || text.starts_with(TLS_CUT) => {
            Link::Kind(ErrorKind::Incomplete)
        }
        _ => Link::Silent,
    }
}

/// Returns the meaning of the end of a stream, or of its connection, by an error code.
fn link(frame: Frame, by: Peer, code: Code, answered: bool) -> Link {
    match (frame, by, code) {
        // RFC 9113 section 6.8: the peer has not processed a stream above its last one, whatever the code is, and
        // h2 gives this error to no other stream.
        (Frame::GoAway, Peer::Remote, Code::EnhanceYourCalm) => {
            Link::GoAway(ErrorKind::NotProcessed, Class::Throttled)
        }
        (Frame::GoAway, Peer::Remote, Code::OtherProtocol) => {
            Link::GoAway(ErrorKind::Protocol, Class::Permanent)
        }
        (Frame::GoAway, Peer::Remote, _) => Link::GoAway(ErrorKind::NotProcessed, Class::Transient),
        // RFC 9113 section 8.7.
        (Frame::RstStream, Peer::Remote, Code::RefusedStream) => {
            Link::Kind(ErrorKind::NotProcessed)
        }
        (Frame::RstStream, Peer::Remote, Code::EnhanceYourCalm) => {
            Link::Judged(ErrorKind::Http2, Class::Throttled, Reach::Ambiguous)
        }
        (Frame::RstStream, Peer::Remote, Code::OtherProtocol) => Link::Kind(ErrorKind::Protocol),
        // The peer's bytes are no frames: it does not speak HTTP/2.
        (Frame::GoAway, Peer::Library, Code::ProtocolError | Code::FrameSizeError) => {
            Link::Kind(ErrorKind::Protocol)
        }
        // The head of the response is malformed, or longer than this side accepts: h2 resets the stream, or gives
        // up the connection if the head is much longer. A body that is shorter than its length is cut.
        (Frame::RstStream, Peer::Library, Code::ProtocolError)
        | (Frame::GoAway, Peer::Library, Code::EnhanceYourCalm | Code::CompressionError)
            if !answered =>
        {
            Link::Kind(ErrorKind::Protocol)
        }
        // While a response is awaited, this side resets a stream only if its own request body has failed.
        (Frame::RstStream, Peer::User, _) => Link::End(ErrorKind::Body),
        _ => Link::Kind(ErrorKind::Http2),
    }
}

#[cfg(test)]
#[cfg(feature = "http2")]
mod tests;
