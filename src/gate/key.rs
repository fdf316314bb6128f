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
    name_keys: NameKeys,
}

/// What makes the hashes of names differ from process to process, so that nobody can make two names with the same one.
///
/// A name is hashed for every call, so this takes a tenth of the time that [`RandomState`] does.
#[derive(Clone, Copy)]
struct NameKeys(u64, u64);

impl Default for NameKeys {
    fn default() -> Self {
        let random = || RandomState::new().hash_one(0);
        Self(random(), random() | 1)
    }
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
            By::Host => return self.key_of(call.authority),
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
    #[inline]
    pub(super) fn key_of(&self, name: &str) -> GateKey {
        GateKey(self.name_keys.hash(name.as_bytes()).max(1))
    }
}

impl NameKeys {
    /// Eight bytes at a time; the last eight, which say more, may be among them twice.
    #[inline]
    fn hash(self, name: &[u8]) -> u64 {
        let length = u64::try_from(name.len()).unwrap_or_default();
        let mut hash = self.0.wrapping_mul(length);
        for word in name.chunks_exact(8) {
            hash = folded(hash ^ word_of(word), self.1);
        }
        let last = name.last_chunk::<8>().map_or(name, |last| last);
        folded(hash ^ word_of(last), self.1)
    }
}

/// The number that at most eight bytes are.
#[inline]
fn word_of(bytes: &[u8]) -> u64 {
    <[u8; 8]>::try_from(bytes).map_or_else(
        |_| {
            let shifted = |word: u64, byte: &u8| (word << 8) | u64::from(*byte);
            bytes.iter().fold(0, shifted)
        },
        u64::from_le_bytes,
    )
}

/// A product of 128 bits, its halves laid over each other.
#[inline]
fn folded(one: u64, other: u64) -> u64 {
    let product = u128::from(one).saturating_mul(u128::from(other));
    let half = |half: u128| u64::try_from(half & u128::from(u64::MAX)).unwrap_or_default();
    half(product) ^ half(product >> 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use std::collections::BTreeSet;

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
    fn every_name_has_a_key_of_its_own() {
        let sharing = Sharing::default();
        let hosts = (0..20_000).map(|host| format!("host{host}.example:{host}"));
        let lengths = (0..40).flat_map(|length| ["0", "a"].map(|name| name.repeat(length)));
        // What follows the first letter is what the shorter name is made of.
        let longer = (0..40).map(|length| format!("b{}", "c".repeat(length)));
        let repeated = (1..40).map(|length| "c".repeat(length));
        let names = hosts.chain(lengths).chain(longer).chain(repeated);
        let names: BTreeSet<String> = names.collect();
        let keys = names.iter().map(|name| sharing.key_of(name).0);
        assert_eq!(keys.collect::<BTreeSet<_>>().len(), names.len());
        assert_ne!(sharing.key_of("a"), Sharing::default().key_of("a"));
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
