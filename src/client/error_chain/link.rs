//! The meaning of one link of an error's chain.

use crate::{Class, ErrorKind, Reach};
use http::StatusCode;

/// The meaning of one link of the chain.
#[cfg_attr(
    any(
        not(feature = "reqwest"),
        all(target_arch = "wasm32", target_os = "unknown")
    ),
    expect(dead_code, reason = "some links only reqwest or hyper makes")
)]
pub(super) enum Link {
    Silent,
    Connecting,
    /// The name of the host was being resolved, if an outer link is `Connecting`.
    Resolving,
    /// The error comes from an established connection, unless an outer link is `Connecting`.
    Connected,
    /// The error comes from the body of a response.
    InBody,
    /// The same, and an established connection read it.
    InBodyOnConnection,
    /// The same, and a decoder failed, or what it reads from.
    Decoding,
    /// The body of a response ended early.
    Incomplete,
    /// The rest of the chain gives the reason that the request was not sent.
    Unsent,
    /// The connection ended before it began to send the request. The rest of the chain may give the reason.
    NotBegun,
    /// The error was made from a response with this status.
    Status(StatusCode),
    Kind(ErrorKind),
    /// The server goes away, and has not processed the request. hyper may be wrong about that for one that it has
    /// begun to send.
    GoAway(ErrorKind, Class),
    /// A kind with a class and a reach of its own.
    Judged(ErrorKind, Class, Reach),
    /// The rest of the chain is not about the request.
    End(ErrorKind),
}
