//! Reasons for not resuming a download.

use super::decision::StopReason;
use std::fmt;

/// The reason for not resuming a broken download.
///
/// Unless the policy stops it, the server's response to the continuation does not prove that its bytes belong to those
/// that came before.
///
/// ```
/// use http_retry::StopReason;
/// use http_retry::policy::ResumeFailure;
///
/// assert_eq!(ResumeFailure::Changed.as_str(), "changed");
/// assert_eq!(ResumeFailure::Stopped(StopReason::BudgetExhausted).as_str(), "budget_exhausted");
/// ```
///
/// # Source
///
/// RFC 9110 sections 13.1.5 (If-Range), 14.4 (Content-Range) and 15.3.7 (206).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ResumeFailure {
    /// The policy or the budget allows no further attempt; the reason says which limit was reached.
    Stopped(StopReason),
    /// The request for the rest failed: the server responded with an error status, or the connection failed, and the
    /// retries of that request are used up.
    HeadFailed,
    /// The server has another version than the one that the download began with, or does not name its version; or the
    /// start and the rest do not come from one server, after a failover or a redirect.
    Changed,
    /// The server sent another range of bytes than the one requested, or does not name its range.
    WrongRange,
    /// The server sent the whole file again, and nothing proves that its bytes are the same.
    RangeIgnored,
    /// The rest came with a `Content-Encoding`.
    Encoded,
    /// The first bytes of the rest differ from those already received.
    WrongOverlap,
    /// More bytes came than the first response promised.
    TooLong,
}

impl ResumeFailure {
    /// Returns a stable name for metric labels, such as `changed`; for [`Stopped`](Self::Stopped), that of the stop
    /// reason.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stopped(why) => why.as_str(),
            Self::HeadFailed => "head_failed",
            Self::Changed => "changed",
            Self::WrongRange => "wrong_range",
            Self::RangeIgnored => "range_ignored",
            Self::Encoded => "encoded",
            Self::WrongOverlap => "wrong_overlap",
            Self::TooLong => "too_long",
        }
    }

    /// Returns the reason as a sentence, for people; for [`Stopped`](Self::Stopped), that of the stop reason.
    #[must_use]
    pub fn explain(self) -> &'static str {
        match self {
            Self::Stopped(why) => why.explain(),
            Self::HeadFailed => "The request for the rest failed.",
            Self::Changed => {
                "The file at the server is no longer the one that the download began with."
            }
            Self::WrongRange => {
                "The server answered another range than the one that was asked for."
            }
            Self::RangeIgnored => {
                "The server sent the whole file again, and only a strong ETag would prove that it is the same."
            }
            Self::Encoded => "The server sent the rest with a Content-Encoding.",
            Self::WrongOverlap => "The server sent other bytes than before for the same place.",
            Self::TooLong => "The server sent more bytes than it promised.",
        }
    }
}

impl fmt::Display for ResumeFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
