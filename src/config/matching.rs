//! Which requests belong to a service or a route.

use super::block::{Block, Node, Path};
use super::problems::Problems;
use super::scalar::methods;
use crate::route::Head;
use http::Method;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// What a request must be like; a list means "one of", and what is not given is open.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Matching {
    hosts: Vec<String>,
    schemes: Vec<String>,
    paths: Vec<String>,
    methods: Vec<Method>,
}

/// The more a match says, the earlier it is asked.
pub(super) type Rank = (
    Reverse<bool>,
    Reverse<usize>,
    Reverse<usize>,
    Reverse<usize>,
);

impl Matching {
    pub(super) fn of_service(node: Node<'_>) -> Option<Self> {
        let mut block = node.block()?;
        let matching = Self {
            hosts: patterns(
                &mut block,
                "host",
                is_host,
                "a host: write api.example.com or *.example.com",
            ),
            schemes: patterns(
                &mut block,
                "scheme",
                is_scheme,
                "a scheme: write http or https",
            ),
            ..Self::of_block(&mut block)
        };
        matching.end(block)
    }

    pub(super) fn of_route(node: Node<'_>) -> Option<Self> {
        let mut block = node.block()?;
        let matching = Self::of_block(&mut block);
        matching.end(block)
    }

    fn of_block(block: &mut Block<'_>) -> Self {
        Self {
            paths: patterns(
                block,
                "path",
                |path| path.starts_with(['/', '*']) && !path.contains(['?', '#']),
                "a path: write /v1/*",
            ),
            methods: block
                .take("method")
                .map(|node| methods(&node))
                .unwrap_or_default(),
            ..Self::default()
        }
    }

    fn end(self, block: Block<'_>) -> Option<Self> {
        let keys = block.keys().join(", ");
        let cause = format!("matches nothing in particular: give at least one of {keys}");
        block.end_or((self == Self::default()).then_some(cause.as_str()));
        Some(self)
    }

    /// The same for every match that takes the same requests, as far as its words tell.
    fn in_order(&self) -> Self {
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

    pub(super) fn holds(&self, head: &Head<'_>) -> bool {
        let authority = head.authority.as_deref().unwrap_or_default();
        one_of(&self.hosts, |pattern| is_at(pattern, authority))
            && one_of(&self.schemes, |scheme| Some(scheme.as_str()) == head.scheme)
            && one_of(&self.paths, |pattern| {
                is_like(pattern, head.path)
                    || pattern
                        .strip_suffix("/*")
                        .is_some_and(|whole| whole == head.path)
            })
            && one_of(&self.methods, |method| Some(method) == head.method)
    }

    /// An exact host before a pattern, a longer one before a shorter, and then whatever says more.
    pub(super) fn rank(&self) -> Rank {
        let exact = !self.hosts.is_empty() && !self.hosts.iter().any(|host| host.contains('*'));
        let longest = |patterns: &[String]| patterns.iter().map(String::len).min().unwrap_or(0);
        let others = usize::from(!self.schemes.is_empty())
            .saturating_add(usize::from(!self.methods.is_empty()));
        (
            Reverse(exact),
            Reverse(longest(&self.hosts)),
            Reverse(longest(&self.paths)),
            Reverse(others),
        )
    }
}

fn one_of<T>(wanted: &[T], holds: impl Fn(&T) -> bool) -> bool {
    wanted.is_empty() || wanted.iter().any(holds)
}

fn patterns(
    block: &mut Block<'_>,
    key: &'static str,
    fits: impl Fn(&str) -> bool,
    wanted: &str,
) -> Vec<String> {
    let nodes = block
        .take(key)
        .map(|node| node.one_or_more())
        .unwrap_or_default();
    let read = |node: &Node<'_>| {
        let text = node.text()?;
        if !fits(text) {
            node.not(wanted);
            return None;
        }
        Some(match key {
            "path" => text.to_owned(),
            _ => text.to_ascii_lowercase(),
        })
    };
    nodes.iter().filter_map(read).collect()
}

fn is_scheme(text: &str) -> bool {
    matches!(text.to_ascii_lowercase().as_str(), "http" | "https")
}

/// A host, perhaps with a port, perhaps with a `*` for its first labels.
fn is_host(text: &str) -> bool {
    let rest = text.strip_prefix("*.").unwrap_or(text);
    rest.starts_with(|c: char| c.is_alphanumeric() || c == '[')
        && !rest.contains(['/', '@', '?', '#', ' ', '*'])
}

/// Whether an authority is what a pattern says; without a port of its own the pattern takes any.
fn is_at(pattern: &str, authority: &str) -> bool {
    let authority = authority.to_ascii_lowercase();
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => &authority,
    };
    let fits = |whole: &str| match pattern.strip_prefix('*') {
        Some(end) => whole.len() > end.len() && whole.ends_with(end),
        None => whole == pattern,
    };
    fits(host) || fits(&authority)
}

/// Whether a text is like a pattern in which `*` stands for anything.
fn is_like(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let Some(last) = pattern.contains('*').then(|| parts.next_back()).flatten() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// The places of matches, to find those to which no request would come.
#[derive(Default)]
pub(super) struct Matches(HashMap<Matching, Path>);

impl Matches {
    /// Says so where an earlier place has the same match.
    pub(super) fn add(
        &mut self,
        matching: &Matching,
        name: &str,
        place: Path,
        problems: &Problems,
    ) {
        if *matching == Matching::default() {
            return;
        }
        match self.0.entry(matching.in_order()) {
            Entry::Occupied(earlier) => {
                let earlier = earlier.get();
                let cause = format!("is the same as {earlier}: no request would match {name}");
                problems.add(&place, &"", cause);
            }
            Entry::Vacant(new) => {
                new.insert(place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_in_a_host_stands_for_its_first_labels() {
        for (pattern, authority, wanted) in [
            ("api.example.com", "api.example.com", true),
            ("api.example.com", "API.example.com:8443", true),
            ("api.example.com:80", "api.example.com", false),
            ("api.example.com:8443", "api.example.com:8443", true),
            ("*.example.com", "api.example.com", true),
            ("*.example.com", "a.b.example.com:1", true),
            ("*.example.com", "example.com", false),
            ("*.example.com", "badexample.com", false),
            ("[::1]:80", "[::1]:80", true),
            ("[::1]", "[::1]:80", true),
        ] {
            assert_eq!(is_at(pattern, authority), wanted, "{pattern} {authority}");
        }
    }

    #[test]
    fn a_star_in_a_path_stands_for_anything() {
        for (pattern, path, wanted) in [
            ("/v1/*", "/v1/chat", true),
            ("/v1/*", "/v1", true),
            ("/v1/*", "/v10", false),
            ("/v1", "/v1/chat", false),
            ("/*/items/*", "/eu/items/7", true),
            ("/*/items/*", "/eu/item/7", false),
            ("*", "/x", true),
            ("/a*a", "/a", false),
        ] {
            let matching = Matching {
                paths: vec![pattern.to_owned()],
                ..Matching::default()
            };
            let head = Head {
                path,
                ..Head::default()
            };
            assert_eq!(matching.holds(&head), wanted, "{pattern} {path}");
        }
    }
}
