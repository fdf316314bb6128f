//! The hosts and paths that a pattern matches.

use super::*;
use proptest::prelude::*;

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
        assert_eq!(
            matches_authority(pattern, authority, None),
            wanted,
            "{pattern} {authority}"
        );
    }
}

#[test]
fn a_port_that_goes_without_saying_may_be_named() {
    for (pattern, scheme, authority, wanted) in [
        ("a.example:443", "https", "a.example", true),
        ("a.example:80", "http", "a.example", true),
        ("*.example:443", "https", "a.example", true),
        ("[::1]:443", "https", "[::1]", true),
        ("a.example:443", "http", "a.example", false),
        ("a.example:443", "http", "a.example:443", true),
        ("a.example:443", "https", "a.example:8443", false),
        ("*.example:443", "https", "a.example:8443", false),
    ] {
        let matching = Matching {
            hosts: vec![pattern.to_owned()],
            ..Matching::default()
        };
        let head = RequestHead {
            scheme: Some(scheme),
            authority: Some(authority.into()),
            ..RequestHead::default()
        };
        assert_eq!(matching.holds(&head), wanted, "{pattern} {authority}");
    }
}

#[test]
fn a_base_url_has_a_port_that_a_server_can_have() {
    let has_base = |at: &str| base_url(&format!("https://{at}/v1")).is_some();
    assert!(has_base("a") && has_base("a:8443") && has_base("[::1]:8443"));
    assert!(!has_base("a:99999") && !has_base("a:0"));
}

#[test]
fn a_star_in_a_path_stands_for_anything() {
    for (pattern, path, wanted) in [
        ("/v1/*", "/v1/chat", true),
        ("/v1/*", "/v1", true),
        ("/v1/*", "/v10", false),
        ("/v1/*", "/v1/", true),
        ("/v1", "/v1/", true),
        ("/v1", "/v1/chat", false),
        ("/", "/", true),
        ("/", "/v1", false),
        ("/*/items/*", "/eu/items/7", true),
        ("/*/items/*", "/eu/item/7", false),
        ("*", "/x", true),
        ("/a*a", "/a", false),
    ] {
        let matching = Matching {
            paths: vec![pattern.to_owned()],
            ..Matching::default()
        };
        let head = RequestHead {
            path: path.into(),
            ..RequestHead::default()
        };
        assert_eq!(matching.holds(&head), wanted, "{pattern} {path}");
    }
}

proptest! {
    /// The map finds what a comparison with each pattern finds.
    #[test]
    fn a_lookup_agrees_with_a_scan(
        patterns in prop::collection::vec("(\\*\\.)?[aB]{1,2}(\\.[ab]{1,2}){0,3}(:8)?", 0..12),
        host in "[aB]{1,2}(\\.[aB]{1,2}){0,4}(:8)?",
    ) {
        let mut map = HostMap::default();
        for (number, pattern) in patterns.iter().enumerate() {
            map.insert(pattern, number);
        }
        let mut found: Vec<usize> = map.get(&host).copied().collect();
        found.sort_unstable();
        let is_like = |(number, pattern): (usize, &String)| is_host_like(pattern, &host).then_some(number);
        let scanned: Vec<usize> = patterns.iter().enumerate().filter_map(is_like).collect();
        prop_assert_eq!(found, scanned);
    }
}
