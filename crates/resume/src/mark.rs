//! The validator of a download: the range and the tag or date of the first response. Every later response is checked
//! against it. This module does no I/O.
//!
//! # Source
//!
//! RFC 9110 sections 8.8 (validators), 13.1.5 (`If-Range`) and 14 (ranges).

use super::head::{
    ContentRange, content_range, has_length, is_multipart, is_unencoded, length, one,
    refused_total, settled_date, strong_tag,
};
use http::header::{
    ACCEPT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE,
    LAST_MODIFIED, RANGE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use http_retry_core::policy::ResumeFailure;

/// The maximum number of bytes already handed out that are requested again and compared.
pub(super) const OVERLAP: u64 = 1024;

/// The range of a download, and the proof that later bytes belong to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumeValidator {
    range: ContentRange,
    validator: Validator,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Validator {
    /// A strong `ETag`.
    Tag(HeaderValue),
    /// A `Last-Modified` that is old enough to be strong.
    Date(HeaderValue),
    /// No validator: the download can only start again, with a response like the first, if no byte was handed out.
    Nothing(Box<FirstHead>),
}

/// The parts of the first response's head that the caller has seen.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FirstHead {
    status: StatusCode,
    headers: HeaderMap,
}

const IDENTITY: HeaderValue = HeaderValue::from_static("identity");

/// The headers that must be equal if there is no validator. The `Date` is not among them: it differs each time.
const COMPARED_HEADERS: [HeaderName; 4] = [CONTENT_TYPE, CONTENT_RANGE, ETAG, LAST_MODIFIED];

impl ResumeValidator {
    /// Creates the validator of a request and the head of its response. Returns `None` if the body is not to be
    /// resumed.
    #[must_use]
    pub fn from_response(
        (method, request): (&Method, &HeaderMap),
        (status, response): (StatusCode, &HeaderMap),
    ) -> Option<Self> {
        let asks_for_range = request.contains_key(RANGE);
        if asks_for_range && !has_one_range(request) {
            return None;
        }
        // A client that decodes a body removes its length, so a length also shows that nobody below has decoded it.
        let length = length(response).filter(|length| *length > 0)?;
        if method != Method::GET || !is_unencoded(response) || is_multipart(response) {
            return None;
        }
        let range = match status {
            StatusCode::OK => ContentRange {
                first: 0,
                last: length.saturating_sub(1),
                total: length,
            },
            StatusCode::PARTIAL_CONTENT if asks_for_range => content_range(response)?,
            // A 206 that nobody asked for is a mistake of the server.
            _ => return None,
        };
        let validator = Validator::from_response(status, response);
        let validator = Self { range, validator };
        // A 206 whose `Content-Range` and `Content-Length` disagree proves nothing.
        (validator.length() == length).then_some(validator)
    }

    /// Returns the length of the body in bytes.
    pub(crate) fn length(&self) -> u64 {
        let before_last = self.range.last.saturating_sub(self.range.first);
        before_last.saturating_add(1)
    }

    /// Returns `true` if a response of this status is the whole file again instead of a part.
    pub(crate) fn is_whole_again(&self, status: StatusCode) -> bool {
        status == StatusCode::OK && self.range.last.saturating_add(1) < self.range.total
    }

    /// Returns `true` if the body can be resumed after bytes of it were handed out.
    pub(crate) fn is_proven(&self) -> bool {
        !matches!(self.validator, Validator::Nothing(_))
    }

    /// Makes the first request ask for unencoded bytes, unless the caller chose an encoding.
    pub fn prepare(headers: &mut HeaderMap) {
        if !headers.contains_key(ACCEPT_ENCODING) {
            let _ = headers.try_insert(ACCEPT_ENCODING, IDENTITY);
        }
    }

    /// Makes a request ask for the rest. Returns `false` if its headers have no room for that.
    #[must_use]
    pub(crate) fn ask(&self, received: u64, headers: &mut HeaderMap) -> bool {
        // The caller's own conditions could lead to a 304, which has no body.
        for name in [IF_NONE_MATCH, IF_MODIFIED_SINCE] {
            headers.remove(name);
        }
        let mut put = |name, value| headers.try_insert(name, value).is_ok();
        // Even over the caller's own coding: the first response was unencoded, and only the same bytes can continue it.
        let plain = put(ACCEPT_ENCODING, IDENTITY);
        let (Validator::Tag(value) | Validator::Date(value)) = &self.validator else {
            return plain;
        };
        let range = format!("bytes={}-{}", self.rest_start(received), self.range.last);
        let range = HeaderValue::try_from(range).is_ok_and(|range| put(RANGE, range));
        plain && range && put(IF_RANGE, value.clone())
    }

