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

impl<'a> GatedCall<'a> {
    pub(crate) fn new(
        authority: &'a str,
        method: &'a Method,
        path: &'a str,
        (headers, extensions): (&'a HeaderMap, Option<&'a Extensions>),
    ) -> Self {
        Self {
            authority,
            method,
            path,
            headers,
            extensions,
        }
    }
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
    by: By,
    hasher: RandomState,
}

#[derive(Clone, Default)]
enum By {
    #[default]
    Host,
    Credential,
    Text(Arc<dyn Fn(&GatedCall<'_>) -> String + Send + Sync>),
}

/// The headers that APIs take a key in.
const CREDENTIALS: [&str; 4] = ["authorization", "x-api-key", "api-key", "x-goog-api-key"];

impl Sharing {
    pub(super) fn by_credential(&mut self) {
        self.by = By::Credential;
    }

    pub(super) fn by_text(
        &mut self,
        key: impl Fn(&GatedCall<'_>) -> String + Send + Sync + 'static,
    ) {
        self.by = By::Text(Arc::new(key));
    }

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

    fn key(sharing: &Sharing, secret: &'static str) -> GateKey {
        let mut headers = HeaderMap::new();
        headers.insert("x-api-key", HeaderValue::from_static(secret));
        sharing.key(&GatedCall::new("a:1", &Method::GET, "/", (&headers, None)))
    }

    #[test]
    fn a_call_shows_where_it_goes_and_no_secret() {
        let mut headers = HeaderMap::new();
        headers.insert("authorization", HeaderValue::from_static("hunter2"));
        let mut extensions = Extensions::new();
        extensions.insert("hunter2");
        let with = (&headers, Some(&extensions));
        let call = GatedCall::new("a:1", &Method::GET, "/p", with);
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
        let mut by_credential = Sharing::default();
        by_credential.by_credential();
        assert_eq!(key(&by_credential, "one"), key(&by_credential, "one"));
        assert_ne!(key(&by_credential, "one"), key(&by_credential, "two"));
        let mut by_path = Sharing::default();
        by_path.by_text(|call| call.path.to_owned());
        assert_eq!(key(&by_path, "one"), key(&by_path, "two"));
    }
}
