//! Who shares a rate limit.

use http::{Extensions, HeaderMap, Method};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// What tells one rate limit from another at the same host.
#[derive(Debug, Clone, Copy)]
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

/// How the calls to one host share its gates.
#[derive(Clone, Default)]
pub(super) enum Sharing {
    #[default]
    All,
    Credential,
    By(Arc<dyn Fn(&GatedCall<'_>) -> String + Send + Sync>),
}

/// The headers that APIs take a key in.
const CREDENTIALS: [&str; 4] = ["authorization", "x-api-key", "api-key", "x-goog-api-key"];

impl Sharing {
    /// The name of a call's gate. What tells it from others at the same host is hashed, since it may be a secret.
    pub(super) fn key(&self, call: &GatedCall<'_>) -> Arc<str> {
        let mut hasher = DefaultHasher::new();
        match self {
            Self::All => return call.authority.into(),
            Self::Credential => {
                for name in CREDENTIALS {
                    let values = call.headers.get_all(name).iter();
                    values.for_each(|value| value.as_bytes().hash(&mut hasher));
                }
            }
            Self::By(key) => key(call).hash(&mut hasher),
        }
        format!("{}#{:016x}", call.authority, hasher.finish()).into()
    }
}

impl fmt::Debug for Sharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::All => "All",
            Self::Credential => "Credential",
            Self::By(_) => "By",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn key(sharing: &Sharing, secret: &'static str) -> Arc<str> {
        let mut headers = HeaderMap::new();
        headers.insert("x-api-key", HeaderValue::from_static(secret));
        sharing.key(&GatedCall::new("a:1", &Method::GET, "/", (&headers, None)))
    }

    #[test]
    fn a_credential_tells_gates_apart_and_does_not_show() {
        let by_host = Sharing::All;
        assert_eq!(key(&by_host, "one"), key(&by_host, "two"));
        let by_credential = Sharing::Credential;
        assert_eq!(key(&by_credential, "one"), key(&by_credential, "one"));
        assert_ne!(key(&by_credential, "one"), key(&by_credential, "two"));
        assert!(!key(&by_credential, "one").contains("one"));
        let by_path = Sharing::By(Arc::new(|call| call.path.to_owned()));
        assert_eq!(key(&by_path, "one"), key(&by_path, "two"));
    }
}
