//! The errors of h2: by type, or by their words in a program that speaks HTTP/2 without the feature `http2`.

use super::link::Link;
use crate::policy::ErrorKind;
#[cfg(feature = "http2")]
use h2::{Error, Reason};

#[cfg(feature = "http2")]
pub(super) fn read(error: &Error) -> Link {
    let reason = error.reason();
    let closing = error.is_go_away() && reason == Some(Reason::NO_ERROR);
    let refused = error.is_reset() && reason == Some(Reason::REFUSED_STREAM);
    if error.is_remote() && (closing || refused) {
        return Link::Says(ErrorKind::NotProcessed);
    }
    let not_http2 = [Reason::PROTOCOL_ERROR, Reason::FRAME_SIZE_ERROR].map(Some);
    if error.is_library() && error.is_go_away() && not_http2.contains(&reason) {
        return Link::Says(ErrorKind::Protocol);
    }
    // This side resets a stream while somebody waits for the response only because its own body failed.
    if error.is_reset() && !error.is_remote() && !error.is_library() {
        return Link::Says(ErrorKind::Body);
    }
    Link::only_if(!error.is_io(), ErrorKind::Http2)
}

/// Reads what h2 prints. For an I/O error that is its kind, or the words of a TLS library.
#[cfg(any(test, not(feature = "http2")))]
pub(super) fn read_words(words: &str) -> Link {
    const REFUSED: &str =
        "stream error received: refused stream before processing any application logic";
    const CLOSING: &str = "connection error received: not a result of an error";
    const NOT_HTTP2: [&str; 2] = [
        "connection error detected: unspecific protocol error detected",
        "connection error detected: frame with invalid size",
    ];
    if words == REFUSED || words.starts_with(CLOSING) {
        return Link::Says(ErrorKind::NotProcessed);
    }
    if NOT_HTTP2.iter().any(|start| words.starts_with(start)) {
        return Link::Says(ErrorKind::Protocol);
    }
    if words.starts_with("stream error sent by user: ") {
        return Link::Says(ErrorKind::Body);
    }
    let said = ["stream error ", "connection error "]
        .iter()
        .find_map(|start| words.strip_prefix(start));
    let is_h2 =
        said.is_some_and(|said| said.starts_with("received: ") || said.starts_with("detected: "));
    if is_h2 {
        return Link::Says(ErrorKind::Http2);
    }
    read_io_words(words)
}

#[cfg(any(test, not(feature = "http2")))]
fn read_io_words(words: &str) -> Link {
    const TLS_CUT: &str = "peer closed connection without sending TLS close_notify";
    match words {
        "connection reset"
        | "connection aborted"
        | "broken pipe"
        | "not connected"
        | "stream closed because of a broken pipe" => Link::Says(ErrorKind::Reset),
        words if words == "unexpected end of file" || words.starts_with(TLS_CUT) => {
            Link::Says(ErrorKind::Incomplete)
        }
        _ => Link::Silent,
    }
}

#[cfg(test)]
#[cfg(feature = "http2")]
mod tests;
