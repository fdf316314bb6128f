//! Failover: the move of a request from one server to another.

use super::{Router, public_authority};
use crate::normal_form::normal_path;
use http::header::HOST;
use http::{HeaderMap, HeaderName, Uri};
use std::sync::Arc;

/// Headers that identify the caller to a server: those that a redirect removes as well, and those in which large
/// services take a key or a session. If a key is removed by mistake, the response is a 401 and a rule can `set` it; a
/// key that was sent to a stranger cannot be taken back.
const CREDENTIALS: [&str; 9] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "cookie2",
    "api-key",
    "x-api-key",
    "x-auth-token",
    "x-goog-api-key",
    "x-amz-security-token",
];

/// Another service and its address.
///
/// ```
/// use http_retry::RetryPolicy;
/// use http_retry::route::{Destination, RequestHead, Route, Router};
/// use http_retry::rules::{Failover, OnExhausted};
/// use std::sync::Arc;
///
/// struct Always(Arc<Route>);
///
/// impl Router for Always {
///     fn route(&self, _: &RequestHead<'_>, _: Option<&str>) -> Arc<Route> {
///         Arc::clone(&self.0)
///     }
/// }
///
/// let backup = Always(Arc::new(Route::new(RetryPolicy::never()).service("backup")));
/// let backup = Destination::new("https://backup.example".parse().unwrap(), Arc::new(backup));
/// let policy = RetryPolicy::user_facing().to_builder();
/// let policy = policy.on_exhausted(OnExhausted::failover(Failover::to("backup"))).build()?;
/// let main = Route::new(policy).failovers([("backup".into(), backup)]);
/// # let _ = Always(Arc::new(main));
/// # Ok::<(), http_retry::ConfigError>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Destination {
    /// Its base URL.
    pub base: Uri,
    /// Its routes.
    pub service: Arc<dyn Router>,
}

impl Destination {
    /// Creates a destination from the base URL of a service and its routes.
    #[must_use]
    pub fn new(base: Uri, service: Arc<dyn Router>) -> Self {
        Self { base, service }
    }
}

/// The move of a request from one base URL to another.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "an adapter fills it in")]
pub struct Rebase {
    /// The base URL that the request leaves, if known.
    pub from: Option<Uri>,
    /// The base URL of the new server.
    pub to: Uri,
    /// The headers that the policy treats as credentials.
    pub credentials: Vec<HeaderName>,
}

impl Rebase {
    /// Removes the headers that are meant for the previous server only: the host, and credentials unless both base URLs
    /// have the same origin.
    ///
    /// # Source
    ///
    /// RFC 9110 section 15.4 and the fetch standard's HTTP-redirect fetch, for redirects.
    pub fn strip_headers(&self, headers: &mut HeaderMap, at: &Uri) {
        headers.remove(HOST);
        if is_same_server(at, &self.to) {
            return;
        }
        for name in CREDENTIALS {
            headers.remove(name);
        }
        for name in &self.credentials {
            headers.remove(name);
        }
        // The caller marked these values as secret.
        let secret = headers.iter().filter(|(_, value)| value.is_sensitive());
        let secret: Vec<HeaderName> = secret.map(|(name, _)| name.clone()).collect();
        for name in secret {
            headers.remove(name);
        }
    }

    /// Returns the same target below the new base URL: its path in the normal form, so that it is found below the old
    /// base URL however it is written, and does not leave the new one by `..`. Returns `None` if that is not a valid
    /// URI.
    pub fn of(&self, target: &Uri) -> Option<Uri> {
        let path = self.path_of(&normal_path(target.path()));
        let path = match target.query() {
            Some(query) => format!("{path}?{query}"),
            None => path,
        };
        let mut parts = self.to.clone().into_parts();
        parts.path_and_query = Some(path.parse().ok()?);
        Uri::from_parts(parts).ok()
    }

    fn path_of(&self, whole: &str) -> String {
        // Not a path but the server itself (RFC 9112 section 3.2.4), which is below no base URL.
        if whole == "*" {
            return whole.to_owned();
        }
        let from = normal_path(self.from.as_ref().map_or("", Uri::path));
        // A path that is not below the old base URL is kept whole.
        let below = whole
            .strip_prefix(from.trim_end_matches('/'))
            .filter(|below| below.is_empty() || below.starts_with('/'));
        let to = self.to.path().trim_end_matches('/');
        match (to, below.unwrap_or(whole)) {
            ("", "") => "/".to_owned(),
            (to, below) => format!("{to}{below}"),
        }
    }
}

