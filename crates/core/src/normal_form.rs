//! The normal form of hosts and paths.
//!
//! Services, rules, dialects by host, gates and budgets compare normal forms, so another spelling of a URI does not
//! escape them. The request itself is sent as it was written.
//!
//! # Source
//!
//! RFC 3986 sections 6.2.2 (case, percent-encoding, dot segments) and 6.2.3 (ports). Then consecutive slashes count as
//! one, and a final dot of the host is left out: most servers and resolvers agree. A path keeps its final slash, since
//! failovers send it, but patterns match with and without it: many servers route both to one handler.

use http::Uri;
use std::borrow::Cow;
use std::fmt::Write;
use std::net::Ipv6Addr;

/// Returns the normal form of a path: percent-encoded only where a byte may not stand as it is, in upper case, and
/// without dot segments and empty segments. A path that does not begin with a slash is returned as it is.
#[must_use]
#[inline]
pub(crate) fn normal_path(path: &str) -> Cow<'_, str> {
    if is_plain_path(path.as_bytes()) || !path.starts_with('/') {
        Cow::Borrowed(path)
    } else {
        rewritten_path(path)
    }
}

/// Returns the normal form of an authority: host and port in lower case, without user info, a final dot of the host and
/// the scheme's default port.
#[must_use]
pub(crate) fn normal_authority<'a>(authority: &'a str, scheme: Option<&str>) -> Cow<'a, str> {
    if authority.contains('%') || !authority.is_ascii() {
        rewritten_authority(authority, scheme)
    } else {
        authority_of_uri(authority, || scheme)
    }
}

/// Like [`normal_authority`], for the authority of an `http::Uri`, whose host has no percent-encoding. Asks for the
/// scheme only if it matters.
#[inline]
pub(crate) fn authority_of_uri<'a, 's>(
    authority: &'a str,
    scheme: impl FnOnce() -> Option<&'s str>,
) -> Cow<'a, str> {
    if is_plain_authority(authority.as_bytes()) {
        Cow::Borrowed(authority)
    } else {
        rewritten_authority(authority, scheme())
    }
}

/// Returns host and port of a URI, or else of `host`, in their normal form: in lower case, without user info, a final
/// dot of the host and a default port.
#[inline]
pub fn public_authority<'a>(
    uri: &'a Uri,
    host: impl FnOnce() -> Option<&'a str>,
) -> Option<Cow<'a, str>> {
    match uri.authority() {
        Some(authority) => Some(authority_of_uri(authority.as_str(), || uri.scheme_str())),
        None => host().map(|host| normal_authority(host, uri.scheme_str())),
    }
}

/// Returns the normal form of an authority that the crate `url` has parsed: in lower case, and without user info and a
/// default port. Asks for the scheme only if it matters.
#[inline]
pub fn authority_of_url<'a, 's>(
    authority: &'a str,
    scheme: impl FnOnce() -> &'s str,
) -> Cow<'a, str> {
    if has_plain_end(authority.as_bytes()) {
        Cow::Borrowed(authority)
    } else {
        normal_authority(authority, Some(scheme()))
    }
}

/// Returns a scheme in lower case, if it is `http` or `https`.
#[inline]
pub(crate) fn normal_scheme(scheme: &str) -> &str {
    match scheme.len() {
        4 if scheme.eq_ignore_ascii_case("http") => "http",
        5 if scheme.eq_ignore_ascii_case("https") => "https",
        _ => scheme,
    }
}

/// Returns an authority without its port, if it has one.
pub(crate) fn without_port(authority: &str) -> &str {
    // In an IPv6 address without a port, `[::1]`, the last colon is not followed by digits alone.
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

/// Returns the default port of a scheme in its normal form, or an empty text if none is known.
pub(crate) fn default_port(scheme: Option<&str>) -> &'static str {
    match scheme {
        Some("http") => "80",
        Some("https") => "443",
        _ => "",
    }
}

/// Returns `true` if a path matches a pattern, both in their normal form. A final slash of the path does not matter,
/// and `/v1/*` also matches `/v1`.
pub(crate) fn matches_path(pattern: &str, path: &str) -> bool {
    let is_whole = |path: &str| pattern.strip_suffix("/*") == Some(path);
    let matches = |path: &str| matches_glob(pattern, path) || is_whole(path);
    matches(path) || path.strip_suffix('/').is_some_and(matches)
}

