//! The requests of an attempt before the one that its outcome belongs to.

/// The requests of an attempt before the one that its outcome belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EarlierRequests {
    /// There are none.
    None,
    /// There are some, and a server may have processed them: the client followed a redirect, or a layer below sent
    /// several requests.
    Some,
    /// Not known, since the client may follow redirects.
    RedirectsUnknown {
        /// Set if processing the request twice is harmless. Then the doubt matters only to a server that has not seen
        /// the request.
        harmless: bool,
    },
    /// Not known, since an operation may send any number of requests.
    Unknown {
        /// Set if repeating the operation is harmless.
        harmless: bool,
    },
}

impl EarlierRequests {
    /// Returns `true` if an outcome that shows that nothing was processed is believed.
    pub(super) fn are_harmless(self) -> bool {
        match self {
            Self::None => true,
            Self::Some => false,
            Self::RedirectsUnknown { harmless } | Self::Unknown { harmless } => harmless,
        }
    }
}
