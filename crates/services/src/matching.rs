//! Matching of requests to services and routes.

use http::Method;
use http_retry_core::route::RequestHead;

/// The conditions of a match. One item of each list must match; an empty list matches any request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Matching {
    pub(crate) hosts: Vec<String>,
    pub(crate) schemes: Vec<String>,
    pub(crate) paths: Vec<String>,
    pub(crate) methods: Vec<Method>,
}

/// The specificity of a match: its host (exact or not, and its length), the length of its path, and the number of other
/// conditions.
pub(crate) type Rank = ((bool, usize), usize, u8);

impl Matching {
    /// Returns `true` if it matches every request.
    pub(crate) fn is_open(&self) -> bool {
        *self == Self::default()
    }

    /// Returns a normalized copy, so that the order and repetition of list items do not matter.
    pub(crate) fn in_order(&self) -> Self {
        fn sorted<T: Clone + PartialEq>(list: &[T], key: impl Fn(&T) -> &str) -> Vec<T> {
            let mut list = list.to_vec();
            list.sort_by(|one, other| key(one).cmp(key(other)));
            list.dedup();
            list
        }
        Self {
            hosts: sorted(&self.hosts, String::as_str),
            schemes: sorted(&self.schemes, String::as_str),
            paths: sorted(&self.paths, String::as_str),
            methods: sorted(&self.methods, Method::as_str),
        }
    }

    pub(crate) fn holds(&self, head: &RequestHead<'_>) -> bool {
        self.rank(head).is_some()
    }

    /// Returns the specificity for a request, if it matches: an exact host before a pattern, a longer one before a
    /// shorter, then the longer path and the number of other conditions. For a list, the pattern that matched is used.
    pub(crate) fn rank(&self, head: &RequestHead<'_>) -> Option<Rank> {
        let scheme = best(&self.schemes, |scheme| {
            (Some(scheme.as_str()) == head.scheme()).then_some(1)
        })?;
        let method = best(&self.methods, |method| {
            (Some(method) == head.method()).then_some(1)
        })?;
        let host = best(&self.hosts, |host| {
            head.is_to(host).then(|| (!host.contains('*'), host.len()))
        })?;
        let path = best(&self.paths, |path| {
            head.has_path(path).then_some(path.len())
        })?;
        Some((host, path, u8::saturating_add(scheme, method)))
    }
}

/// Returns the highest rank among the items that match. An empty list matches with the lowest rank.
fn best<T, R: Ord + Default>(wanted: &[T], rank: impl Fn(&T) -> Option<R>) -> Option<R> {
    if wanted.is_empty() {
        Some(R::default())
    } else {
        wanted.iter().filter_map(rank).max()
    }
}

#[cfg(test)]
mod tests;
