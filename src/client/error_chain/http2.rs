//! The errors of h2: by type, or by their text in a program that uses HTTP/2 without the feature `http2`.

use super::link::Link;
use crate::policy::ErrorKind;
#[cfg(feature = "http2")]
use h2::{Error, Reason};

#[cfg(feature = "http2")]
pub(super) fn read(error: &Error) -> Link {
    let reason = error.reason();
    let closing = error.is_go_away() && reason == Some(Reason::NO_ERROR);
    let refused = error.is_reset() && reason == Some(Reason::REFUSED_STREAM);
    // RFC 9113 sections 6.8 and 8.7: only the peer can say that it did not process the request.
    if error.is_remote() && (closing || refused) {
        return Link::Kind(ErrorKind::NotProcessed);
    }
    // The peer's bytes are no frames: it does not speak HTTP/2.
    let not_http2 = [Reason::PROTOCOL_ERROR, Reason::FRAME_SIZE_ERROR].map(Some);
    if error.is_library() && error.is_go_away() && not_http2.contains(&reason) {
        return Link::Kind(ErrorKind::Protocol);
    }
    // While a response is awaited, this side resets a stream only if its own request body has failed.
    if error.is_reset() && !error.is_remote() && !error.is_library() {
        return Link::End(ErrorKind::Body);
    }
    if error.is_io() {
        return Link::Silent;
    }
    Link::Kind(ErrorKind::Http2)
}

/// Reads the text of h2's errors. For an I/O error that is its kind, or the text of a TLS library.
#[cfg(any(test, not(feature = "http2")))]
pub(super) fn read_text(text: &str) -> Link {
    const REFUSED: &str =
        "stream error received: refused stream before processing any application logic";
    const CLOSING: &str = "connection error received: not a result of an error";
    const NOT_HTTP2: [&str; 2] = [
        "connection error detected: unspecific protocol error detected",
        "connection error detected: frame with invalid size",
    ];
    if text == REFUSED || text.starts_with(CLOSING) {
        return Link::Kind(ErrorKind::NotProcessed);
    }
    if NOT_HTTP2.iter().any(|start| text.starts_with(start)) {
        return Link::Kind(ErrorKind::Protocol);
    }
    if text.starts_with("stream error sent by user: ") {
        return Link::End(ErrorKind::Body);
    }
    let rest = ["stream error ", "connection error "]
        .iter()
        .find_map(|start| text.strip_prefix(start));
    let is_h2 =
        rest.is_some_and(|rest| rest.starts_with("received: ") || rest.starts_with("detected: "));
    if is_h2 {
        return Link::Kind(ErrorKind::Http2);
    }
    read_io_text(text)
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

#[cfg(test)]
#[cfg(feature = "http2")]
mod tests;
