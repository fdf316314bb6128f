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
    /// It comes from a connection that was made, unless something further out says "while connecting".
    Connected,
    /// It comes from the body of an answer, perhaps from what decodes it, and may say what happened.
    InAnswer {
        decoded: bool,
        says: Option<ErrorKind>,
    },
    /// The rest of the chain kept the request from being sent.
    Unsent,
    /// It was made of an answer with this status.
    Status(StatusCode),
    Says(ErrorKind),
}

impl Link {
    #[cfg(feature = "hyper")]
    pub(super) fn only_if(condition: bool, kind: ErrorKind) -> Self {
        if condition {
            Self::Says(kind)
        } else {
            Self::Silent
        }
    }
}