/// Returns `true` if two URLs have the same origin: scheme, host and port. A URL without a host has no origin.
///
/// # Source
///
/// RFC 6454 section 5.
pub(crate) fn is_same_server(one: &Uri, other: &Uri) -> bool {
    let authorities = [one, other].map(|uri| public_authority(uri, || None));
    match (one.scheme(), other.scheme(), authorities) {
        (Some(one), Some(other), [Some(here), Some(there)]) => one == other && here == there,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_moves_from_one_base_url_to_another() {
        let moved = |from: Option<&str>, to: &str, target: &str| {
            let of = Rebase {
                from: from.map(|from| from.parse().unwrap()),
                to: to.parse().unwrap(),
                credentials: Vec::new(),
            };
            of.of(&target.parse().unwrap()).unwrap().to_string()
        };
        let target = "http://a/v1/chat?n=1";
        assert_eq!(moved(None, "https://b", target), "https://b/v1/chat?n=1");
        assert_eq!(
            moved(None, "https://b:8/api/", target),
            "https://b:8/api/v1/chat?n=1"
        );
        assert_eq!(
            moved(Some("http://a/v1"), "https://b/api/v1", target),
            "https://b/api/v1/chat?n=1"
        );
        assert_eq!(
            moved(Some("http://a/v"), "https://b", target),
            "https://b/v1/chat?n=1"
        );
        assert_eq!(moved(None, "https://b", "http://a"), "https://b/");
        for spelling in ["//v1/chat", "/%76%31/chat", "/./v1/chat", "/x/../v1/chat"] {
            let target = format!("http://a{spelling}?n=%76");
            assert_eq!(
                moved(Some("http://a/%76%31/"), "https://b/api", &target),
                "https://b/api/chat?n=%76",
                "{spelling}"
            );
        }
        assert_eq!(
            moved(None, "https://b/api", "http://a/../admin"),
            "https://b/api/admin"
        );
    }

    #[test]
    fn credentials_go_along_to_the_same_server_the_host_never() {
        let mine = HeaderName::from_static("x-mine");
        let kept = |to: &'static str| {
            let moved = Rebase {
                from: None,
                to: Uri::from_static(to),
                credentials: vec![mine.clone()],
            };
            let names = ["host", "authorization", "x-mine", "accept"];
            let value = http::HeaderValue::from_static("1");
            let pairs = names.map(|name| (HeaderName::from_static(name), value.clone()));
            let mut headers = HeaderMap::from_iter(pairs);
            moved.strip_headers(&mut headers, &Uri::from_static("http://a/x"));
            names.map(|name| headers.contains_key(name))
        };
        assert_eq!(kept("http://a/api"), [false, true, true, true]);
        assert_eq!(kept("http://b/api"), [false, false, false, true]);
        assert_eq!(kept("https://a/api"), [false, false, false, true]);
    }

    #[test]
    fn the_target_of_options_is_the_other_server_itself() {
        let mut parts = Uri::from_static("http://a/").into_parts();
        parts.path_and_query = Some("*".parse().unwrap());
        let target = Uri::from_parts(parts).unwrap();
        let to = Uri::from_static("https://b/api");
        let rebase = Rebase {
            from: None,
            to,
            credentials: Vec::new(),
        };
        let moved = rebase.of(&target).unwrap();
        assert_eq!((moved.host(), moved.path()), (Some("b"), "*"));
    }

    #[test]
    fn a_server_is_scheme_host_and_port() {
        let same =
            |one: &str, other: &str| is_same_server(&one.parse().unwrap(), &other.parse().unwrap());
        assert!(same("http://a/b?c", "http://A:80/d"));
        assert!(same("https://me:secret@a:443/", "https://a"));
        for other in [
            "https://a",
            "http://a:8080",
            "http://b",
            "http://a.b",
            "/a",
            "a:80",
        ] {
            assert!(!same("http://a", other), "{other}");
            assert!(!same(other, "http://a"), "{other}");
        }
        assert!(!same("/a", "/a"));
    }
}
