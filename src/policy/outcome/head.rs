//! What an attempt ended with: a head, or an error.

use super::{Outcome, What};
use crate::policy::classify::ErrorKind;
use crate::policy::reason::Reason;
use http::{HeaderMap, StatusCode};

impl<'a> Outcome<'a> {
    /// The response's status, if there was a response or the error was made from one; `None` for other errors and for
    /// [`Outcome::success`].
    #[must_use]
    pub fn status(&self) -> Option<StatusCode> {
        match self.what {
            What::Response(status, _) | What::Status(status) => Some(status),
            What::Done | What::Error(_) => None,
        }
    }

    /// The response's headers, if there was a response. An error that was made from a response has lost them.
    #[must_use]
    pub fn headers(&self) -> Option<&'a HeaderMap> {
        match self.what {
            What::Response(_, headers) => Some(headers),
            What::Done | What::Error(_) | What::Status(_) => None,
        }
    }

    /// The kind of the error, if there was one without a status.
    ///
    /// ```
    /// use http_retry::{ErrorKind, Outcome};
    ///
    /// let outcome = Outcome::error(ErrorKind::ConnectTimeout);
    /// assert_eq!((outcome.error_kind(), outcome.status()), (Some(ErrorKind::ConnectTimeout), None));
    /// ```
    #[must_use]
    pub fn error_kind(&self) -> Option<ErrorKind> {
        match self.what {
            What::Error(kind) => Some(kind),
            What::Done | What::Response(..) | What::Status(_) => None,
        }
    }

    /// Whether there is nothing to hand over but an error.
    pub(in crate::policy) fn is_error(&self) -> bool {
        matches!(self.what, What::Error(_) | What::Status(_))
    }

    /// Whether the attempt ran into a time limit of the caller: an error that says so, or a stream whose head was a success
    /// and whose output did not come.
    pub(crate) fn ran_out_of_time(&self) -> bool {
        let begun = self.status().is_some_and(|status| status.is_success());
        let silent = begun && self.reason() == Some(Reason::Timeout);
        silent || self.error_kind().is_some_and(ErrorKind::is_timeout)
    }

    /// The same outcome without what it borrows, while its head is elsewhere.
    pub(crate) fn without_head(self) -> Outcome<'static> {
        Outcome {
            what: match self.what {
                What::Done | What::Response(..) => What::Done,
                What::Error(kind) => What::Error(kind),
                What::Status(status) => What::Status(status),
            },
            body: None,
            hints: None,
            request: None,
            ..self
        }
    }

    /// The same outcome with its head back, if it had one.
    pub(crate) fn with_head(self, head: Option<(StatusCode, &'a HeaderMap)>) -> Self {
        let what = match (self.what, head) {
            (What::Done, Some((status, headers))) => What::Response(status, headers),
            // An answer that broke after its head is an error.
            (what, _) => what,
        };
        Self { what, ..self }
    }
}
