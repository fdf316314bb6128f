//! Who shares a rate limit.

use http::{Extensions, HeaderMap, Method};
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::Arc;

/// What tells one rate limit from another at the same host.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct GatedCall<'a> {
    /// Host and port; the gate is never shared between two of them.
    pub authority: &'a str,
    /// The request's method.
    pub method: &'a Method,
    /// The request's path, without its query.
    pub path: &'a str,
    /// The request's headers.
    pub headers: &'a HeaderMap,
    /// The request's extensions, where they are public.
    pub extensions: Option<&'a Extensions>,
}

/// Headers and extensions stay out of it: they hold credentials.
impl fmt::Debug for GatedCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GatedCall")
            .field("authority", &self.authority)
            .field("method", &self.method)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// The name of a gate, hashed: what tells gates apart may be a secret.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct GateKey(pub(super) u64);

/// How the calls to one host share its gates.
#[derive(Clone, Default)]
pub(super) struct Sharing {
    pub(super) by: By,
    hasher: RandomState,
}

/// What tells the gates of a host apart.
#[derive(Clone, Default)]
pub(super) enum By {
    #[default]
    Host,
    Credential,
    Text(Arc<dyn Fn(&GatedCall<'_>) -> String + Send + Sync>),
}

/// The headers that APIs take a key in.
const CREDENTIALS: [&str; 4] = ["authorization", "x-api-key", "api-key", "x-goog-api-key"];

impl Sharing {
    /// Whether the name of a host tells everything.
    #[cfg(any(feature = "tower", feature = "reqwest"))]
    pub(super) fn is_per_host(&self) -> bool {
        matches!(self.by, By::Host)
    }

    /// Which gate a call has.
    pub(super) fn key(&self, call: &GatedCall<'_>) -> GateKey {
        let mut hasher = self.hasher.build_hasher();
        call.authority.hash(&mut hasher);
        match &self.by {
            By::Host => {}
            By::Credential => {
                for name in CREDENTIALS {
                    let values = call.headers.get_all(name).iter();
                    values.for_each(|value| value.as_bytes().hash(&mut hasher));
                }
            }
            By::Text(key) => key(call).hash(&mut hasher),
        }
        // 0 is nobody's.
        GateKey(hasher.finish().max(1))
    }

    pub(super) fn hasher(&self) -> &RandomState {
        &self.hasher
    }

    /// Which gate calls have of which only the name is known.
    pub(super) fn key_of(&self, name: &str) -> GateKey {
        GateKey(self.hasher.hash_one(name).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn call(headers: &HeaderMap) -> GatedCall<'_> {
        GatedCall {
            authority: "a:1",
            method: &Method::GET,
            path: "/p",
            headers,
            extensions: None,
        }
    }

    fn key(sharing: &Sharing, secret: &'static str) -> GateKey {
        let mut headers = HeaderMap::new();
        headers.insert("x-api-key", HeaderValue::from_static(secret));
        sharing.key(&call(&headers))
    }

    #[test]
    fn a_call_shows_where_it_goes_and_no_secret() {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", HeaderValue::from_static("hunter2"));
        let mut extensions = Extensions::new();
        extensions.insert("hunter2");
        let call = GatedCall {
            extensions: Some(&extensions),
            ..call(&headers)
        };
        let shown = format!("{call:?}");
        assert_eq!(
            shown,
            r#"GatedCall { authority: "a:1", method: GET, path: "/p", .. }"#
        );
    }

    #[test]
    fn a_credential_tells_gates_apart() {
        let by_host = Sharing::default();
        assert_eq!(key(&by_host, "one"), key(&by_host, "two"));
        let by_credential = Sharing {
            by: By::Credential,
            ..Sharing::default()
        };
        assert_eq!(key(&by_credential, "one"), key(&by_credential, "one"));
        assert_ne!(key(&by_credential, "one"), key(&by_credential, "two"));
        let by_path = Sharing {
            by: By::Text(Arc::new(|call| call.path.to_owned())),
            ..Sharing::default()
        };
        assert_eq!(key(&by_path, "one"), key(&by_path, "two"));
    }
}
