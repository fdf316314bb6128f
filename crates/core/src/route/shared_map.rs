//! Values by text, in a map that shares its parts with its clones.

use crate::name_hasher::NameHasher;
use std::fmt;
use std::sync::Arc;

/// Values by text. A clone takes the time of copying a pointer, and a change of one value copies only a few hundred bytes
/// of what is shared, regardless of the number of values.
///
/// A tree by the bits of the keys' hashes: a lookup hashes the text once, and then reads one pointer for every four bits
/// in which the hashes differ.
///
/// ```
/// use http_retry_core::settings::SharedMap;
///
/// let mut before = SharedMap::default();
/// before.insert("orders".into(), 1);
/// let mut after = before.clone();
/// after.insert("orders".into(), 2);
/// after.insert("mail".into(), 3);
/// assert_eq!((before.get("orders"), after.get("orders")), (Some(&1), Some(&2)));
/// assert!(after.in_order().into_iter().map(|(name, _)| &**name).eq(["mail", "orders"]));
/// assert_eq!(after.remove("mail"), Some(3));
/// ```
#[derive(Clone)]
pub struct SharedMap<T> {
    root: Node<T>,
    hasher: NameHasher,
}

#[derive(Clone)]
enum Node<T> {
    /// A few keys and their values, of which all have the same bits on the way here.
    Leaf(Arc<Vec<(Arc<str>, T)>>),
    /// The nodes for each value of the next bits.
    Branch(Arc<[Node<T>; WIDTH]>),
}

/// The nodes of a branch: one for each value of [`BITS`] bits.
const WIDTH: usize = 1 << BITS;
const BITS: u32 = 4;
/// The most entries of a leaf, unless all bits of their hashes are equal.
const MAX_ENTRIES: usize = 16;

impl<T> SharedMap<T> {
    /// Returns the value of a text.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&T> {
        let hash = self.hasher.hash(key.as_bytes());
        let (mut node, mut depth) = (&self.root, 0);
        loop {
            match node {
                Node::Branch(nodes) => {
                    node = nodes.get(index(hash, depth))?;
                    depth = depth.saturating_add(BITS);
                }
                Node::Leaf(entries) => {
                    let found = entries.iter().find(|(known, _)| **known == *key);
                    return found.map(|(_, value)| value);
                }
            }
        }
    }

    /// Returns `true` if no text has a value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries().next().is_none()
    }

    /// Returns all keys and values in the order of the keys.
    #[must_use]
    pub fn in_order(&self) -> Vec<(&Arc<str>, &T)> {
        let all = self.entries().map(|(key, value)| (key, value));
        let mut all: Vec<_> = all.collect();
        all.sort_unstable_by_key(|(key, _)| *key);
        all
    }

    fn entries(&self) -> impl Iterator<Item = &(Arc<str>, T)> {
        let mut nodes = vec![&self.root];
        let leaves = std::iter::from_fn(move || {
            loop {
                match nodes.pop()? {
                    Node::Branch(more) => nodes.extend(&**more),
                    Node::Leaf(entries) => return Some(&**entries),
                }
            }
        });
        leaves.flatten()
    }
}

impl<T: Clone> SharedMap<T> {
    /// Sets the value of a text, and returns the one that it had.
    pub fn insert(&mut self, key: Arc<str>, value: T) -> Option<T> {
        let hash = self.hasher.hash(key.as_bytes());
        let entries = self.leaf(hash)?;
        match entries.iter_mut().find(|(known, _)| *known == key) {
            Some((_, before)) => Some(std::mem::replace(before, value)),
            None => {
                // Most maps have many leaves of few entries each, so room to spare would take more than the entries.
                entries.reserve_exact(1);
                entries.push((key, value));
                None
            }
        }
    }

    /// Changes the value of a text. One that has no value gets the default first.
    pub fn update(&mut self, key: &str, change: impl FnOnce(&mut T))
    where
        T: Default,
    {
        if self.get(key).is_none() {
            self.insert(key.into(), T::default());
        }
        let entries = self.leaf(self.hasher.hash(key.as_bytes()));
        let mut entries = entries.into_iter().flatten();
        if let Some((_, value)) = entries.find(|(known, _)| **known == *key) {
            change(value);
        }
    }

    /// Removes a text, and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<T> {
        // Nothing is copied for a text that is not there.
        self.get(key)?;
        let entries = self.leaf(self.hasher.hash(key.as_bytes()))?;
        let index = entries.iter().position(|(known, _)| **known == *key)?;
        Some(entries.swap_remove(index).1)
    }

    /// Returns the leaf of a hash, after copying what other maps share of the way to it. It is never `None`: a branch has
    /// a node for each value of the bits.
    fn leaf(&mut self, hash: u64) -> Option<&mut Vec<(Arc<str>, T)>> {
        let (mut node, mut depth) = (&mut self.root, 0);
        loop {
            match node {
                Node::Leaf(entries) if entries.len() >= MAX_ENTRIES && depth < u64::BITS => {
                    *node = split(entries, depth, self.hasher);
                }
                Node::Leaf(entries) => return Some(Arc::make_mut(entries)),
                Node::Branch(nodes) => {
                    node = Arc::make_mut(nodes).get_mut(index(hash, depth))?;
                    depth = depth.saturating_add(BITS);
                }
            }
        }
    }
}

/// Returns a branch with these entries, at a depth of so many bits.
fn split<T: Clone>(entries: &[(Arc<str>, T)], depth: u32, hasher: NameHasher) -> Node<T> {
    let leaf = |number| {
        let own = entries.iter();
        let own = own.filter(|(key, _)| index(hasher.hash(key.as_bytes()), depth) == number);
        Node::Leaf(Arc::new(own.cloned().collect()))
    };
    Node::Branch(Arc::new(std::array::from_fn(leaf)))
}

/// Returns the number of a hash's node in a branch at a depth of so many bits.
fn index(hash: u64, depth: u32) -> usize {
    let bits = hash.checked_shr(depth).unwrap_or_default();
    usize::try_from(bits).unwrap_or_default() % WIDTH
}

impl<T> Default for SharedMap<T> {
    fn default() -> Self {
        Self {
            root: Node::Leaf(Arc::default()),
            hasher: NameHasher::default(),
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for SharedMap<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.in_order()).finish()
    }
}

#[cfg(test)]
mod tests;
