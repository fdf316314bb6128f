//! I/O errors, and errors of a connection that was being made.

use super::link::Link;
use crate::ErrorKind;
use http_retry_core::reading::kind_of_tls_text;
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
        Io::InvalidData => Link::Kind(kind_of_tls_text(&error.to_string())),
        Io::UnexpectedEof => Link::Kind(ErrorKind::Incomplete),
        Io::ConnectionReset | Io::ConnectionAborted | Io::BrokenPipe | Io::NotConnected => {
            Link::Kind(ErrorKind::Reset)
        }
        _ => Link::Silent,
    }
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
        | ErrorKind::Proxy
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
