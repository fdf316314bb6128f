//! Matching of requests to services and routes, and values by host pattern.

use super::RequestHead;
use crate::normal_form::{has_valid_port, matches_path};
use crate::policy::{is_host_like, without_port};
use http::{Method, Uri};
use std::borrow::Cow;
use std::collections::HashMap;

/// The conditions of a match. One item of each list must match; an empty list matches any request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Matching {
    pub(crate) hosts: Vec<String>,
    pub(crate) schemes: Vec<String>,
    pub(crate) paths: Vec<String>,
    pub(crate) methods: Vec<Method>,
}

/// The specificity of a match: its host (exact or not, and its length), the length of its path, and the number of other
/// conditions.
pub(super) type Rank = ((bool, usize), usize, u8);

impl Matching {
    /// Returns `true` if it matches every request.
    pub(crate) fn is_open(&self) -> bool {
        *self == Self::default()
    }

    /// Returns a normalized copy, so that the order and repetition of list items do not matter.
    pub(crate) fn in_order(&self) -> Self {
        fn sorted<T: Clone + PartialEq>(list: &[T], key: impl Fn(&T) -> &str) -> Vec<T> {
            let mut list = list.to_vec();
            list.sort_by(|one, other| key(one).cmp(key(other)));
            list.dedup();
            list
        }
        Self {
            hosts: sorted(&self.hosts, String::as_str),
            schemes: sorted(&self.schemes, String::as_str),
            paths: sorted(&self.paths, String::as_str),
            methods: sorted(&self.methods, Method::as_str),
        }
    }

    pub(super) fn holds(&self, head: &RequestHead<'_>) -> bool {
        self.rank(head).is_some()
    }

    /// Returns the specificity for a request, if it matches: an exact host before a pattern, a longer one before a
    /// shorter, then the longer path and the number of other conditions. For a list, the pattern that matched is used.
    pub(super) fn rank(&self, head: &RequestHead<'_>) -> Option<Rank> {
        let scheme = best(&self.schemes, |scheme| {
            (Some(scheme.as_str()) == head.scheme).then_some(1)
        })?;
        let method = best(&self.methods, |method| {
            (Some(method) == head.method).then_some(1)
        })?;
        let authority = head.authority.as_deref().unwrap_or_default();
        let host = best(&self.hosts, |host| {
            matches_authority(host, authority, head.scheme)
                .then(|| (!host.contains('*'), host.len()))
        })?;
        let path = best(&self.paths, |path| {
            matches_path(path, &head.path).then_some(path.len())
        })?;
        Some((host, path, u8::saturating_add(scheme, method)))
    }
}

/// Returns the highest rank among the items that match. An empty list matches with the lowest rank.
fn best<T, R: Ord + Default>(wanted: &[T], rank: impl Fn(&T) -> Option<R>) -> Option<R> {
    if wanted.is_empty() {
        Some(R::default())
    } else {
        wanted.iter().filter_map(rank).max()
    }
}

/// The form of a base URL, for error messages.
pub(crate) const BASE_URL: &str =
    "write http:// or https://, a host and perhaps a path, without user info, query and fragment";

/// Parses the base URL of a service.
pub(crate) fn base_url(text: &str) -> Option<Uri> {
    let uri: Option<Uri> = text.parse().ok().filter(|_| !text.contains('#'));
    uri.filter(|uri| {
        let at = uri.authority().map_or("", |authority| authority.as_str());
        let is_public = !at.contains('@') && has_valid_port(at);
        matches!(uri.scheme_str(), Some("http" | "https")) && is_public && uri.query().is_none()
    })
}

/// Returns `true` if an authority matches a pattern. A pattern without a port matches any port. A pattern with the
/// scheme's default port also matches authorities without one.
fn matches_authority(pattern: &str, authority: &str, scheme: Option<&str>) -> bool {
    let hosts = [without_port(authority), authority];
    let default_port = match scheme {
        Some("https") => ":443",
        Some("http") => ":80",
        _ => "",
    };
    let host = pattern.strip_suffix(default_port);
    hosts.iter().any(|host| is_host_like(pattern, host))
        || host.is_some_and(|host| is_host_like(host, authority))
}

/// Values by host pattern: an exact host such as `api.example.com`, or `*.example.com` for every host below one.
///
/// A lookup hashes the host and each of its suffixes, so its cost depends on the number of labels in the host, and not
/// on the number of patterns. Patterns and hosts are compared without regard to case, and as they are: a pattern with a
/// port matches only a host with the same port.
///
/// ```
/// use http_retry_core::adapter::HostMap;
///
/// let mut map = HostMap::default();
/// map.insert("*.example.com", "any");
/// map.insert("api.example.com", "api");
/// assert!(map.get("API.example.com").eq(&["api", "any"]));
/// assert!(map.get("eu.api.example.com").eq(&["any"]));
/// assert_eq!(map.get("example.com").next(), None);
/// ```
#[derive(Debug, Clone)]
pub struct HostMap<T> {
    exact: HashMap<Box<str>, Vec<T>>,
    /// The values of `*.example.com`, under `.example.com`.
    suffixes: HashMap<Box<str>, Vec<T>>,
    longest_suffix: usize,
}

impl<T> HostMap<T> {
    /// Adds a value for a pattern, after those that the pattern has already.
    pub fn insert(&mut self, pattern: &str, value: T) {
        let pattern = pattern.to_ascii_lowercase();
        let values = match pattern.strip_prefix('*') {
            Some(suffix) => {
                self.longest_suffix = self.longest_suffix.max(suffix.len());
                self.suffixes.entry(suffix.into())
            }
            None => self.exact.entry(pattern.into()),
        };
        values.or_default().push(value);
    }

    /// Returns the values of all patterns that match a host: those of the host itself first, then those of a longer
    /// suffix before those of a shorter one.
    pub fn get(&self, host: &str) -> impl Iterator<Item = &T> {
        let host = if host.bytes().any(|byte| byte.is_ascii_uppercase()) {
            Cow::Owned(host.to_ascii_lowercase())
        } else {
            Cow::Borrowed(host)
        };
        let exact = self.exact.get(&*host);
        // Longer suffixes are not in the map. Without this bound, a host of many labels would take quadratic time.
        let first = host.len().saturating_sub(self.longest_suffix).max(1);
        let suffixes = (first..host.len()).filter_map(move |start| {
            let suffix = host.get(start..).filter(|suffix| suffix.starts_with('.'))?;
            self.suffixes.get(suffix)
        });
        exact.into_iter().chain(suffixes).flatten()
    }
}

impl<T> Default for HostMap<T> {
    fn default() -> Self {
        Self {
            exact: HashMap::new(),
            suffixes: HashMap::new(),
            longest_suffix: 0,
        }
    }
}

#[cfg(test)]
mod tests;