/// Returns `true` if a text matches a pattern in which `*` matches anything.
fn matches_glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let Some(last) = pattern.contains('*').then(|| parts.next_back()).flatten() else {
        return rest.is_empty();
    };
    // The first occurrence of each part leaves the most text for the rest, so no other need be tried.
    for part in parts {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Returns the normal form of a pattern for paths, in which `*` matches any text. It has no final slash, which does not
/// matter where a path is matched.
///
/// # Errors
///
/// The form that a pattern must have, if no path matches this one: it begins with neither a slash nor `*`, has a query
/// or a fragment, or leaves a `*` by `..`.
pub fn path_pattern(pattern: &str) -> Result<String, &'static str> {
    if !pattern.starts_with(['/', '*']) || pattern.contains(['?', '#']) {
        return Err("a path: write /v1/*");
    }
    let pattern = encoded(pattern, is_path_byte);
    let (start, segments) = pattern.split_once('/').unwrap_or((&pattern, ""));
    if start.len() == pattern.len() {
        return Ok(pattern.into_owned());
    }
    let path = resolved(start, segments, |segment| segment.contains('*'));
    let mut path = path.ok_or("a path that a request can have: leave out the .. behind a *")?;
    if path.len() > 1 && path.ends_with('/') {
        path.pop();
    }
    Ok(path)
}

/// Returns the normal form of a pattern for hosts: a host, optionally with a port, and optionally with a `*` for its
/// first labels.
///
/// # Errors
///
/// The form that a pattern must have, if no host matches this one.
pub fn host_pattern(pattern: &str) -> Result<String, &'static str> {
    if !pattern.is_ascii() {
        return Err("a host that a request can have: write other alphabets as xn--..");
    }
    let host = pattern.strip_prefix("*.").unwrap_or(pattern);
    let star = if host.len() < pattern.len() { "*." } else { "" };
    let fits = host.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[')
        && host
            .chars()
            .all(|c| c.is_ascii_graphic() && !"/@?#*\"<>\\^`{|}".contains(c))
        && has_valid_port(host);
    if fits {
        Ok(format!("{star}{}", normal_authority(host, None)))
    } else {
        Err("a host: write api.example.com or *.example.com")
    }
}

/// Returns a scheme in its normal form.
///
/// # Errors
///
/// The form that a scheme must have, if it is neither `http` nor `https`.
pub fn scheme_pattern(scheme: &str) -> Result<String, &'static str> {
    match normal_scheme(scheme) {
        scheme @ ("http" | "https") => Ok(scheme.to_owned()),
        _ => Err("a scheme: write http or https"),
    }
}

/// Parses the base URL of a service.
///
/// # Errors
///
/// The form that a base URL must have: it is not `http` or `https`, has user info, a query or a fragment, or names no
/// port that a server can have.
pub fn base_url(text: &str) -> Result<Uri, &'static str> {
    const BASE_URL: &str = "write http:// or https://, a host and perhaps a path, without user info, query and fragment";
    let uri: Option<Uri> = text.parse().ok().filter(|_| !text.contains('#'));
    let is_base = |uri: &Uri| {
        let at = uri.authority().map_or("", |authority| authority.as_str());
        let is_public = !at.contains('@') && has_valid_port(at);
        matches!(uri.scheme_str(), Some("http" | "https")) && is_public && uri.query().is_none()
    };
    uri.filter(is_base).ok_or(BASE_URL)
}

/// Returns `true` if a host is followed by a port from 1 to 65535, or by nothing.
fn has_valid_port(host: &str) -> bool {
    // An IPv6 address has colons of its own, inside brackets.
    let behind = match host.strip_prefix('[') {
        Some(address) => address.split_once(']').map(|(_, behind)| behind),
        None => host.find(':').and_then(|at| host.get(at..)).or(Some("")),
    };
    match behind.map(|behind| behind.strip_prefix(':').ok_or(behind)) {
        Some(Ok(port)) => {
            let digits = port.bytes().all(|byte| byte.is_ascii_digit());
            digits && port.parse::<u16>().is_ok_and(|port| port > 0)
        }
        Some(Err(behind)) => behind.is_empty(),
        None => false,
    }
}