    /// Checks a response to that request. Returns the number of bytes to skip, the last of which were handed out before;
    /// `None` if nothing is left to read.
    pub(crate) fn check(
        &self,
        received: u64,
        status: StatusCode,
        headers: &HeaderMap,
    ) -> Result<Option<u64>, ResumeFailure> {
        let skip = match (&self.validator, status) {
            (Validator::Nothing(first), _) => self.check_restart(first, received, status, headers),
            (_, StatusCode::PARTIAL_CONTENT) => self.check_rest(received, headers),
            (_, StatusCode::OK) => self.check_whole(received, headers),
            // A safeguard only: a download that has all of its bytes sends no further request.
            (_, StatusCode::RANGE_NOT_SATISFIABLE) if self.is_complete(received, headers) => {
                return Ok(None);
            }
            (_, StatusCode::PRECONDITION_FAILED | StatusCode::RANGE_NOT_SATISFIABLE) => {
                Err(ResumeFailure::Changed)
            }
            _ => Err(ResumeFailure::HeadFailed),
        };
        skip.map(Some)
    }

    fn check_rest(&self, received: u64, headers: &HeaderMap) -> Result<u64, ResumeFailure> {
        let rest = ContentRange {
            first: self.rest_start(received),
            ..self.range
        };
        let length_fits = || {
            // Both are one less than the length, which may be `u64::MAX`.
            let expected = rest.last.saturating_sub(rest.first);
            let announced = length(headers).and_then(|length| length.checked_sub(1));
            !has_length(headers) || announced == Some(expected)
        };
        match () {
            () if !is_unencoded(headers) => Err(ResumeFailure::Encoded),
            () if !self.validator.holds(headers) => Err(ResumeFailure::Changed),
            () if is_multipart(headers)
                || content_range(headers) != Some(rest)
                || !length_fits() =>
            {
                Err(ResumeFailure::WrongRange)
            }
            () => Ok(overlap(received)),
        }
    }

    /// Checks the whole file, sent again instead of its rest. Only a strong tag proves that it has the same bytes,
    /// unless none were handed out.
    fn check_whole(&self, received: u64, headers: &HeaderMap) -> Result<u64, ResumeFailure> {
        let is_restart =
            received == 0 && self.range.first == 0 && self.length() == self.range.total;
        let has_same_bytes = matches!(self.validator, Validator::Tag(_)) || is_restart;
        match () {
            () if !self.validator.holds(headers) => Err(ResumeFailure::Changed),
            () if !is_unencoded(headers) => Err(ResumeFailure::Encoded),
            () if has_same_bytes && length(headers) == Some(self.range.total) => {
                Ok(self.range.first.saturating_add(received))
            }
            () => Err(ResumeFailure::RangeIgnored),
        }
    }

    /// Checks the response to a repetition of the first request, before any byte was handed out. It must match the
    /// parts of the first head that the caller has seen.
    fn check_restart(
        &self,
        first: &FirstHead,
        received: u64,
        status: StatusCode,
        headers: &HeaderMap,
    ) -> Result<u64, ResumeFailure> {
        let has_same_head = || {
            let mut names = COMPARED_HEADERS.iter();
            names.all(|name| headers.get_all(name) == first.headers.get_all(name))
        };
        match () {
            () if status != first.status => {
                if status.is_success() {
                    Err(ResumeFailure::Changed)
                } else {
                    Err(ResumeFailure::HeadFailed)
                }
            }
            () if !is_unencoded(headers) => Err(ResumeFailure::Encoded),
            () if received > 0 || length(headers) != Some(self.length()) || !has_same_head() => {
                Err(ResumeFailure::Changed)
            }
            () => Ok(0),
        }
    }

    fn is_complete(&self, received: u64, headers: &HeaderMap) -> bool {
        received == self.length() && refused_total(headers) == Some(self.range.total)
    }

    fn rest_start(&self, received: u64) -> u64 {
        let missing = self.range.first.saturating_add(received);
        missing.saturating_sub(overlap(received))
    }
}

impl Validator {
    fn from_response(status: StatusCode, headers: &HeaderMap) -> Self {
        // A date counts only if there is no tag at all (RFC 9110 section 13.1.5).
        let date = || settled_date(headers).filter(|_| !headers.contains_key(ETAG));
        if let Some(tag) = strong_tag(headers) {
            return Self::Tag(tag.clone());
        }
        if let Some(date) = date() {
            return Self::Date(date.clone());
        }
        let mut compared = HeaderMap::new();
        for (name, value) in COMPARED_HEADERS.iter().flat_map(|name| {
            let values = headers.get_all(name).iter();
            values.map(move |value| (name, value))
        }) {
            let _ = compared.try_append(name, value.clone());
        }
        Self::Nothing(Box::new(FirstHead {
            status,
            headers: compared,
        }))
    }

    fn holds(&self, headers: &HeaderMap) -> bool {
        match self {
            Self::Tag(tag) => one(headers, &ETAG) == Some(tag),
            Self::Date(date) => {
                !headers.contains_key(ETAG) && one(headers, &LAST_MODIFIED) == Some(date)
            }
            Self::Nothing(_) => false,
        }
    }
}

/// Returns the number of bytes handed out that are requested again.
fn overlap(received: u64) -> u64 {
    received.min(OVERLAP)
}

/// Returns `true` if a request asks for one range, and only once.
fn has_one_range(request: &HeaderMap) -> bool {
    let range = one(request, &RANGE);
    range.is_some_and(|range| !range.as_bytes().contains(&b','))
}

#[cfg(test)]
mod tests;
