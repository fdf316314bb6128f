//! Whom a limit stops.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

/// Whom a limit stops, and so which calls wait at the gate for it. Calls that the limit does not stop go on.
///
/// A classifier ([`Verdict::scope`](super::Verdict::scope)) or a row of a dialect says it; without a word it is the account. It
/// is small and copied freely: of a name it keeps a hash.
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
    /// The calls whose answers name the same limit: a hash of its name, as [`Scope::named`] makes it.
    #[non_exhaustive]
    Named(u64),
    /// This call alone: others use the limit up, or it counts this call's own work.
    Request,
}

/// The longest name of a limit, in bytes.
const MAX_SCOPE_NAME: usize = 128;

impl Scope {
    /// The calls that a limit of this name stops; `None` unless the name has 1 to 128 bytes. The hash differs from process to
    /// process.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let fits = (1..=MAX_SCOPE_NAME).contains(&name.len());
        fits.then(|| Self::Named(hash(name.as_bytes())))
    }
}

/// With a seed of the process, so that nobody can make up two names of one hash: answers write them.
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
