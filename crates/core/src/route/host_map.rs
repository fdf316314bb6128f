//! Values by host pattern.

use super::shared_map::SharedMap;
use std::borrow::Cow;

/// Values by host pattern: an exact host such as `api.example.com`, or `*.example.com` for every host below one.
///
/// A lookup hashes the host and each of its suffixes, so its cost depends on the number of labels in the host, and not
/// on the number of patterns. Clones share their entries until one of them changes. Patterns and hosts are compared
/// without regard to case, and as they are: a pattern with a port matches only a host with the same port.
///
/// ```
/// use http_retry_core::settings::HostMap;
///
/// let mut map = HostMap::default();
/// map.insert("*.example.com", "any");
/// map.insert("api.example.com", "api");
/// assert!(map.get("API.example.com").eq(&["api", "any"]));
/// assert!(map.get("eu.api.example.com").eq(&["any"]));
/// assert_eq!(map.get("example.com").next(), None);
/// map.remove("*.example.com", |value| *value == "any");
/// assert!(map.get("API.example.com").eq(&["api"]));
/// ```
#[derive(Debug, Clone)]
pub struct HostMap<T> {
    exact: SharedMap<Vec<T>>,
    /// The values of `*.example.com`, under `.example.com`.
    suffixes: SharedMap<Vec<T>>,
    longest_suffix: usize,
}

impl<T: Clone> HostMap<T> {
    /// Adds a value for a pattern, after those that the pattern has already.
    pub fn insert(&mut self, pattern: &str, value: T) {
        let pattern = pattern.to_ascii_lowercase();
        if let Some(suffix) = pattern.strip_prefix('*') {
            self.longest_suffix = self.longest_suffix.max(suffix.len());
        }
        let (map, key) = self.map_of(&pattern);
        map.update(key, |values| values.push(value));
    }

    /// Removes the values of a pattern that `is_removed` accepts.
    pub fn remove(&mut self, pattern: &str, is_removed: impl Fn(&T) -> bool) {
        let pattern = pattern.to_ascii_lowercase();
        let (map, key) = self.map_of(&pattern);
        let values = map.get(key).into_iter().flatten();
        let kept: Vec<T> = values.filter(|value| !is_removed(value)).cloned().collect();
        if kept.is_empty() {
            map.remove(key);
        } else {
            map.insert(key.into(), kept);
        }
    }

    /// Returns the map with the values of a pattern, and their key in it.
    fn map_of<'p>(&mut self, pattern: &'p str) -> (&mut SharedMap<Vec<T>>, &'p str) {
        match pattern.strip_prefix('*') {
            Some(suffix) => (&mut self.suffixes, suffix),
            None => (&mut self.exact, pattern),
        }
    }
}

impl<T> HostMap<T> {
    /// Returns the values of all patterns that match a host: those of the host itself first, then those of a longer
    /// suffix before those of a shorter one.
    pub fn get(&self, host: &str) -> impl Iterator<Item = &T> {
        let host = if host.bytes().any(|byte| byte.is_ascii_uppercase()) {
            Cow::Owned(host.to_ascii_lowercase())
        } else {
            Cow::Borrowed(host)
        };
        let exact = self.exact.get(&host);
        // Longer suffixes are not in the map. Without this bound, a host of many labels would take quadratic time.
        let first = host.len().saturating_sub(self.longest_suffix).max(1);
        let suffixes = (first..host.len()).filter_map(move |start| {
            let suffix = host.get(start..).filter(|suffix| suffix.starts_with('.'))?;
            self.suffixes.get(suffix)
        });
        exact.into_iter().chain(suffixes).flatten()
    }
}

impl<T> Default for HostMap<T> {
    fn default() -> Self {
        Self {
            exact: SharedMap::default(),
            suffixes: SharedMap::default(),
            longest_suffix: 0,
        }
    }
}

#[cfg(test)]
mod tests;