/// Returns `true` if an authority of ASCII is in its normal form, and has neither a port that may be a default nor an
/// IPv6 address. Most are, and each call asks, so the usual lengths take no loop.
#[inline(always)]
fn is_plain_authority(authority: &[u8]) -> bool {
    match (authority.first_chunk(), authority.last_chunk()) {
        (Some(first), Some(last)) if authority.len() <= 16 => {
            let marked = mark_oddities(*first) | mark_oddities(*last);
            marked & each(0x80) == 0 && has_plain_end(authority)
        }
        _ => is_plain_by_byte(authority),
    }
}

#[inline(never)]
fn is_plain_by_byte(authority: &[u8]) -> bool {
    let is_odd = |byte: &u8| (b'@'..=b'[').contains(byte);
    !authority.iter().any(is_odd) && has_plain_end(authority)
}

/// Marks the bytes from `@` to `[` in their upper bits: what user info, capitals and an IPv6 address have.
#[inline(always)]
fn mark_oddities(bytes: [u8; 8]) -> u64 {
    let word = u64::from_le_bytes(bytes);
    let at_least = word.wrapping_add(each(0x80 - b'@'));
    let above = word.wrapping_add(each(0x80 - b'[' - 1));
    at_least & !above
}

#[inline(always)]
const fn each(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// Returns `true` if a host ends without a dot and, if a port follows, that is no default and has no leading zero.
#[inline(always)]
fn has_plain_end(authority: &[u8]) -> bool {
    match authority {
        [.., end] if !end.is_ascii_digit() => !matches!(end, b'.' | b':'),
        [.., host, b':', port, _, _, _] | [.., host, b':', port, _, _, _, _] => {
            *host != b'.' && *port != b'0'
        }
        [.., b':', b'8', b'0'] | [.., b':', b'4', b'4', b'3'] => false,
        [.., host, b':', port, _, _] | [.., host, b':', port, _] | [.., host, b':', port] => {
            *host != b'.' && *port != b'0'
        }
        _ => !has_long_port(authority),
    }
}

/// Returns `true` if a text may end in a port of more than five digits.
#[inline(never)]
fn has_long_port(authority: &[u8]) -> bool {
    let last = authority.last_chunk::<6>();
    last.is_some_and(|last| last.iter().all(u8::is_ascii_digit))
}

/// Returns `true` if a path is in its normal form and has no percent-encoding, as most are.
#[inline]
fn is_plain_path(path: &[u8]) -> bool {
    let mut after_slash = false;
    let mut plain = true;
    for byte in path {
        let is_slash = *byte == b'/';
        plain &= is_path_byte(*byte) | is_slash;
        plain &= !(after_slash & (is_slash | (*byte == b'.')));
        after_slash = is_slash;
    }
    plain
}

#[cold]
#[inline(never)]
fn rewritten_authority<'a>(authority: &'a str, scheme: Option<&str>) -> Cow<'a, str> {
    let (_, public) = authority.rsplit_once('@').unwrap_or(("", authority));
    let written = without_port(public);
    let port = public.get(written.len()..).unwrap_or_default();
    let port = port.trim_start_matches([':', '0']);
    let default = default_port(scheme.map(normal_scheme));
    let host = normal_host(written);
    let has_port = port != default && !port.is_empty();
    match host {
        Cow::Borrowed(host) if !has_port => Cow::Borrowed(host),
        Cow::Borrowed(host)
            if public.len() == host.len().saturating_add(1).saturating_add(port.len()) =>
        {
            Cow::Borrowed(public)
        }
        host if has_port => Cow::Owned(format!("{host}:{port}")),
        host => host,
    }
}

/// Returns the normal form of a host without a port.
fn normal_host(host: &str) -> Cow<'_, str> {
    let address = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    if let Some(address) = address.and_then(|address| address.parse::<Ipv6Addr>().ok()) {
        return Cow::Owned(format!("[{address}]"));
    }
    let name = encoded(host, |byte| byte.is_ascii());
    let is_lower = !name.bytes().any(|byte| byte.is_ascii_uppercase());
    let end = name.trim_end_matches('.').len();
    // A host of dots alone is no name.
    let end = if end == 0 { name.len() } else { end };
    match name {
        Cow::Borrowed(name) if is_lower => Cow::Borrowed(name.get(..end).unwrap_or(name)),
        name => Cow::Owned(name.get(..end).unwrap_or(&name).to_ascii_lowercase()),
    }
}

