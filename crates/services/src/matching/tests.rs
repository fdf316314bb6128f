//! The hosts and paths that a match accepts.

use super::*;

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
        let uri = format!("{scheme}://{authority}").parse().unwrap();
        let head = RequestHead::new(&Method::GET, &uri);
        assert_eq!(matching.holds(&head), wanted, "{pattern} {authority}");
    }
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
        let uri = path.parse().unwrap();
        let head = RequestHead::new(&Method::GET, &uri);
        assert_eq!(matching.holds(&head), wanted, "{pattern} {path}");
    }
}
