//! What a layer reads of a body, and how long.

use std::time::Duration;

/// How much of a failed response is read so that its connection can serve again.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DrainLimit {
    pub(crate) bytes: usize,
    pub(crate) time: Duration,
}

impl DrainLimit {
    /// Enough for any error page that is worth a connection: reading more costs about what a new connection does.
    pub(super) const DEFAULT: Self = Self {
        bytes: 128 * 1024,
        time: Duration::from_secs(1),
    };
}

/// How long the body of a download that is resumed may bring nothing, and may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DownloadLimits {
    pub(crate) idle_timeout: Duration,
    pub(crate) deadline: Option<Duration>,
}

impl DownloadLimits {
    pub(crate) const DEFAULT: Self = Self {
        idle_timeout: Duration::from_secs(30),
        deadline: None,
    };
}
