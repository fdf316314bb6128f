//! Which requests belong to a service or a route.

use super::RequestHead;
use crate::policy::rules::matches_glob;
use crate::policy::{is_host_like, without_port};
use http::{Method, Uri};

/// What a request must be like; a list means "one of", and what is not given is open.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Matching {
    pub(crate) hosts: Vec<String>,
    pub(crate) schemes: Vec<String>,
    pub(crate) paths: Vec<String>,
    pub(crate) methods: Vec<Method>,
}

/// How much a match says: of the host, whether it is exact and how long it is, of the path how long it is, and how much else.
pub(super) type Rank = ((bool, usize), usize, u8);

impl Matching {
    /// Whether it takes every request.
    pub(crate) fn is_open(&self) -> bool {
        *self == Self::default()
    }

    /// The same for every match that takes the same requests, as far as its words tell.
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

    /// How much it says of a request, if it takes it: an exact host is more than a pattern, a longer one more than a
    /// shorter, and then whatever says more. Of a list the pattern counts that holds.
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
            is_on(path, head.path).then_some(path.len())
        })?;
        Some((host, path, u8::saturating_add(scheme, method)))
    }
}

/// The most that one of these says, if one holds. Where there is none, everything holds.
fn best<T, R: Ord + Default>(wanted: &[T], rank: impl Fn(&T) -> Option<R>) -> Option<R> {
    if wanted.is_empty() {
        Some(R::default())
    } else {
        wanted.iter().filter_map(rank).max()
    }
}

fn is_on(pattern: &str, path: &str) -> bool {
    let whole = pattern.strip_suffix("/*");
    matches_glob(pattern, path) || whole.is_some_and(|whole| whole == path)
}

/// What a pattern of a host must be like.
pub(crate) const HOST: &str = "a host: write api.example.com or *.example.com";
pub(crate) const SCHEME: &str = "a scheme: write http or https";
pub(crate) const PATH: &str = "a path: write /v1/*";
pub(crate) const BASE_URL: &str =
    "write http:// or https://, a host and perhaps a path, without user info, query and fragment";

/// A host, perhaps with a port, perhaps with a `*` for its first labels, as a match has it.
pub(crate) fn host(text: &str) -> Option<String> {
    let rest = text.strip_prefix("*.").unwrap_or(text);
    let fits = rest.starts_with(|c: char| c.is_alphanumeric() || c == '[')
        && !rest.contains(['/', '@', '?', '#', ' ', '*'])
        && has_a_port_or_none(rest);
    fits.then(|| text.to_ascii_lowercase())
}

/// Whether what stands behind a host is a port from 1 to 65535, or nothing.
fn has_a_port_or_none(host: &str) -> bool {
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

pub(crate) fn scheme(text: &str) -> Option<String> {
    let scheme = text.to_ascii_lowercase();
    matches!(scheme.as_str(), "http" | "https").then_some(scheme)
}

/// A path, in which a `*` stands for anything.
pub(crate) fn path(text: &str) -> Option<String> {
    let fits = text.starts_with(['/', '*']) && !text.contains(['?', '#']);
    fits.then(|| text.to_owned())
}

/// Where a service is.
pub(crate) fn base_url(text: &str) -> Option<Uri> {
    let uri: Option<Uri> = text.parse().ok().filter(|_| !text.contains('#'));
    uri.filter(|uri| {
        let at = uri.authority().map_or("", |authority| authority.as_str());
        let is_public = !at.contains('@') && has_a_port_or_none(at);
        matches!(uri.scheme_str(), Some("http" | "https")) && is_public && uri.query().is_none()
    })
}

/// Whether an authority is what a pattern says; without a port of its own the pattern takes any, and with the scheme's the
/// authorities that leave it out.
fn matches_authority(pattern: &str, authority: &str, scheme: Option<&str>) -> bool {
    let authority = authority.to_ascii_lowercase();
    let hosts = [without_port(&authority), &authority];
    let default_port = match scheme {
        Some("https") => ":443",
        Some("http") => ":80",
        _ => "",
    };
    let host = pattern.strip_suffix(default_port);
    hosts.iter().any(|host| is_host_like(pattern, host))
        || host.is_some_and(|host| is_host_like(host, &authority))
}

#[cfg(test)]
mod tests;
