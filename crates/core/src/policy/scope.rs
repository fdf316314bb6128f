//! The scope of a limit.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

/// The calls that a limit stops, and that therefore wait for it at the gate. Other calls continue.
///
/// A classifier ([`Verdict::scope`](super::Verdict::scope)) or a row of a dialect sets it; the default is the account.
/// It is small and cheap to copy: a name is kept as a hash.
///
/// ```
/// use http_retry::policy::{Scope, Verdict};
/// use http_retry::{Class, Reach};
///
/// // A limit for searches alone: other calls need not wait.
/// let searches = Scope::named("search");
/// let refused = Verdict::new(Class::Throttled, Reach::Refused);
/// let refused = searches.map_or(refused, |scope| refused.scope(scope));
/// assert_eq!(refused.scope, searches);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Scope {
    /// All calls of the service that share a gate, as without a scope.
    Account,
    /// The calls to the same path; the query does not count.
    Route,
    /// The calls to the same path by the same method.
    MethodRoute,
    /// The calls whose responses name the same limit: a hash of its name, as [`Scope::named`] makes it.
    #[non_exhaustive]
    Named(u64),
    /// This call alone: others use up the limit, or it counts this call's own work.
    Request,
}

/// The longest name of a limit, in bytes.
const MAX_SCOPE_NAME: usize = 128;

impl Scope {
    /// Returns the scope of a limit with this name, or `None` unless the name has 1 to 128 bytes. The hash differs from
    /// process to process.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let fits = (1..=MAX_SCOPE_NAME).contains(&name.len());
        fits.then(|| Self::Named(hash(name.as_bytes())))
    }
}

/// Hashes with a seed of the process, so that nobody can make up two names of one hash: the names come from responses.
fn hash(bytes: &[u8]) -> u64 {
    static SCOPE_SEED: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    SCOPE_SEED.hash_one(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_1_to_128_bytes() {
        assert_eq!(Scope::named(""), None);
        assert_eq!(Scope::named(&"x".repeat(129)), None);
        assert_eq!(Scope::named("core"), Scope::named("core"));
        assert_ne!(Scope::named("core"), Scope::named("search"));
    }
}
