//! Texts and I/O errors by which libraries report what they have no type for, or only a private one.

use super::ErrorKind;
use crate::server_hints::holds;
use std::io;

/// Returns the kind of an error of a TLS library that its text shows: of an alert that the peer sent, in rustls's
/// words. [`ErrorKind::Protocol`] if it shows nothing.
///
/// # Source
///
/// RFC 8446 section 6.2.
#[must_use]
pub fn kind_of_tls_text(text: &str) -> ErrorKind {
    let Some(alert) = text.strip_prefix("received fatal alert: ") else {
        return ErrorKind::Protocol;
    };
    let refusals = ["Certificate", "UnknownCA", "AccessDenied"];
    if refusals.iter().any(|subject| holds(alert, subject)) {
        return ErrorKind::Certificate;
    }
    match alert {
        // Neither says anything about the peers or their certificates.
        "InternalError" | "UserCanceled" => ErrorKind::Incomplete,
        _ => ErrorKind::Protocol,
    }
}

/// The words of hyper-util, ureq and tokio-socks for a proxy that refuses the client or its destination.
const REFUSALS: [&str; 15] = [
    "authorization required",
    "authentication required",
    "authentication failed",
    "auth failure",
    "auth method",
    "credentials not accepted",
    "does not support user/pass authentication",
    "implements authentication incorrectly",
    "connection not allowed",
    "command not supported",
    "address type not supported",
    "address kind not supported",
    "identd",
    "ident service failed",
    "client identifier",
];

/// Returns `true` for an error by which a connector refuses to try, or is not allowed to.
#[must_use]
pub fn is_refusal_to_connect(error: &io::Error) -> bool {
    use io::ErrorKind as Io;
    matches!(
        error.kind(),
        Io::PermissionDenied | Io::InvalidInput | Io::Unsupported
    )
}

/// Returns `true` if the text of an error that was made while connecting says that a proxy refuses the client, its
/// credentials or its destination. A proxy that cannot reach the destination does not refuse it.
///
/// # Source
///
/// RFC 9110 section 15.5.8 (407), RFC 1928 section 6 and RFC 1929 (SOCKS 5), and SOCKS 4's replies 92 and 93.
#[must_use]
pub fn is_refusal_by_proxy(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    REFUSALS.iter().any(|refusal| holds(&text, refusal))
}
