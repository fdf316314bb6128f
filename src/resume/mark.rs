//! The validator of a download: the range and the tag or date of the first response, against which every later one is
//! checked. It does no I/O.
//!
//! # Source
//!
//! RFC 9110 sections 8.8 (validators), 13.1.5 (`If-Range`) and 14 (ranges).

use super::head::{
    ContentRange, content_range, has_length, is_multipart, is_unencoded, length, one,
    refused_total, settled_date, strong_tag,
};
use crate::policy::ResumeFailure;
use http::header::{
    ACCEPT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE,
    LAST_MODIFIED, RANGE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};

/// The number of bytes already handed out that are requested again and compared.
pub(super) const OVERLAP: u64 = 1024;

/// The range of a download, and the proof that later bytes belong to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResumeValidator {
    range: ContentRange,
    proof: Validator,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Validator {
    /// A strong `ETag`.
    Tag(HeaderValue),
    /// The date of a change that lies far enough back.
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

/// The verdict on a response to the request for the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RangeCheck {
    /// Read on, and skip this many bytes; the last of them were handed out before.
    Go {
        skip: u64,
    },
    /// Nothing is left to read.
    Done,
    No(ResumeFailure),
}

const IDENTITY: HeaderValue = HeaderValue::from_static("identity");

/// The headers that must be equal if there is no validator.
const TOLD: [HeaderName; 4] = [CONTENT_TYPE, CONTENT_RANGE, ETAG, LAST_MODIFIED];