#[cold]
#[inline(never)]
fn rewritten_path(path: &str) -> Cow<'_, str> {
    let encoded = encoded(path, is_path_byte);
    let mut segments = encoded.split('/').skip(1).peekable();
    let is_resolved = std::iter::from_fn(|| Some((segments.next()?, segments.peek().is_none())));
    let is_resolved = is_resolved.map(|(segment, is_last)| match segment {
        "" => is_last,
        "." | ".." => false,
        _ => true,
    });
    if is_resolved.fold(true, |all, one| all & one) {
        return encoded;
    }
    let below = encoded.strip_prefix('/').unwrap_or(&encoded);
    Cow::Owned(resolved("", below, |_| false).unwrap_or_default())
}

/// Joins the segments of a path below `start`: carries out the dot segments, for which an empty segment is one too, and
/// then leaves the empty ones out. Returns `None` if `..` leads out of a segment that must not be left.
fn resolved(start: &str, segments: &str, is_final: impl Fn(&str) -> bool) -> Option<String> {
    let mut path = start.to_owned();
    let mut segments = segments.split('/').peekable();
    while let Some(segment) = segments.next() {
        match segment {
            "." => {}
            ".." => {
                let parent = path.rfind('/').unwrap_or_default();
                if path.get(parent..).is_some_and(&is_final) {
                    return None;
                }
                path.truncate(parent);
            }
            _ => {
                path.push('/');
                path.push_str(segment);
                continue;
            }
        }
        // A path that ends with a dot segment names a folder.
        if segments.peek().is_none() {
            path.push('/');
        }
    }
    let mut normal = String::with_capacity(path.len());
    for letter in path.chars() {
        if letter != '/' || !normal.ends_with('/') {
            normal.push(letter);
        }
    }
    Some(normal)
}

/// A byte of a text, and how it is written there: as it is, or percent-encoded.
#[derive(Clone, Copy)]
struct Written<'a> {
    byte: u8,
    bytes: &'a [u8],
}

impl Written<'_> {
    fn is_encoded(self) -> bool {
        self.bytes.len() > 1
    }

    /// Returns `true` if the byte stands as it is in the normal form. A `%` that begins no escape is one itself.
    fn stands(self, may_stand: fn(u8) -> bool) -> bool {
        if self.is_encoded() {
            is_unreserved(self.byte)
        } else {
            self.byte != b'%' && may_stand(self.byte)
        }
    }

    fn is_normal(self, may_stand: fn(u8) -> bool) -> bool {
        let has_lower_case = self.bytes.iter().any(u8::is_ascii_lowercase);
        self.stands(may_stand) != self.is_encoded() && !(self.is_encoded() && has_lower_case)
    }
}

/// Returns the bytes of a text. An incomplete escape is read as its single bytes.
fn written(text: &str) -> impl Iterator<Item = Written<'_>> {
    let digit = |byte: u8| {
        char::from(byte)
            .to_digit(16)
            .and_then(|digit| u8::try_from(digit).ok())
    };
    let mut rest = text.as_bytes();
    std::iter::from_fn(move || {
        let escaped = match rest {
            [b'%', high, low, ..] => digit(*high).zip(digit(*low)),
            _ => None,
        };
        let length = if escaped.is_some() { 3 } else { 1 };
        let (bytes, behind) = rest.split_at_checked(length)?;
        rest = behind;
        let byte = match escaped {
            Some((high, low)) => (high << 4) | low,
            None => *bytes.first()?,
        };
        Some(Written { byte, bytes })
    })
}

/// Decodes the unreserved characters of a text, and percent-encodes the bytes that may not stand in it.
#[inline(never)]
fn encoded(text: &str, may_stand: fn(u8) -> bool) -> Cow<'_, str> {
    if written(text).all(|byte| byte.is_normal(may_stand)) {
        return Cow::Borrowed(text);
    }
    let mut normal = String::with_capacity(text.len());
    for written in written(text) {
        if written.stands(may_stand) {
            normal.push(char::from(written.byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(normal, "%{:02X}", written.byte);
        }
    }
    Cow::Owned(normal)
}

/// Source: RFC 3986 section 2.3.
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Returns `true` for a byte that may stand in a path as it is, a slash included. Source: RFC 3986 section 3.3.
fn is_path_byte(byte: u8) -> bool {
    is_unreserved(byte)
        || matches!(
            byte,
            b'/' | b':'
                | b'@'
                | b'!'
                | b'$'
                | b'&'
                | b'\''
                | b'('
                | b')'
                | b'*'
                | b'+'
                | b','
                | b';'
                | b'='
        )
}

#[cfg(test)]
mod tests;
