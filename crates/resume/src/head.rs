//! Strict readings of a response's head: a header that occurs twice or is malformed does not count.

use http::header::{
    CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, DATE, ETAG, LAST_MODIFIED,
    TRANSFER_ENCODING,
};
use http::{HeaderMap, HeaderName, HeaderValue};
use std::time::{Duration, SystemTime};

/// `bytes first-last/total`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ContentRange {
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) total: u64,
}

/// The minimum age of a `Last-Modified`, by the response's own `Date`. A file that changed later may have changed twice
/// under one date.
///
/// RFC 9110 section 8.8.2.2 requires one second, and clocks that can be trusted; 60 s tolerate clocks that differ.
const STRONG_DATE_AGE: Duration = Duration::from_secs(60);

/// Returns the value of a header that occurs exactly once.
pub(super) fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a HeaderValue> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?;
    all.next().is_none().then_some(first)
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    one(headers, name)?.to_str().ok().map(str::trim)
}

/// Parses a number that consists of digits only.
fn number(text: &str) -> Option<u64> {
    // `parse` alone would accept a leading `+`.
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

pub(super) fn length(headers: &HeaderMap) -> Option<u64> {
    let framed = has_length(headers).then_some(headers)?;
    number(text(framed, &CONTENT_LENGTH)?)
}

/// Returns `true` if a head states its body's length. With a chunked body no length counts (RFC 9112 section 6.3).
pub(super) fn has_length(headers: &HeaderMap) -> bool {
    headers.contains_key(CONTENT_LENGTH) && !headers.contains_key(TRANSFER_ENCODING)
}

/// Returns `true` if the bytes are those of the file itself.
pub(super) fn is_unencoded(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(CONTENT_ENCODING).iter();
    codings.all(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// Returns `true` if the body holds several ranges, each with a head of its own.
pub(super) fn is_multipart(headers: &HeaderMap) -> bool {
    const MULTIPART_RANGES: &[u8] = b"multipart/byteranges";
    let mut types = headers.get_all(CONTENT_TYPE).iter();
    types.any(|kind| {
        let start = kind
            .as_bytes()
            .trim_ascii_start()
            .get(..MULTIPART_RANGES.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(MULTIPART_RANGES))
    })
}

pub(super) fn content_range(headers: &HeaderMap) -> Option<ContentRange> {
    let (unit, range) = text(headers, &CONTENT_RANGE)?.split_once(' ')?;
    let (range, total) = range.trim().split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last, total) = (number(first)?, number(last)?, number(total)?);
    let ordered = first <= last && last < total;
    let known = unit.eq_ignore_ascii_case("bytes") && ordered;
    known.then_some(ContentRange { first, last, total })
}

/// Returns the total in the refusal of a range: `bytes */total`.
pub(super) fn refused_total(headers: &HeaderMap) -> Option<u64> {
    number(text(headers, &CONTENT_RANGE)?.strip_prefix("bytes */")?)
}

/// Returns the strong tag of a response, which changes with each of its bytes.
///
/// RFC 9110 section 8.8.3: it is quoted, and has no `W/`.
pub(super) fn strong_tag(headers: &HeaderMap) -> Option<&HeaderValue> {
    let tag = one(headers, &ETAG)?;
    let inner = tag.as_bytes().strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    (!inner.contains(&b'"')).then_some(tag)
}

/// Returns `Last-Modified`, if the file cannot have changed again within the same second.
pub(super) fn settled_date(headers: &HeaderMap) -> Option<&HeaderValue> {
    let date =
        |name| -> Option<SystemTime> { httpdate::parse_http_date(text(headers, name)?).ok() };
    let age = date(&DATE)?.duration_since(date(&LAST_MODIFIED)?).ok()?;
    one(headers, &LAST_MODIFIED).filter(|_| age >= STRONG_DATE_AGE)
}