impl ResumeValidator {
    /// Creates the validator of a request and the head of its response. Returns `None` if the body is not to be
    /// resumed.
    pub(crate) fn of(
        (method, asked): (&Method, &HeaderMap),
        (status, told): (StatusCode, &HeaderMap),
    ) -> Option<Self> {
        let asked = asked_range(asked)?;
        let length = length(told).filter(|length| *length > 0)?;
        if method != Method::GET || !is_unencoded(told) || is_multipart(told) {
            return None;
        }
        let range = match status {
            StatusCode::OK => ContentRange {
                first: 0,
                last: length.saturating_sub(1),
                total: length,
            },
            StatusCode::PARTIAL_CONTENT if asked == RequestedRange::Range => content_range(told)?,
            _ => return None,
        };
        let proof = Validator::of(status, told);
        let mark = Self { range, proof };
        // A 206 whose `Content-Range` and `Content-Length` disagree proves nothing.
        (mark.length() == length).then_some(mark)
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

    /// Returns `true` if the body can be resumed once bytes of it were handed out.
    pub(crate) fn is_proven(&self) -> bool {
        !matches!(self.proof, Validator::Nothing(_))
    }

    /// Makes the first request ask for unencoded bytes, unless the caller chose an encoding.
    pub(crate) fn prepare(headers: &mut HeaderMap) {
        if !headers.contains_key(ACCEPT_ENCODING) {
            let _ = headers.try_insert(ACCEPT_ENCODING, IDENTITY);
        }
    }

    /// Makes a request ask for the rest. Returns `false` if its headers have no room for that.
    #[must_use]
    pub(crate) fn ask(&self, got: u64, headers: &mut HeaderMap) -> bool {
        // The caller's own conditions could lead to a 304, which has no body.
        for name in [IF_NONE_MATCH, IF_MODIFIED_SINCE] {
            headers.remove(name);
        }
        let mut put = |name, value| headers.try_insert(name, value).is_ok();
        let plain = put(ACCEPT_ENCODING, IDENTITY);
        let (Validator::Tag(proof) | Validator::Date(proof)) = &self.proof else {
            return plain;
        };
        let range = format!("bytes={}-{}", self.asked_from(got), self.range.last);
        let range = HeaderValue::try_from(range).is_ok_and(|range| put(RANGE, range));
        plain && range && put(IF_RANGE, proof.clone())
    }

    /// Judges a response to that request.
    pub(crate) fn check(&self, got: u64, status: StatusCode, told: &HeaderMap) -> RangeCheck {
        if let Validator::Nothing(first) = &self.proof {
            return self.check_anew(first, got, status, told);
        }
        match status {
            StatusCode::PARTIAL_CONTENT => self.check_rest(got, told),
            StatusCode::OK => self.check_whole(got, told),
            StatusCode::RANGE_NOT_SATISFIABLE if self.is_complete(got, told) => RangeCheck::Done,
            StatusCode::PRECONDITION_FAILED | StatusCode::RANGE_NOT_SATISFIABLE => {
                RangeCheck::No(ResumeFailure::Changed)
            }
            _ => RangeCheck::No(ResumeFailure::HeadFailed),
        }
    }

    fn check_rest(&self, got: u64, told: &HeaderMap) -> RangeCheck {
        let rest = ContentRange {
            first: self.asked_from(got),
            ..self.range
        };
        let length_fits = || {
            let least = rest.last.saturating_sub(rest.first);
            let told_length = length(told).and_then(|length| length.checked_sub(1));
            !has_length(told) || told_length == Some(least)
        };
        match () {
            () if !is_unencoded(told) => RangeCheck::No(ResumeFailure::Encoded),
            () if !self.proof.holds(told) => RangeCheck::No(ResumeFailure::Changed),
            () if is_multipart(told) || content_range(told) != Some(rest) || !length_fits() => {
                RangeCheck::No(ResumeFailure::WrongRange)
            }
            () => RangeCheck::Go { skip: overlap(got) },
        }
    }

    /// Checks the whole file sent again. It has the same bytes only under the same strong tag, unless none were handed
    /// out.
    fn check_whole(&self, got: u64, told: &HeaderMap) -> RangeCheck {
        let anew = got == 0 && self.range.first == 0 && self.length() == self.range.total;
        let same = matches!(self.proof, Validator::Tag(_)) || anew;
        match () {
            () if !self.proof.holds(told) => RangeCheck::No(ResumeFailure::Changed),
            () if !is_unencoded(told) => RangeCheck::No(ResumeFailure::Encoded),
            () if same && length(told) == Some(self.range.total) => RangeCheck::Go {
                skip: self.range.first.saturating_add(got),
            },
            () => RangeCheck::No(ResumeFailure::RangeIgnored),
        }
    }

    /// Checks a response to the same request again, after no byte was handed out: it must match the parts of the first
    /// head that the caller saw.
    fn check_anew(
        &self,
        first: &FirstHead,
        got: u64,
        status: StatusCode,
        told: &HeaderMap,
    ) -> RangeCheck {
        let same = || {
            let mut values = TOLD.iter();
            values.all(|name| told.get_all(name) == first.headers.get_all(name))
        };
        match () {
            () if status != first.status => {
                if status.is_success() {
                    RangeCheck::No(ResumeFailure::Changed)
                } else {
                    RangeCheck::No(ResumeFailure::HeadFailed)
                }
            }
            () if !is_unencoded(told) => RangeCheck::No(ResumeFailure::Encoded),
            () if got > 0 || length(told) != Some(self.length()) || !same() => {
                RangeCheck::No(ResumeFailure::Changed)
            }
            () => RangeCheck::Go { skip: 0 },
        }
    }

    fn is_complete(&self, got: u64, told: &HeaderMap) -> bool {
        got == self.length() && refused_total(told) == Some(self.range.total)
    }

    fn asked_from(&self, got: u64) -> u64 {
        let missing = self.range.first.saturating_add(got);
        missing.saturating_sub(overlap(got))
    }
}

impl Validator {
    fn of(status: StatusCode, told: &HeaderMap) -> Self {
        // A date counts only if there is no tag at all (RFC 9110 section 13.1.5).
        let date = || settled_date(told).filter(|_| !told.contains_key(ETAG));
        if let Some(tag) = strong_tag(told) {
            return Self::Tag(tag.clone());
        }
        if let Some(date) = date() {
            return Self::Date(date.clone());
        }
        let mut headers = HeaderMap::new();
        for (name, value) in TOLD.iter().flat_map(|name| {
            let values = told.get_all(name).iter();
            values.map(move |value| (name, value))
        }) {
            let _ = headers.try_append(name, value.clone());
        }
        Self::Nothing(Box::new(FirstHead { status, headers }))
    }

    fn holds(&self, told: &HeaderMap) -> bool {
        match self {
            Self::Tag(tag) => one(told, &ETAG) == Some(tag),
            Self::Date(date) => !told.contains_key(ETAG) && one(told, &LAST_MODIFIED) == Some(date),
            Self::Nothing(_) => false,
        }
    }
}

/// Returns the number of bytes handed out that are requested again.
fn overlap(got: u64) -> u64 {
    got.min(OVERLAP)
}

/// The range that a request itself asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RequestedRange {
    Whole,
    Range,
}

/// Returns the range that a request asks for, or `None` if it asks for several ranges, or more than once.
fn asked_range(asked: &HeaderMap) -> Option<RequestedRange> {
    if !asked.contains_key(RANGE) {
        return Some(RequestedRange::Whole);
    }
    let range = one(asked, &RANGE)?;
    (!range.as_bytes().contains(&b',')).then_some(RequestedRange::Range)
}

#[cfg(test)]
mod tests;
