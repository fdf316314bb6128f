//! The meaning of one link of an error's chain.

use crate::policy::ErrorKind;
use http::StatusCode;

/// The meaning of one link of the chain.
#[cfg_attr(
    not(feature = "reqwest"),
    expect(dead_code, reason = "some links only reqwest or hyper makes")
)]
pub(super) enum Link {
    Silent,
    Connecting,
    /// The error comes from an established connection, unless an outer link is `Connecting`.
    Connected,
    /// The error comes from the body of a response, perhaps from its decoder, and may have a kind.
    InBody {
        decoded: bool,
        kind: Option<ErrorKind>,
    },
    /// The rest of the chain gives the reason that the request was not sent.
    Unsent,
    /// The error was made from a response with this status.
    Status(StatusCode),
    Kind(ErrorKind),
}

impl Link {
    #[cfg(feature = "hyper")]
    pub(super) fn only_if(condition: bool, kind: ErrorKind) -> Self {
        if condition {
            Self::Kind(kind)
        } else {
            Self::Silent
        }
    }
}
