//! I/O errors, and errors of a connection that was being made.

use super::link::Link;
use crate::policy::ErrorKind;
use std::io;

pub(super) fn read_io(error: &io::Error) -> Link {
    use io::ErrorKind as Io;
    match error.kind() {
        Io::ConnectionRefused
        | Io::AddrNotAvailable
        | Io::HostUnreachable
        | Io::NetworkUnreachable => Link::Kind(ErrorKind::Connect),
        Io::TimedOut => Link::Kind(ErrorKind::Timeout),
        // TLS libraries wrap their errors in this kind.
        Io::InvalidData => Link::Kind(if is_refused_certificate(error) {
            ErrorKind::Certificate
        } else {
            ErrorKind::Protocol
        }),
        Io::UnexpectedEof => Link::Kind(ErrorKind::Incomplete),
        Io::ConnectionReset | Io::ConnectionAborted | Io::BrokenPipe | Io::NotConnected => {
            Link::Kind(ErrorKind::Reset)
        }
        _ => Link::Silent,
    }
}

/// Returns `true` if the error is a TLS alert that refuses the client's certificate, in rustls's words. In TLS 1.3 it
/// arrives only after the client's handshake.
fn is_refused_certificate(error: &io::Error) -> bool {
    let text = error.to_string();
    let alert = text.strip_prefix("received fatal alert: ");
    let subjects = ["Certificate", "UnknownCA", "AccessDenied"];
    alert.is_some_and(|alert| subjects.iter().any(|subject| alert.contains(subject)))
}

/// Returns the kind for the same error on a connection that was still being made: the request was not sent.
pub(super) fn while_connecting(kind: ErrorKind) -> ErrorKind {
    match kind {
        ErrorKind::Timeout => ErrorKind::ConnectTimeout,
        ErrorKind::Incomplete => ErrorKind::Tls,
        // TLS libraries report an unacceptable peer or certificate like this.
        ErrorKind::Protocol => ErrorKind::Certificate,
        ErrorKind::Certificate
        | ErrorKind::Dns
        | ErrorKind::ConnectTimeout
        | ErrorKind::Request => kind,
        _ => ErrorKind::Connect,
    }
}

/// Returns the kind for the same error while the name of the host was resolved.
pub(super) fn while_resolving(kind: ErrorKind) -> ErrorKind {
    match kind {
        ErrorKind::Request => kind,
        _ => ErrorKind::Dns,
    }
}

/// Returns the kind for the same error on a connection in use: a lost network gives the same errors as for one that
/// cannot be made.
pub(super) fn while_connected(kind: ErrorKind) -> ErrorKind {
    match kind {
        ErrorKind::Connect => ErrorKind::Reset,
        kind => kind,
    }
}
