//! Headers that frame a message or belong to its connection.

use super::rules::{CannedResponse, OnExhausted};
use super::settings::Settings;
use crate::error::ConfigError;
use crate::server_hints::name_of;
use http::header::{CONTENT_LENGTH, TRAILER, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use std::borrow::Cow;

/// Headers that only a client sets, since it knows the message and the connection.
///
/// `host` is not among them: it names the target, like the URI, and a gateway may need another one. Nor are `expect`
/// and `content-encoding`, which do not say where a message ends.
///
/// # Source
///
/// Framing: RFC 9110 section 8.6 (`content-length`) and RFC 9112 section 6.1 (`transfer-encoding`). The connection: RFC
/// 9110 sections 7.6.1 (`connection` and the fields that it would have to list: `te`, `keep-alive`,
/// `proxy-connection`), 7.8 (`upgrade`) and 10.1.4 (`te`); RFC 9113 section 8.2.2 makes a request with most of them
/// malformed. `trailer` (RFC 9110 section 6.6.2) announces fields that follow the body, which only its maker knows.
const CLIENT_HEADERS: [&str; 8] = [
    "content-length",
    "transfer-encoding",
    "trailer",
    "te",
    "connection",
    "keep-alive",
    "proxy-connection",
    "upgrade",
];

/// The reason for refusing a header that only a client sets.
pub const CLIENT_HEADER: &str =
    "only the client sets headers that frame a message or belong to its connection";

/// Returns `true` if a header frames a message or belongs to its connection, so that only the client sets it.
#[must_use]
pub fn is_client_header(name: &HeaderName) -> bool {
    CLIENT_HEADERS.contains(&name_of(name))
}

/// Adjusts the headers of a request to a body of this length, which has replaced the one that they were made for.
///
/// A request without room for another header goes without a length; its client then adds one.
pub(crate) fn frame_body(headers: &mut HeaderMap, length: usize) {
    for name in [TRANSFER_ENCODING, TRAILER] {
        headers.remove(name);
    }
    set_header(headers, CONTENT_LENGTH, HeaderValue::from(length));
}

/// Sets the only value of a header. Returns `false` if there was no room for it; an earlier value is gone then too.
#[inline(never)]
pub(crate) fn set_header(headers: &mut HeaderMap, name: HeaderName, value: HeaderValue) -> bool {
    headers.remove(&name);
    headers.try_insert(name, value).is_ok()
}

pub(super) fn check_set_headers(
    field: impl Into<Cow<'static, str>>,
    headers: &HeaderMap,
) -> Result<(), ConfigError> {
    match headers.keys().find(|name| is_client_header(name)) {
        Some(name) => Err(ConfigError::new(field, name, CLIENT_HEADER)),
        None => Ok(()),
    }
}

impl CannedResponse {
    /// Checks that its headers fit its body; [`RetryPolicyBuilder::build`](crate::RetryPolicyBuilder::build) does so
    /// too.
    ///
    /// # Errors
    ///
    /// The first setting that makes it no response: a status that is not 200 to 599, a body with a status that has none
    /// (204, 205 and 304), a `content-length` that is not the length of the body, or another header that only a client
    /// sets.
    pub fn check(&self) -> Result<(), ConfigError> {
        let Self {
            status,
            headers,
            body,
        } = self;
        let refuse = |field: &'static str, given: &str, allowed: String| {
            Err(ConfigError::new(
                format!("on_exhausted.respond.{field}"),
                given,
                allowed,
            ))
        };
        let code = status.as_u16();
        if !(200..600).contains(&code) {
            return refuse("status", status.as_str(), "must be 200 to 599".to_owned());
        }
        if WITHOUT_BODY.contains(status) && !body.is_empty() {
            let allowed = format!("a response with status {code} has none");
            return refuse("body", "a body", allowed);
        }
        let mut names = headers.keys().filter(|name| **name != CONTENT_LENGTH);
        if let Some(name) = names.find(|name| is_client_header(name)) {
            return refuse("headers", name.as_str(), CLIENT_HEADER.to_owned());
        }
        let length = body.len();
        let mut lengths = headers.get_all(CONTENT_LENGTH).iter();
        let is_wrong = |value: &HeaderValue| value.as_bytes() != length.to_string().as_bytes();
        if lengths.next().is_some_and(is_wrong) || lengths.next().is_some() {
            let allowed = format!("must be {length} once, the length of the body, or be left out");
            return refuse("headers", "this content-length", allowed);
        }
        Ok(())
    }
}

/// Statuses whose responses have no content (RFC 9110 sections 15.3.5, 15.3.6 and 15.4.5).
const WITHOUT_BODY: [StatusCode; 3] = [
    StatusCode::NO_CONTENT,
    StatusCode::RESET_CONTENT,
    StatusCode::NOT_MODIFIED,
];

impl Settings {
    /// Refuses settings that frame a message.
    pub(super) fn check_framing(&self) -> Result<(), ConfigError> {
        match &self.classifiers.key_header {
            Some(name) if is_client_header(name) => {
                return Err(ConfigError::new("key_header", name, CLIENT_HEADER));
            }
            _ => {}
        }
        match &self.rules.on_exhausted {
            OnExhausted::Respond(canned) => canned.check(),
            OnExhausted::Failover { set: Some(set), .. } => {
                check_set_headers("on_exhausted.failover.headers", set)
            }
            _ => Ok(()),
        }
    }
}
