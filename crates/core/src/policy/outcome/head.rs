//! What an attempt ended with: a head, or an error.

use super::{Outcome, What};
use crate::policy::classify::ErrorKind;
use crate::policy::reason::Reason;
use crate::policy::rules::{lines as lines_of, parts as parts_of};
use crate::policy::whole_answers::media_type;
use http::{HeaderMap, HeaderName, StatusCode};

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

    /// The values of a response header, or of one part of it by its name: `left` of `used=3, left=2`, divided at `,`, `;`
    /// and `&`. Of the header the first 8 lines count, each of at most 1,024 bytes.
    ///
    /// ```
    /// use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
    /// use http_retry::Outcome;
    ///
    /// let limit = HeaderName::from_static("x-limit");
    /// let headers = HeaderMap::from_iter([(limit.clone(), HeaderValue::from_static("used=3, left=2"))]);
    /// let response = Outcome::response(StatusCode::OK, &headers);
    /// assert!(response.header_values(&limit, Some("left")).eq(["2"]));
    /// ```
    pub fn header_values(
        &self,
        name: &HeaderName,
        part: Option<&str>,
    ) -> impl Iterator<Item = &'a str> {
        let lines = self.headers().into_iter();
        let lines = lines.flat_map(move |headers| lines_of(headers, name));
        lines.flat_map(move |line| match part {
            Some(part) => parts_of(line, part).collect::<Vec<_>>(),
            None => vec![line],
        })
    }

    /// The media type of a response, in the case that it has and without its parameters.
    ///
    /// ```
    /// use http::{HeaderMap, HeaderValue, StatusCode, header};
    /// use http_retry::Outcome;
    ///
    /// let json = HeaderValue::from_static("application/json; charset=utf-8");
    /// let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, json)]);
    /// let response = Outcome::response(StatusCode::OK, &headers);
    /// assert_eq!(response.media_type(), Some("application/json"));
    /// ```
    #[must_use]
    pub fn media_type(&self) -> Option<&'a str> {
        std::str::from_utf8(media_type(self.headers()?)?).ok()
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
    #[must_use]
    pub fn without_head(self) -> Outcome<'static> {
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
    #[must_use]
    pub fn with_head(self, head: Option<(StatusCode, &'a HeaderMap)>) -> Self {
        let what = match (self.what, head) {
            (What::Done, Some((status, headers))) => What::Response(status, headers),
            // An answer that broke after its head is an error.
            (what, _) => what,
        };
        Self { what, ..self }
    }
}
